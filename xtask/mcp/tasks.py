"""The tasks extension over durable runs: a workflow that a client started is found again after a restart, and what it
waits for is answered through the task.

Usage: tasks.py STEWARD

Speaks the revision 2026-07-28 by hand. Standard library only; everything lies in a temporary folder.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

WORKFLOW = """name: sum_and_review
patterns: [react]
entry_point: sum
nodes:
  sum: { type: tool, tool: math.eval, arguments: { expression: "6*7" } }
  review: { type: human, input: "Go on?", expires_seconds: 3600, on_timeout: reject }
edges:
  - { from: sum, to: review }
  - { from: review, to: { approve: __end__, modify: __end__, reject: __end__ } }
"""
VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol"
WITH_TASKS = {"elicitation": {}, "extensions": {f"{PREFIX}/tasks": {}}}


class Server:
    def __init__(self, steward, home):
        self.child = subprocess.Popen(
            [steward, "serve", "--port", "0"],
            env={**os.environ, "STEWARD_HOME": str(home)},
            cwd=home,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in self.child.stderr)
        self.url = next(one.group(0) for one in found if one)

    def request(self, method, params, capabilities=WITH_TASKS):
        meta = {
            f"{PREFIX}/protocolVersion": VERSION,
            f"{PREFIX}/clientInfo": {"name": "tasks", "version": "1"},
            f"{PREFIX}/clientCapabilities": capabilities,
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": method,
            "Mcp-Name": params.get("taskId") or params.get("name", ""),
        }
        request = urllib.request.Request(f"{self.url}/mcp", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
        return json.loads(lines[-1] if lines else text)

    def task_until(self, task, statuses):
        for _ in range(200):
            state = self.request("tasks/get", {"taskId": task})["result"]
            if state["status"] in statuses:
                return state
            time.sleep(0.1)
        raise SystemExit(f"the task stayed {state}")

    def stop(self, how=signal.SIGTERM):
        os.killpg(self.child.pid, how)
        self.child.wait(timeout=30)


def main(steward):
    problems = []

    def check(what, holds, seen):
        if not holds:
            problems.append(what)
            print(f"  FAILS {what}: {seen}")

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        (home / "workflows").mkdir()
        (home / "workflows/sum_and_review.yaml").write_text(WORKFLOW)
        server = Server(steward, home)
        try:
            call = {"name": "run_workflow", "arguments": {"name": "sum_and_review", "input": {}}}
            made = server.request("tools/call", call)["result"]
            check("a workflow becomes a task", made.get("resultType") == "task", made)
            task = made["taskId"]
            state = server.task_until(task, ["input_required", "failed", "completed"])
            check("the task asks for what the run waits for", state["status"] == "input_required", state)
            # The process dies; the task is in the store.
            server.stop(signal.SIGKILL)
            server = Server(steward, home)
            state = server.task_until(task, ["input_required", "failed", "completed"])
            check("the task is there after a restart", state["status"] == "input_required", state)
            wrong = server.request("tasks/update", {"taskId": task, "inputResponses": {"other": {"action": "accept"}}})
            check("an answer to nothing is acknowledged", wrong.get("result", {}).get("resultType") == "complete", wrong)
            key = next(iter(state["inputRequests"]))
            answer = {key: {"action": "accept", "content": {"agree": True}}}
            server.request("tasks/update", {"taskId": task, "inputResponses": answer})
            state = server.task_until(task, ["failed", "completed", "cancelled"])
            check("the answer lets the run end", state["status"] == "completed", state)
            unknown = server.request("tasks/get", {"taskId": "no-such-task"})
            check("an unknown task is refused", unknown.get("error", {}).get("code") == -32602, unknown)
            second = server.request("tools/call", call)["result"]["taskId"]
            server.task_until(second, ["input_required"])
            server.request("tasks/cancel", {"taskId": second})
            state = server.task_until(second, ["cancelled", "completed", "failed"])
            check("a task is called off", state["status"] == "cancelled", state)
            plain = server.request("tools/call", {**call, "name": "tools_search", "arguments": {"request": "sum"}}, {})
            check("a client without tasks gets a result", "content" in plain.get("result", {}), plain)
        finally:
            server.stop()
    print(f"tasks over durable runs: {8 - len(problems)} of 8 checks hold")
    return len(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
