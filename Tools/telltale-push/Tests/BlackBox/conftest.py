import gateway_tests  # noqa: F401 - it changes the path.

from world import daemon, gateway, gateway_options, pair, world  # noqa: E402, F401 - pytest finds fixtures by their names here.
