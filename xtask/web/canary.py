"""canary.py STEWARD_BINARY [--postgres ADDRESS]: what is in blocked columns is in nothing that Steward says, writes or sends.

Data outside of the home has a value of its own in each blocked column. Questions, statements, tools and commands ask for it in
many ways; a model, which is a server on loopback, proposes statements that read it and is sent every prompt. Then everything is
searched for the values: answers, errors, output of commands, prompts, every file of the home (databases, logs, artifacts,
reports, caches, backups), and every row of the store. With `--postgres` the store is a database of that server, and `pg_dump`
shows its rows. A value counts as found in any case, backwards, in hexadecimal and in base64. Whether a value is there shows neither
in what is said nor in how long it takes.
"""

import argparse
import base64
import gzip
import http.server
import json
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import threading
import time
import zipfile
import zlib
from pathlib import Path

from harness import Server, Tally, request

CANARIES = {"email": "qzcanary7f3a@leak.example", "ssn": "918-27-3645", "phone": "+1-202-555-0917"}
SHOWN = (
    "Ada Visible"  # The counterproof: a value that may be read is found, so the search can find something.
)
COLUMNS = "id INTEGER, name TEXT, state TEXT, email TEXT, ssn TEXT, phone TEXT"
ROWS = [
    (1, SHOWN, "Arizona", *CANARIES.values()),
    (2, "Bob", "Texas", "q2" + CANARIES["email"], "918-27-3646", "+1-202-555-0918"),
]

STATEMENTS = [
    "SELECT email FROM customers",
    "SELECT * FROM customers",
    'SELECT "EMAIL" FROM customers',
    "SELECT c.ssn FROM customers c",
    "SELECT id FROM customers ORDER BY email",
    "SELECT count(*) FROM customers WHERE email LIKE 'qz%'",
    'WITH "main.customers" AS (SELECT 1 AS email) SELECT c.email FROM main.customers c',
    'SELECT (SELECT email FROM (SELECT 1 AS "Email") x) FROM customers',
    "SELECT max(phone) FROM customers",
    "SELECT CAST(email AS INTEGER) FROM customers",
    "SELECT id FROM customers GROUP BY id, ssn",
    "SELECT group_concat(email) FROM customers",
    "SELECT name FROM customers UNION SELECT email FROM customers",
    "SELECT name FROM customers",
    "SELECT customers FROM customers",
    "SELECT 1/0 FROM customers WHERE email > ''",
    "SELECT * FROM (SELECT * FROM customers) x",
    "SELECT substr(ssn, 1, 3) FROM customers",
    "PRAGMA table_info(customers)",
    "SELECT id FROM customers WHERE ssn LIKE '918%' -- ",
    "SELECT json_object('e', email) FROM customers",
]
QUESTIONS = [
    "show customer emails",
    "what is the ssn of Ada Visible",
    "list all customers with phone",
    "how many customers by email",
    "customers by state",
    "email of the customer in Arizona",
    "which emails end with example",
    "list the names of customers",
    "how many customers have an ssn that starts with 9",
    "show everything about Ada Visible",
    "top 3 customers by phone",
]


def forms(canary):
    """The spellings in which a value counts as found, as lower case bytes; base64 in its three alignments."""
    raw = canary.encode()
    found = [raw, raw[::-1], raw.hex().encode()]
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw)
        found.append(coded[(shift * 8 + 5) // 6 : len(raw) * 8 // 6].lower())
    return [one.lower() for one in found]


FORMS = {name: forms(canary) for name, canary in CANARIES.items()}


def leaks(data):
    lower = data.lower()
    return [name for name, spellings in FORMS.items() if any(one in lower for one in spellings)]


def leaks_in(parts):
    return sorted({name for part in parts for name in leaks(part)})


def unpacked(data, depth=2):
    """The bytes, and what they are packed from: gzip, zlib, tar, zip."""
    yield data
    if not depth:
        return
    for unpack in (gzip.decompress, zlib.decompress):
        try:
            yield from unpacked(unpack(data), depth - 1)
        except (OSError, EOFError, zlib.error):
            pass


def members(path):
    """What a file holds, members of archives included."""
    data = path.read_bytes()
    yield from unpacked(data)
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile():
                    yield from unpacked(archive.extractfile(member).read())
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield from unpacked(archive.read(name))
    elif data[:15] == b"SQLite format 3":
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in base.execute(f'SELECT * FROM "{table}"'):
                for cell in row:
                    if isinstance(cell, (str, bytes)):
                        yield from unpacked(cell.encode() if isinstance(cell, str) else cell)
        base.close()


class Model(http.server.BaseHTTPRequestHandler):
    """A model that proposes statements over what it may not see, and keeps every prompt."""

    protocol_version = "HTTP/1.1"
    prompts, asked, source = [], 0, ""

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Model.prompts.append(body)
        Model.asked += 1
        sql = STATEMENTS[Model.asked % len(STATEMENTS)]
        message = {
            "role": "assistant",
            "content": json.dumps({"sql": sql, "steps": [{"id": "a", "sql": sql}]}),
            "tool_calls": None,
        }
        sent = json.loads(body)
        names = [tool["function"]["name"] for tool in sent.get("tools") or []]
        data = next((name for name in names if "ask" in name and "data" in name), None)
        wanted = [name for name in names if "sql" in name and name.endswith("run")] + [data] * bool(data)
        # It calls a tool first, and answers when it has read what came back.
        if wanted and sent["messages"][-1]["role"] != "tool":
            name = wanted[Model.asked % len(wanted)]
            given = (
                {"question": QUESTIONS[Model.asked % len(QUESTIONS)], "source": "shop"}
                if name == data
                else {"sql": sql, "data": [Model.source]}
            )
            call = {"name": name, "arguments": json.dumps(given)}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{Model.asked}", "type": "function", "function": call}],
            }
        told = {
            "id": "x",
            "object": "chat.completion",
            "model": "m",
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }
        data = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def data_in(folder):
    lines = ["id,name,state,email,ssn,phone", *(",".join(map(str, row)) for row in ROWS)]
    (folder / "customers.csv").write_text("\n".join(lines) + "\n")
    base = sqlite3.connect(folder / "shop.sqlite")
    base.execute(f"CREATE TABLE customers ({COLUMNS})")
    base.executemany("INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    base.commit()
    base.close()


def attack(server, folder, said):
    """Everything that a person may send, and what came back: without a model, then with one."""

    def questions():
        for question in QUESTIONS:
            answer = ask("POST", "/api/v1/ask", {"message": question})
            told = answer.json() if answer.status == 200 else {}
            for path in ("", "/trace", "/reply"):
                if told.get("task_id"):
                    ask("GET", f"/api/v1/tasks/{told['task_id']}{path}")

    def command(*words):
        done = subprocess.run(
            [server.binary, *words], env=server.environment, capture_output=True, timeout=180
        )
        said.append((" ".join(words), done.stdout + done.stderr))

    def ask(method, path, body=None):
        answer = request(server.base, method, path, body)
        said.append((f"{method} {path} {body}", answer.body + str(answer.all).encode()))
        return answer

    sources = [str(folder / "customers.csv"), str(folder / "shop.sqlite")]
    with server:
        questions()
    base = f"http://127.0.0.1:{Model.port}/v1"
    settings = json.loads((server.home / "config/steward.yaml").read_text())
    settings |= {
        "models": {"own": {"provider": "openai", "name": "own", "base_url": base}},
        "use": {"default": "own"},
    }
    (server.home / "config/steward.yaml").write_text(json.dumps(settings))
    with server:
        questions()
        rest(server, sources, ask, command)


def rest(server, sources, ask, command):
    """What is asked by statements, tools and commands."""
    for sql in STATEMENTS:
        for source in sources:
            ask("POST", "/api/v1/tools/sql.run/calls", {"arguments": {"data": [source], "sql": sql}})
    for path in (
        "/api/v1/conversations",
        "/api/v1/tasks",
        "/api/v1/recipes",
        "/api/v1/executions",
        "/api/v1/analytics?days=7",
    ):
        ask("GET", path)
    for source in sources:
        command("profile", source)
        command(
            "ask",
            "--data",
            source,
            "list all customers with their emails",
            "--out",
            str(server.home / "out"),
            "--deliver",
            "tables",
            "--deliver",
            "reports",
            "--deliver",
            "workbook",
            "--deliver",
            "parquet",
        )
        command("ask", "--data", source, "SELECT id, name, email FROM customers", "--json")
        command("ask", "--data", source, "customers by state", "--json")
        command("ask", "--data", source, "list the names of customers", "--json")
        command("tools", "call", "sql.run", json.dumps({"data": [source], "sql": STATEMENTS[0]}))
        command("ask", "--data", source, "--planner", "model", "who has which phone")
    for words in (
        ["doctor"],
        ["task", "list"],
        ["conversation", "list"],
        ["audit", "verify"],
        ["config", "show"],
        ["recipes", "list"],
    ):
        command(*words)
    command("backup", str(server.home / "backup.tar.gz"))


def sweep(check, binary, address=None, programs=None, is_blocked=True):
    """Attacks, then searches. Where nothing is blocked, the search must find the values: in answers, prompts, files and rows."""
    kind = ("PostgreSQL" if address else "SQLite") + ("" if is_blocked else ", nothing blocked")
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    Model.prompts, Model.port, said = [], model.server_address[1], []
    with tempfile.TemporaryDirectory(prefix="steward-canary-") as folder:
        folder = Path(folder)
        data_in(folder)
        Model.source = str(folder / "shop.sqlite")
        server = Server(binary, "--per-minute", "1000000", home=folder / "home", apps=False, store=address)
        settings = {} if is_blocked else {"analysis": {"blocked_patterns": ["nothing"]}}
        (server.home / "config/steward.yaml").write_text(json.dumps(settings))
        domains = [
            {"name": name, "display_name": name, "description": about, "data_sources": [str(folder / file)]}
            for name, about, file in [
                ("crm", "Customers and their states.", "customers.csv"),
                ("shop", "Customers of the shop.", "shop.sqlite"),
            ]
        ]
        (server.home / "config/domains.yaml").write_text(json.dumps({"domains": domains}))
        attack(server, folder, said)
        files = [path for path in (folder / "home").rglob("*") if path.is_file()]
        places = [("answer", f"the answer to {what}", leaks_in(unpacked(data))) for what, data in said]
        places += [("prompt", "a prompt", leaks(body)) for body in Model.prompts]
        places += [("file", str(path.relative_to(folder)), leaks_in(members(path))) for path in files]
        if address:
            dump = shutil.which("pg_dump", path=programs or None) or "pg_dump"
            rows = subprocess.run([dump, "--inserts", address], capture_output=True, timeout=120).stdout
            check(len(rows) > 10_000, "the rows of PostgreSQL can be read", len(rows))
            places.append(("row", "the rows of the store", leaks(rows)))
        for _, where, found in places if is_blocked else []:
            check(not found, f"{kind}: {found} in {where}")
        if not is_blocked:
            for wanted in ("answer", "prompt", "file"):
                check(
                    any(found for sort, _, found in places if sort == wanted),
                    f"the search finds what is in a{'n' * (wanted == 'answer')} {wanted}",
                )
            check(
                any(found and where.endswith("state.db") for _, where, found in places),
                "the search finds what is in the store",
            )
        # The attack reached the data: what may be read was read, by a statement of the API, by a command, and by the model.
        for way in ("POST /api/v1/tools/sql.run", "POST /api/v1/ask", "ask --data"):
            check(
                any(SHOWN.encode() in data for what, data in said if what.startswith(way)),
                f"{kind}: {way} reads what may be read",
            )
        check(
            any(SHOWN.encode() in body for body in Model.prompts), f"{kind}: the model reads what may be read"
        )
        print(
            f"{kind}: {len(said)} answers, {len(Model.prompts)} prompts, {len(files)} files searched",
            flush=True,
        )
    model.shutdown()


ABSENT = CANARIES["email"].replace("7f3a", "7f3b")  # As long as the value that is there.
ROUNDS = 14


def texts(value):
    """What an answer tells a person: its texts, without ids and times."""
    if isinstance(value, dict):
        told = [
            texts(one)
            for key, one in sorted(value.items())
            if key in ("answer", "detail", "error", "reply", "text", "rows", "code", "result")
        ]
        return [one for part in told for one in part]
    if isinstance(value, list):
        return [one for part in value for one in texts(part)]
    return [str(value)]


def separation(first, second):
    """How far two samples are apart: Mann and Whitney's statistic in standard deviations."""
    wins = sum((a > b) + (a == b) / 2 for a in first for b in second)
    n, m = len(first), len(second)
    return (wins - n * m / 2) / (n * m * (n + m + 1) / 12) ** 0.5


def membership(check, binary, is_blocked=True):
    """Whether a blocked value is there shows neither in what is said nor in how long it takes."""
    with tempfile.TemporaryDirectory(prefix="steward-canary-") as folder:
        folder = Path(folder)
        data_in(folder)
        server = Server(binary, "--per-minute", "1000000", home=folder / "home", apps=False)
        settings = {} if is_blocked else {"analysis": {"blocked_patterns": ["nothing"]}}
        (server.home / "config/steward.yaml").write_text(json.dumps(settings))
        domain = {
            "name": "shop",
            "display_name": "shop",
            "description": "Customers of the shop.",
            "data_sources": [str(folder / "shop.sqlite")],
        }
        (server.home / "config/domains.yaml").write_text(json.dumps({"domains": [domain]}))

        def statement(value):
            sql = f"SELECT count(*) FROM customers WHERE email = '{value}'"
            return "/api/v1/tools/sql.run/calls", {
                "arguments": {"data": [str(folder / "shop.sqlite")], "sql": sql}
            }

        ways = {
            "a question": lambda value: (
                "/api/v1/ask",
                {"message": f"how many customers with email {value}"},
            ),
            "a search": lambda value: ("/api/v1/ask", {"message": f"show customers with {value}"}),
            "a statement": statement,
        }
        told_apart = 0
        with server:
            for way, body in ways.items():

                def sample():
                    took, told = (
                        {CANARIES["email"]: [], ABSENT: []},
                        {CANARIES["email"]: set(), ABSENT: set()},
                    )
                    for _ in range(ROUNDS):
                        for value in took:
                            began = time.perf_counter()
                            answer = request(server.base, "POST", *body(value))
                            took[value].append(time.perf_counter() - began)
                            told[value].add(
                                (
                                    answer.status,
                                    json.dumps(texts(answer.json())).replace(value.split("@")[0], "V"),
                                )
                            )
                    return separation(*took.values()), told

                apart, told = sample()
                same = told[CANARIES["email"]] == told[ABSENT]
                told_apart += not same
                if is_blocked:
                    check(same, f"{way} says the same whether a blocked value is there", told)
                    # A busy machine may slow one of them down by chance, hardly twice and the same one.
                    again = sample()[0] if abs(apart) > 3.5 else 0
                    check(
                        apart * again <= 0 or abs(again) <= 3.5,
                        f"{way} takes as long whether a blocked value is there",
                        (apart, again),
                    )
        if not is_blocked:
            check(told_apart, "where nothing is blocked, answers tell whether a value is there")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("binary")
    options.add_argument("--programs", default="", help="the folder of `pg_dump`")
    options.add_argument(
        "--postgres", help="the address of an empty database that is the store of a second round"
    )
    arguments = options.parse_args()
    check = Tally()
    sweep(check, arguments.binary, is_blocked=False)
    sweep(check, arguments.binary)
    membership(check, arguments.binary, is_blocked=False)
    membership(check, arguments.binary)
    if arguments.postgres:
        sweep(check, arguments.binary, arguments.postgres, arguments.programs)
    check.end("canaries")


if __name__ == "__main__":
    main()
