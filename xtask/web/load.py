"""load.py STEWARD_BINARY [--seconds 300] [--conversations 100] [--streams 200]: the server under load, on loopback.

First twice the capacity at once: who is too much is told when to come again. Then so many conversations ask and listen while so
many streams stay open: no error, memory that does not drift, and little time beside the work. Then it is stopped under load: what
was taken is done and kept, once. Start-up time and idle memory are printed. Everything is bounded.
"""

import argparse
import asyncio
import json
import random
import signal
import statistics
import sys
import time
import uuid

from harness import Server, Tally, healthy, request

SAYINGS = ["hello", "What can you do?", "thanks", "What is on my to-do list?", "hello again"]


class Link:
    """One connection that is kept. Requests on it come one after another."""

    def __init__(self, base):
        self.host, self.port = base.removeprefix("http://").split(":")
        self.reader = self.writer = None

    async def send(self, method, path, body=None, headers=()):
        """Sends a request and reads the head of its answer: status and headers."""
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        data = json.dumps(body).encode() if body is not None else b""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", *headers]
        lines += (
            ["Content-Type: application/json", f"Content-Length: {len(data)}"] if body is not None else []
        )
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        await self.writer.drain()
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.split(": ", 1) for line in head[1:] if ": " in line)
        return int(head[0].split()[1]), {name.lower(): value for name, value in pairs}

    async def body(self, headers):
        if headers.get("transfer-encoding") != "chunked":
            return await self.reader.readexactly(int(headers.get("content-length", 0)))
        return b"".join([piece async for piece in self.pieces()])

    async def pieces(self):
        while size := int(await self.reader.readline(), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()

    async def ask(self, method, path, body=None, headers=(), within=60):
        """The whole answer: status, headers, document."""
        async with asyncio.timeout(within):
            status, told = await self.send(method, path, body, headers)
            data = await self.body(told)
        if told.get("connection") == "close":
            self.close()
        return status, told, json.loads(data) if data and "json" in told.get("content-type", "") else data

    def close(self):
        if self.writer:
            self.writer.close()
        self.writer = None


class Run:
    def __init__(self, base, check):
        self.base, self.check, self.over = base, check, asyncio.Event()
        self.beside, self.errors, self.turns = [], [], 0
        self.open, self.beats, self.broken = 0, 0, []

    async def conversation(self, number, pause):
        """Asks, waits for the answer, thinks for a while, and asks again."""
        link, talk, dice = Link(self.base), None, random.Random(number)
        await asyncio.sleep(dice.random() * pause)
        while not self.over.is_set():
            say = {"message": dice.choice(SAYINGS)} | ({"conversation_id": talk} if talk else {})
            began = time.perf_counter()
            try:
                if dice.random() < 0.5:
                    status, _, reply = await link.ask("POST", "/api/v1/ask", say)
                else:
                    status, reply = await self.turn(link, say)
            except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError) as error:
                self.errors.append(f"conversation {number}: {error!r}")
                link.close()
                continue
            took = (time.perf_counter() - began) * 1000
            if status not in (200, 202):
                self.errors.append(f"conversation {number}: {status} {reply}")
            else:
                talk = reply["conversation_id"]
                self.beside.append(took - reply["total_execution_time_ms"])
                self.turns += 1
            await asyncio.sleep(pause * (0.5 + dice.random()))
        link.close()

    async def turn(self, link, say):
        """Through a turn and its events, as the page does."""
        status, _, taken = await link.ask("POST", "/api/v1/turns", say)
        if status != 202:
            return status, taken
        async with asyncio.timeout(60):
            _, told = await link.send("GET", taken["events"])
            heard = (await link.body(told)).decode()
        frames = [frame.split("\n") for frame in heard.split("\n\n")]
        for frame in frames:
            if "event: reply" in frame:
                return 200, json.loads(next(line for line in frame if line.startswith("data: "))[6:])
        return 0, heard[-300:]

    async def stream(self, path):
        """Stays open and hears that it is alive."""
        link = Link(self.base)
        try:
            status, _ = await link.send("GET", path, headers=["Accept: text/event-stream"])
            if status != 200:
                raise ValueError(f"{path}: {status}")
            self.open += 1
            async for _ in link.pieces():
                self.beats += 1
            if not self.over.is_set():
                raise ValueError(f"{path} ended")
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            if not self.over.is_set():
                self.broken.append(repr(error))
        finally:
            link.close()


def percentile(numbers, part):
    return sorted(numbers)[min(len(numbers) - 1, int(len(numbers) * part))] if numbers else float("nan")


async def steady(server, given, check):
    """Conversations and streams for the time that was given."""
    run, link = Run(server.base, check), Link(server.base)
    runs = []
    for _ in range(min(10, given.streams)):
        status, _, begun = await link.ask(
            "POST", "/api/v1/workflows/human_review/runs", {"input": {"topic": "load"}}
        )
        check(status == 202, "a run to listen to", begun)
        runs.append(begun["events"])
    streams = [asyncio.create_task(run.stream(runs[number % len(runs)])) for number in range(given.streams)]
    talks = [
        asyncio.create_task(run.conversation(number, given.pause)) for number in range(given.conversations)
    ]
    memory, began = [], time.monotonic()
    while time.monotonic() - began < given.seconds:
        await asyncio.sleep(min(1, given.seconds / 20))
        memory.append(server.memory())
    opened, resident = run.open - len(run.broken), server.memory(files=True)
    run.over.set()
    await asyncio.gather(*talks)
    [stream.cancel() for stream in streams]
    await asyncio.gather(*streams, return_exceptions=True)
    fifth = max(1, len(memory) // 5)
    early, late = statistics.median(memory[fifth : 2 * fifth] or memory), statistics.median(memory[-fifth:])
    drift = 100 * (late - early) / early
    print(
        f"load: {run.turns} answers in {given.seconds} s, {given.conversations} conversations, {opened} of {given.streams} streams open to the end, {run.beats} pieces heard"
    )
    print(
        f"memory under load: {early / 2**20:.0f} MB early, {late / 2**20:.0f} MB late, drift {drift:+.1f} %; {resident / 2**20:.0f} MB with pages of the database"
    )
    print(
        f"time beside the work: median {percentile(run.beside, 0.5):.1f} ms, p99 {percentile(run.beside, 0.99):.1f} ms, worst {percentile(run.beside, 1):.1f} ms"
    )
    check(not run.errors, "no error under load", (len(run.errors), run.errors[:3]))
    check(opened == given.streams and not run.broken, "all streams stay open", (opened, run.broken[:3]))
    check(run.turns > given.conversations, "every conversation got answers", run.turns)
    check(drift < given.drift, f"memory drifts less than {given.drift} %", f"{drift:.1f} %")
    check(
        percentile(run.beside, 0.99) < given.beside,
        f"p99 beside the work under {given.beside} ms",
        f"{percentile(run.beside, 0.99):.1f} ms",
    )


async def overload(server, given, check):
    """Twice as many at once as there are places: the others are told to wait, and are taken later."""
    many = 2 * given.at_once

    async def one(path, body):
        link = Link(server.base)
        try:
            return await link.ask("POST", path, body, within=120)
        finally:
            link.close()

    for path, body in [
        ("/api/v1/ask", {"message": "What is on my to-do list?"}),
        (
            "/v1/chat/completions",
            {
                "model": "steward",
                "stream": True,
                "messages": [{"role": "user", "content": "What is on my to-do list?"}],
            },
        ),
    ]:
        got = await asyncio.gather(*(one(path, body) for _ in range(many)), return_exceptions=True)
        broken = [answer for answer in got if isinstance(answer, BaseException)]
        counts = {
            status: sum(1 for answer in got if not isinstance(answer, BaseException) and answer[0] == status)
            for status in {answer[0] for answer in got if not isinstance(answer, BaseException)}
        }
        busy = [answer for answer in got if not isinstance(answer, BaseException) and answer[0] == 429]
        print(f"{many} at once at {path} with {given.at_once} places: {counts}, {len(broken)} broken")
        check(
            not broken and set(counts) <= {200, 429},
            f"{path} with twice the capacity: answered or told to wait",
            (counts, broken[:2]),
        )
        check(busy, f"{path} with twice the capacity: some are told to wait", counts)
        check(all(int(answer[1].get("retry-after", 0)) >= 1 for answer in busy), f"{path}: with Retry-After")
        check(healthy(server.base), "the server is well after it")
        status, _, _ = await one(path, body)
        check(status == 200, "and takes the next one", status)


async def stopped(server, given, check):
    """Stopped under load: what was taken is done once, and kept."""
    taken, refused, stopping = [], 0, asyncio.Event()

    async def one(number):
        nonlocal refused
        link = Link(server.base)
        while not stopping.is_set():
            word = f"load{uuid.uuid4().hex[:10]}"
            try:
                status, _, told = await link.ask(
                    "POST", "/api/v1/turns", {"message": f"Add a task called {word}"}
                )
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                break
            if status == 202:
                taken.append(word)
                if len(taken) >= given.at_once // 2:
                    stopping.set()
            elif status in (429, 503):
                refused += 1
                await asyncio.sleep(0.05)
            else:
                check(False, "taken, or told to wait", (status, told))
        link.close()

    talkers = [asyncio.create_task(one(number)) for number in range(16)]
    await stopping.wait()
    began = time.monotonic()
    code = await asyncio.to_thread(server.stop, signal.SIGTERM, 90)
    took = time.monotonic() - began
    await asyncio.gather(*talkers)
    print(
        f"stopped under load: {len(taken)} taken, {refused} told to wait, ended with {code} after {took:.1f} s"
    )
    check(code == 0, "it ends well", (code, server.told()[-500:]))
    await asyncio.to_thread(server.start)
    lost, twice = [], []
    tasks = request(
        server.base, "POST", "/api/v1/tools/todo.list_tasks/calls", {"arguments": {}}, timeout=120
    ).json()
    there = json.dumps(tasks["output"])
    for word in taken:
        found = request(server.base, "GET", f"/api/v1/conversations?search={word}").json()["items"]
        said = [
            request(server.base, "GET", f"/api/v1/conversations/{one['id']}").json()["messages"]
            for one in found
        ]
        if (
            len(said) != 1
            or [message["role"] for message in said[0]] != ["user", "agent"]
            or word not in there
        ):
            lost.append((word, [[message["content"][:80] for message in one] for one in said], word in there))
        count = tasks["output"].get("structured", {}).get("tasks", [])
        if sum(word in json.dumps(task) for task in count) > 1:
            twice.append(word)
    check(not lost, "nothing that was taken is lost", (len(lost), lost[:2]))
    check(not twice, "and nothing is done twice", twice[:3])
    verified = request(server.base, "POST", "/api/v1/audit/verify", timeout=120)
    check(verified.status == 200 and verified.json()["valid"], "the journal is whole", verified)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("binary")
    arguments.add_argument("--seconds", type=int, default=300)
    arguments.add_argument("--conversations", type=int, default=100)
    arguments.add_argument("--streams", type=int, default=200)
    arguments.add_argument(
        "--pause", type=float, default=4, help="seconds that a conversation thinks between two questions"
    )
    arguments.add_argument("--at-once", type=int, default=128)
    arguments.add_argument("--drift", type=float, default=5, help="per cent of memory")
    arguments.add_argument("--beside", type=float, default=25, help="milliseconds beside the work at p99")
    given = arguments.parse_args()
    check = Tally()
    server = Server(given.binary, "--per-minute", "1000000", "--at-once", str(given.at_once))
    with server:
        idle = server.memory()
        print(f"start-up: {server.took * 1000:.0f} ms until it is ready; idle: {idle / 2**20:.0f} MB")
        began = time.monotonic()
        for say in SAYINGS:
            request(server.base, "POST", "/api/v1/ask", {"message": say}, timeout=180)
        print(f"first answers: {time.monotonic() - began:.1f} s; warm: {server.memory() / 2**20:.0f} MB")
        # The peak comes first: what it takes from the machine is not drift.
        asyncio.run(overload(server, given, check))
        asyncio.run(steady(server, given, check))
        asyncio.run(stopped(server, given, check))
        check("panicked" not in server.told(), "nothing panicked", server.told()[-500:])
    check.end("load")


if __name__ == "__main__":
    main()
