"""FastMCP as a gateway: `fastmcp_gateway.py PORT PROGRAM ARGS…` offers the tools of one MCP server at /mcp.

The server is started once and its session is shared by all callers, which is the quickest that FastMCP can do: by default it
opens a session for each call. It ends when its input is closed, so that it never outlives the benchmark.
"""

import asyncio
import os
import sys
import threading

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy


def leave_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


async def main(port: int, command: str, arguments: list[str]) -> None:
    async with Client(StdioTransport(command=command, args=arguments)) as client:
        gateway = create_proxy(client, name="gateway")
        # Plain JSON answers and no log of every request.
        await gateway.run_async(
            transport="http", host="127.0.0.1", port=port, show_banner=False, json_response=True, log_level="error"
        )


if __name__ == "__main__":
    threading.Thread(target=leave_with_input, daemon=True).start()
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
