"""One tool, `add`, served by FastMCP: over pipes, or with `http PORT` over Streamable HTTP at /mcp.

Over HTTP it ends when its input is closed, so that it never outlives the benchmark.
"""

import os
import sys
import threading

from fastmcp import FastMCP

server = FastMCP("peer")


@server.tool
def add(a: int, b: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


def leave_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        threading.Thread(target=leave_with_input, daemon=True).start()
        # Plain JSON answers and no log of every request: the quickest that it can do.
        server.run(
            transport="http",
            host="127.0.0.1",
            port=int(sys.argv[2]),
            show_banner=False,
            json_response=True,
            log_level="error",
        )
    else:
        server.run(transport="stdio", show_banner=False, log_level="error")
