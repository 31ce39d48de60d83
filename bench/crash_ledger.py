"""An MCP server over pipes whose tools write each effect into a file of their own and sync it, for `cargo xtask crash`.

`look` changes nothing. `put_keyed` does nothing twice for the same key. `put` does what it is told, as often as it is told.
A line is: what, the number, the key. Several of these servers may share the file, one for each worker, so keys are looked up in it under a lock.
"""

import fcntl
import json
import os
import sys

ledger = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
lines = open(sys.argv[1], encoding="utf-8")
known = set()

NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "place": {"type": "integer"}},
    "required": ["n"],
}
TOOLS = [
    {
        "name": "look",
        "description": "Looks a number up.",
        "inputSchema": NUMBER,
        "annotations": {"readOnlyHint": True},
    },
    {"name": "put_keyed", "description": "Puts a number down, once for each key.", "inputSchema": NUMBER},
    {"name": "put", "description": "Puts a number down.", "inputSchema": NUMBER},
]


def write(what, n, key):
    os.write(ledger, f"{what} {n} {key}\n".encode())
    os.fsync(ledger)


def call(name, arguments, key):
    n = f"{arguments['n']}.{arguments.get('place', 0)}"
    if name == "put_keyed":
        fcntl.flock(ledger, fcntl.LOCK_EX)
        known.update(line.split()[2] for line in lines if line.startswith("keyed "))
        if key not in known:
            write("keyed", n, key)
        fcntl.flock(ledger, fcntl.LOCK_UN)
    if name == "put":
        write("put", n, key)
    return {"n": arguments["n"]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        answer["result"] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "ledger", "version": "1"},
        }
    elif method == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif method == "tools/call":
        value = call(
            params["name"], params.get("arguments") or {}, (params.get("_meta") or {}).get("idempotency_key")
        )
        answer["result"] = {
            "content": [{"type": "text", "text": json.dumps(value)}],
            "structuredContent": value,
        }
    elif method == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32601, "message": f"there is no method {method}"}
    print(json.dumps(answer), flush=True)
