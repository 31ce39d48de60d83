"""An application for tests: payments that are written to a file, so that each effect can be counted.

    python3 payments.py --effects FILE

`pay` and `book` append one line to the file, flush it to the disk, and return after `seconds`.
"""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/apps"))

from mcp_stdio import Server, number, record, text  # noqa: E402

server = Server("payments", "Payments that are written to a file.")
TAKES = {
    "item!": text("What is paid for"),
    "amount!": number("How much is paid", "integer"),
    "seconds": number("How long the payment takes", "number"),
}
PAID = record(item=text("What was paid for"), amount=number("How much was paid", "integer"))
effects = sys.argv[sys.argv.index("--effects") + 1]


def paid(item, amount, seconds):
    with open(effects, "a") as file:
        file.write(json.dumps({"item": item, "amount": amount}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    time.sleep(seconds)
    return {"item": item, "amount": amount}


@server.tool(
    "add", "Pays an amount for an item. The payment is made at once and cannot be taken back.", TAKES, PAID
)
def pay(item, amount, seconds=0):
    return paid(item, amount, seconds)


@server.tool("add", "Books an amount for an item in the ledger. The booking is made at once.", TAKES, PAID)
def book(item, amount, seconds=0):
    return paid(item, amount, seconds)


if __name__ == "__main__":
    at = sys.argv.index("--effects")
    del sys.argv[at : at + 2]
    server.serve()
