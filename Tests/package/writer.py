"""Posts orders until the file STOP is there, and writes down each key that the server acknowledged.

    writer.py KEYS STOP

It prints the number of keys after each hundred. The client repeats what is unanswered with the same event id, so a restart of the
server delays an order and does not double it.
"""

import pathlib
import sys

from telltale import Telltale

keys, stop = map(pathlib.Path, sys.argv[1:])
with Telltale.from_environment(client="writer/1.0", timeout=60) as telltale, open(keys, "w", buffering=1) as file:
    number = 0
    while not stop.exists():
        number += 1
        key = f"coffee-order/load-{number}"
        outcome = telltale.post(key, "start", attributes={"item": "Flat white"})
        assert outcome.verdict == "applied", outcome
        print(key, file=file)
        if number % 100 == 0:
            print(number, flush=True)
