"""stop.py STEWARD_BINARY: one person who may only ask tries to stop the server, and does not.

A view that never ends, an expression that is too deep, texts that grow, a Parquet file that unpacks to gigabytes. Meanwhile
/health is asked every few milliseconds and the memory of all processes of the server is added up. Held to: a clear error for
whoever asked, /health within 100 ms at p99, memory within the limit of the settings plus 20 %, and an end within the deadline of
SIGTERM while a bomb is still at work.
"""

import gzip
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

from harness import Server, Tally, request, wait_for

MB = 1024 * 1024
LIMIT = 512  # megabytes, `analysis.memory_mb`
DRAIN = 5  # seconds, `--drain`


def endless():
    """A SQLite file of a few kilobytes whose views never end, beside a table that is fine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.sqlite")
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE sales (id INTEGER, amount REAL)")
        db.executemany("INSERT INTO sales VALUES (?, ?)", [(n, n * 1.5) for n in range(20)])
        forever = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        db.execute(f"CREATE VIEW forever AS {forever} SELECT count(*) AS n FROM c")
        db.commit()
        db.close()
        only = Path(folder, "y.sqlite")
        db = sqlite3.connect(only)
        db.execute(f"CREATE VIEW forever AS {forever} SELECT count(*) AS n FROM c")
        db.commit()
        db.close()
        return path.read_bytes(), only.read_bytes()


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def zigzag(number):
    return varint(number << 1)


def struct_of(fields):
    """A Thrift struct in the compact protocol; fields are (id, kind, value) in order."""
    out, last = b"", 0
    for number, kind, value in fields:
        out += bytes([(number - last) << 4 | {"i32": 5, "i64": 6, "text": 8, "list": 9, "struct": 12}[kind]])
        last = number
        if kind in ("i32", "i64"):
            out += zigzag(value)
        elif kind == "text":
            out += varint(len(value)) + value
        else:
            out += value
    return out + b"\0"


def list_of(kind, values):
    return bytes([len(values) << 4 | {"i32": 5, "text": 8, "struct": 12}[kind]]) + b"".join(values)


def parquet_bomb(rows=65_536, length=MB):
    """One text of a megabyte, named by every row: a small file, and gigabytes once its cells are written out."""
    text = b"x" * length
    word = struct.pack("<I", len(text)) + text

    def page(kind, body, header):
        packed = gzip.compress(body, 9)
        fields = [(1, "i32", kind), (2, "i32", len(body)), (3, "i32", len(packed)), header]
        return struct_of(fields) + packed, struct_of(fields), len(body)

    dictionary, head, size = page(2, word, (7, "struct", struct_of([(1, "i32", 1), (2, "i32", 0)])))
    indexes = b"\x01" + varint(rows << 1) + b"\x00"
    about = struct_of([(1, "i32", rows), (2, "i32", 8), (3, "i32", 3), (4, "i32", 3)])
    data, data_head, data_size = page(0, indexes, (5, "struct", about))
    start = 4
    unpacked = len(head) + size + len(data_head) + data_size
    column = struct_of(
        [
            (1, "i32", 6),
            (2, "list", list_of("i32", [zigzag(0), zigzag(3), zigzag(8)])),
            (3, "list", list_of("text", [varint(4) + b"note"])),
            (4, "i32", 2),
            (5, "i64", rows),
            (6, "i64", unpacked),
            (7, "i64", len(dictionary) + len(data)),
            (9, "i64", start + len(dictionary)),
            (11, "i64", start),
        ]
    )
    group = struct_of(
        [
            (1, "list", list_of("struct", [struct_of([(2, "i64", start), (3, "struct", column)])])),
            (2, "i64", unpacked),
            (3, "i64", rows),
        ]
    )
    schema = [
        struct_of([(4, "text", b"schema"), (5, "i32", 1)]),
        struct_of([(1, "i32", 6), (3, "i32", 0), (4, "text", b"note"), (6, "i32", 0)]),
    ]
    footer = struct_of(
        [
            (1, "i32", 1),
            (2, "list", list_of("struct", schema)),
            (3, "i64", rows),
            (4, "list", list_of("struct", [group])),
        ]
    )
    return b"PAR1" + dictionary + data + footer + struct.pack("<I", len(footer)) + b"PAR1"


def tree(pid):
    """A process and all that it started."""
    found, known = [], {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parent = int(Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
                known.setdefault(parent, []).append(int(entry))
            except (OSError, IndexError, ValueError):
                continue
    left = [pid]
    while left:
        one = left.pop()
        found.append(one)
        left += known.get(one, [])
    return found


def memory(pid):
    total = 0
    for one in tree(pid):
        try:
            lines = Path(f"/proc/{one}/status").read_text().splitlines()
        except OSError:
            continue
        total += sum(
            int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssShmem:"))
        )
    return total


class Watch:
    """Asks /health and adds memory up, while something is done."""

    def __init__(self, server):
        self.server, self.stop = server, threading.Event()
        self.times, self.peak, self.base = [], 0, memory(server.process.pid)

    def _health(self):
        while not self.stop.is_set():
            began = time.monotonic()
            try:
                good = request(self.server.base, "GET", "/health", timeout=20).status == 200
            except OSError:
                good = False
            self.times.append(time.monotonic() - began if good else 99.0)
            time.sleep(0.01)

    def _memory(self):
        while not self.stop.is_set():
            self.peak = max(self.peak, memory(self.server.process.pid))
            time.sleep(0.01)

    def __enter__(self):
        self.threads = [threading.Thread(target=work) for work in (self._health, self._memory)]
        [thread.start() for thread in self.threads]
        return self

    def __exit__(self, *_):
        self.stop.set()
        [thread.join() for thread in self.threads]

    def p99(self):
        return sorted(self.times)[int(len(self.times) * 0.99)] * 1000


def main():
    binary = sys.argv[1]
    # An unoptimised build on a busy machine is held to less.
    health = float(sys.argv[2]) if len(sys.argv) > 2 else 100
    check = Tally()
    server = Server(binary, "--drain", str(DRAIN), apps=False)
    settings = server.home / "config/steward.yaml"
    settings.write_text(f"analysis:\n  memory_mb: {LIMIT}\n  timeout_seconds: 20\n")
    server.steward("grants", "add", "asker", "--domain", "nothing")
    server.steward("users", "add", "eve", "--role", "asker")
    _, key = server.key("eve")
    with server:

        def upload(name, data):
            path = f"/api/v1/uploads?name={urllib.parse.quote(name)}"
            return request(server.base, "POST", path, data, {"Content-Type": "application/octet-stream"}, key)

        def ask(message, data):
            return request(
                server.base, "POST", "/api/v1/ask", {"message": message, "data": [f"upload:{data}"]}, key=key
            )

        rows = b"id,name\n" + b"".join(b"%d,%s\n" % (n, b"abcdefghij" * 5) for n in range(20_000))
        fine = upload("fine.csv", rows)
        check(fine.status == 201, "a harmless file is taken", fine)
        fine = fine.json()["id"]
        good = ask("SELECT count(*) AS n FROM fine", fine)
        check(good.status == 200 and b"20" in good.body, "a harmless question is answered", good)

        mixed, only = endless()
        deep = ["SELECT id FROM fine WHERE " + "NOT " * 900 + "id = 1"]
        deep += ["SELECT " + "+".join(["id"] * count) + " AS n FROM fine" for count in (400, 1_500, 3_000)]
        deep += ["SELECT " + "(" * 55 + "id" + ")" * 55 + " AS n FROM fine"]
        deep += ["SELECT id FROM fine WHERE " + " AND ".join(f"id <> {n}" for n in range(600))]
        grow = "replace(replace(name, 'a', lpad('x', 9000, 'y')), 'x', lpad('z', 9000, 'w'))"
        lots = f"SELECT max(length({grow})) AS n FROM fine"
        double = "fine"
        for _ in range(20):
            double = f"(SELECT concat(name, name) AS name FROM {double} AS t)"
        bomb = parquet_bomb()
        check(len(bomb) < 32 * 1024, "the Parquet file is small", len(bomb))

        def several(sql):
            answers = []
            threads = [threading.Thread(target=lambda: answers.append(ask(sql, fine))) for _ in range(3)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            return answers

        def parquet():
            answers = [upload("bomb.parquet", bomb)]
            if answers[0].status == 201:
                id = answers[0].json()["id"]
                answers += [
                    ask("SELECT max(upper(note)) AS n FROM bomb", id),
                    ask("SELECT note FROM bomb", id),
                ]
            return answers

        attacks = {
            "a view that never ends, alone": lambda: [upload("only.sqlite", only)],
            "a view that never ends, beside a table": lambda: [upload("mixed.sqlite", mixed)],
            "an expression that is deep": lambda: [ask(sql, fine) for sql in deep],
            "texts that grow, three at once": lambda: several(lots),
            "texts that double": lambda: several(f"SELECT max(length(name)) AS n FROM {double} AS t"),
            "a Parquet bomb": parquet,
        }
        for name, attack in attacks.items():
            began = time.monotonic()
            with Watch(server) as watch:
                answers = attack()
            took = time.monotonic() - began
            for answer in answers:
                told = answer.status in (200, 201) or answer.is_problem()
                check(
                    told and answer.status < 500 or answer.status in (503, 504),
                    f"{name}: it is answered",
                    answer,
                )
            said = "; ".join(
                f"{answer.status} {answer.body[:140].decode(errors='replace')}" for answer in answers
            )
            peak, p99 = watch.peak / MB, watch.p99()
            print(
                f"  {name}: {took:.1f} s, /health p99 {p99:.0f} ms of {len(watch.times)}, memory {peak:.0f} MB\n    {said[:400]}",
                flush=True,
            )
            check(p99 < health, f"{name}: /health p99 under {health:.0f} ms", p99)
            check(
                watch.peak - watch.base < LIMIT * 1.2 * MB,
                f"{name}: memory within {LIMIT} MB plus 20 %",
                peak,
            )
            check(server.process.poll() is None, f"{name}: the server lives")
            after = ask("SELECT count(*) AS n FROM fine", fine)
            check(after.status == 200 and b"20" in after.body, f"{name}: others are answered after it", after)

        pending = threading.Thread(target=lambda: swallow(lambda: upload("again.sqlite", only)), daemon=True)
        pending.start()
        time.sleep(1)
        processes = tree(server.process.pid)
        began = time.monotonic()
        code = server.stop(signal.SIGTERM, DRAIN + 15)
        took = time.monotonic() - began
        check(
            code == 0 and took < DRAIN + 10,
            "SIGTERM ends it within its deadline while a bomb is at work",
            (code, took),
        )
        check(
            wait_for(lambda: not any(lives(one) for one in processes), 5),
            "no process is left behind",
            [lives(one) for one in processes],
        )
        print(f"  SIGTERM: {took:.1f} s, exit {code}")
    check.end("stop")


def lives(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        return "State:\tZ" not in status and "steward" in status and status
    except OSError:
        return False


def swallow(work):
    try:
        work()
    except Exception:  # The server is stopped meanwhile.
        pass


if __name__ == "__main__":
    main()
