"""The parts of Tools/translate-scxml."""
