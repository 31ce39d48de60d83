"""FastMCP as a gateway: `fastmcp_gateway.py PORT PROGRAM ARGS…` offers the tools of one MCP server at /mcp.

With `FASTMCP_LOG=FILE` every call and its answer are on disk before the answer is given, in one SQLite commit: the least that has to be done
for a record that outlives the machine. Without it nothing is written down.

The server is started once and its session is shared by all callers, which is the quickest that FastMCP can do: by default it
opens a session for each call. It ends when its input is closed, so that it never outlives the benchmark.
"""

import asyncio
import json
import os
import sqlite3
import sys
import threading
import time

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware


class Log(Middleware):
    """Writes each call down before its answer is handed over."""

    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path, check_same_thread=False)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute(
            "CREATE TABLE entry (id INTEGER PRIMARY KEY, at REAL, event TEXT, tool TEXT, data TEXT)"
        )
        self.db.commit()

    async def on_call_tool(self, context, call_next):
        began = time.time()
        result = await call_next(context)
        tool, add = context.message.name, "INSERT INTO entry (at, event, tool, data) VALUES (?, ?, ?, ?)"
        self.db.execute(add, (began, "called", tool, json.dumps(context.message.arguments)))
        self.db.execute(add, (time.time(), "observed", tool, json.dumps(result.structured_content)))
        self.db.commit()
        return result


def leave_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


async def main(port: int, command: str, arguments: list[str]) -> None:
    async with Client(StdioTransport(command=command, args=arguments)) as client:
        gateway = create_proxy(client, name="gateway")
        if log := os.environ.get("FASTMCP_LOG"):
            gateway.add_middleware(Log(log))
        # Plain JSON answers and no log of every request.
        await gateway.run_async(
            transport="http",
            host="127.0.0.1",
            port=port,
            show_banner=False,
            json_response=True,
            log_level="error",
        )


if __name__ == "__main__":
    threading.Thread(target=leave_with_input, daemon=True).start()
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
