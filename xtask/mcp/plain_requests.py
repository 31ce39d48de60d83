"""Plain requests to four foreign MCP servers (filesystem, memory, git, sqlite), with no model and no domain entry.

Usage: plain_requests.py STEWARD KIT

Each request of `plain_requests.jsonl` is said in a conversation of its own. What Steward wants confirmed is
confirmed. A request is *right* when the expected tool was called with the expected arguments, *asked* when Steward
asked back or refused without doing anything, and *wrong* otherwise. The run fails when one is wrong or fewer than
`RIGHT` are right. Standard library only; everything lies in a temporary folder.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

# How many must be right.
RIGHT = 20
HERE = Path(__file__).resolve().parent
CONFIG = """servers:
  - name: filesystem
    transport: stdio
    config: {{ command: {node}, args: [{npm}/server-filesystem/dist/index.js, {files}], folder: {files} }}
  - name: memory
    transport: stdio
    config:
      command: {node}
      args: [{npm}/server-memory/dist/index.js]
      env: {{ MEMORY_FILE_PATH: {graph}/memory.jsonl }}
      sandbox: {{ standard: true, write: [{graph}] }}
  - name: git
    transport: stdio
    config: {{ command: {kit}/venv-git/bin/mcp-server-git, args: [--repository, {repo}] }}
  - name: sqlite
    transport: stdio
    config: {{ command: {kit}/venv-sqlite/bin/mcp-server-sqlite, args: [--db-path, {shop}/shop.db] }}
"""


def prepare(folder, kit):
    """Makes what the servers serve, and the home."""
    places = {name: folder / name for name in ("home", "files", "graph", "repo", "shop")}
    for place in places.values():
        place.mkdir()
    files, repo = places["files"], places["repo"]
    (files / "reports").mkdir()
    (files / "todo.txt").write_text("Buy oat milk\nCall the plumber\n")
    (files / "garden.md").write_text("# Garden\nPlant beans in May.\n")
    (files / "config.json").write_text('{"debug": false, "port": 8080}\n')
    (files / "reports/q1.txt").write_text("sales 100\n")
    named = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    git = ["git", "-C", str(repo)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    for number, words in enumerate(("first", "second: add a line")):
        (repo / "a.txt").write_text("line\n" * (number + 1))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, *named, "commit", "-qm", words], check=True)
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        subprocess.run([*git, "config", key, value], check=True)
    subprocess.run([*git, "branch", "feature/login"], check=True)
    (repo / "a.txt").write_text("line\n" * 3)
    with sqlite3.connect(places["shop"] / "shop.db") as shop:
        shop.executescript(
            "create table customers(id integer primary key, name text, city text);"
            "insert into customers(name, city) values ('Ada', 'Rome'), ('Bo', 'Oslo');"
            "create table orders(id integer primary key, customer_id integer, total real);"
        )
    config = places["home"] / "config"
    config.mkdir()
    npm = f"{kit}/npm/node_modules/@modelcontextprotocol"
    text = CONFIG.format(node=f"{kit}/node/bin/node", npm=npm, kit=kit, **places)
    (config / "mcp_servers.yaml").write_text(text)
    return places


class Server:
    """`steward serve` on a free port, gone at the end."""

    def __init__(self, steward, places):
        env = {**os.environ, "STEWARD_HOME": str(places["home"])}
        self.child = subprocess.Popen(
            [steward, "serve", "--port", "0"],
            cwd=places["files"],
            env=env,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.url = None
        for line in self.child.stderr:
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                self.url = found.group(0)
                break
        if self.url is None:
            raise SystemExit("steward serve did not start")

    def ask(self, message, conversation=None):
        body = {"message": message}
        if conversation:
            body["conversation_id"] = conversation
        request = urllib.request.Request(
            f"{self.url}/api/v1/ask", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"outcome": "problem", "answer": error.read().decode()[:300]}

    def stop(self):
        os.killpg(self.child.pid, signal.SIGTERM)
        self.child.wait(timeout=30)


def holds(wanted, got):
    """Whether all that is wanted is there."""
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(name in got and holds(one, got[name]) for name, one in wanted.items())
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(holds, wanted, got))
    return wanted == got


def judge(row, server):
    reply = server.ask(row["say"])
    if reply.get("outcome") == "confirm":
        option = reply["question"]["options"][0]["say"]
        reply = server.ask(option, reply["conversation_id"])
    steps = [step["tool"] for step in reply.get("steps", [])]
    calls = {
        call["call_id"]: (call["tool_name"], call["arguments"]) for call in reply.get("tool_calls_made", [])
    }
    made = [calls[one] for step in reply.get("steps", []) for one in step["calls"] if one in calls]
    told = reply.get("answer", "").replace("\n", " ")[:120]
    if reply.get("outcome") in ("asked", "out_of_scope", "confirm", "help", "chat") and not made:
        return "asked", told
    if [tool for tool, _ in made] == [row["tool"]] and holds(row["arguments"], made[0][1]):
        return "right", told
    return "wrong", f"{reply.get('outcome')} {steps} {made} {told}"


def main(steward, kit):
    rows = [json.loads(line) for line in (HERE / "plain_requests.jsonl").read_text().splitlines() if line]
    count = {"right": 0, "asked": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as folder:
        places = prepare(Path(folder).resolve(), kit)
        server = Server(steward, places)
        try:
            # The servers start with the first request; what is measured begins when they are there.
            for _ in range(20):
                if server.ask("what can you do?").get("outcome") != "problem":
                    break
                time.sleep(0.5)
            for row in rows:
                text = json.dumps(row).replace("{files}", str(places["files"])).replace("{repo}", str(places["repo"]))
                verdict, told = judge(json.loads(text), server)
                count[verdict] += 1
                if verdict != "right":
                    print(f"  {verdict:5} {row['say']}: {told}")
        finally:
            server.stop()
    print(f"{len(rows)} plain requests to four servers with no model: {count}")
    return 1 if count["wrong"] or count["right"] < RIGHT else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
