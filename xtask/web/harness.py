"""What the tests of `steward serve` share: a server of one's own in a fresh home, requests over loopback, and a tally of checks.

Standard library only. A server is started on a free port of 127.0.0.1, with the example applications, workflows and agents of
this repository, and is gone with its home when the test ends.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


# A run that looks at something and then waits for a person.
WAITING_RUN = """name: human_review
patterns: [react]
entry_point: look
nodes:
  look: { type: tool, tool: todo.list_tasks, arguments: {} }
  review: { type: human, input: "Go on with ${input.topic}?", expires_seconds: 3600, on_timeout: reject }
edges:
  - { from: look, to: review }
  - { from: review, to: { approve: __end__, modify: __end__, reject: __end__ } }
"""


class Answer:
    """An answer as it came: status, headers (lower case), bytes."""

    def __init__(self, status, headers, body):
        self.status, self.body = status, body
        self.all = [(name.lower(), value) for name, value in headers]
        self.headers = dict(self.all)

    def json(self):
        return json.loads(self.body)

    @property
    def kind(self):
        return self.headers.get("content-type", "").split(";")[0]

    def is_problem(self):
        """Whether it is the problem+json that the contract promises."""
        try:
            told = self.json()
        except ValueError:
            return False
        named = all(told.get(key) for key in ("type", "title", "status", "code", "detail"))
        return self.kind == "application/problem+json" and named and told["status"] == self.status

    def __repr__(self):
        return f"{self.status} {self.kind} {self.body[:300]!r}"


def request(base, method, path, body=None, headers=None, key=None, timeout=120):
    """One request on a connection of its own. A dict or list is sent as JSON."""
    address = urllib.parse.urlsplit(base)
    headers = dict(headers or {})
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
        headers.setdefault("Content-Type", "application/json")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=timeout)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read())
    except TimeoutError as error:
        raise TimeoutError(f"{method} {path}: no answer within {timeout} s") from error
    finally:
        connection.close()


def raw(base, data, timeout=15):
    """Sends bytes as they are and reads until the other side closes, or says nothing for `timeout` seconds."""
    address = urllib.parse.urlsplit(base)
    with socket.create_connection((address.hostname, address.port), timeout=timeout) as link:
        got = b""
        try:
            link.sendall(data)
            while piece := link.recv(65536):
                got += piece
        except OSError:  # Closed or silent: what was read so far is the answer.
            pass
        return got


def status_of(got):
    """The status of a raw answer; None when it was closed without one."""
    first = got.split(b"\r\n", 1)[0].split()
    return int(first[1]) if len(first) > 1 and first[0].startswith(b"HTTP/") else None


def events(base, path, key=None, headers=None, timeout=30, most=1000, until="done"):
    """The events of a stream as (id, name, data), until the one named `until` or the end."""
    address = urllib.parse.urlsplit(base)
    headers = dict(headers or {}) | {"Accept": "text/event-stream"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=timeout)
    heard, one = [], {}
    try:
        connection.request("GET", path, None, headers)
        answer = connection.getresponse()
        if answer.status != 200:
            return Answer(answer.status, answer.getheaders(), answer.read())
        for line in answer:
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                continue
            if line:
                name, _, value = line.partition(": ")
                one[name] = one.get(name, "") + value
            elif one:
                heard.append((one.get("id"), one.get("event"), json.loads(one.get("data", "null"))))
                if one.get("event") == until or len(heard) >= most:
                    break
                one = {}
        return heard
    finally:
        connection.close()


def wait_for(what, seconds=30, every=0.05):
    """Waits until `what()` is true and gives it back; None after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(every)
    return None


class Server:
    """A server of one's own. Use it with `with`."""

    def __init__(self, binary, *options, home=None, apps=True, store=None):
        self.binary, self.options = str(Path(binary).resolve()), options
        self.folder = None if home else tempfile.mkdtemp(prefix="steward-web-")
        self.home = Path(home or f"{self.folder}/home")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("STEWARD_")}
        self.environment["STEWARD_HOME"] = str(self.home)
        if store:
            self.environment["STEWARD_STORE"] = store
        self.process = self.base = None
        if not (self.home / "config").is_dir():
            self.steward("init")
            if apps:
                self._examples()
        # What the encoder worked out for one server is good for the next.
        self.cache = os.environ.get("STEWARD_WEB_CACHE")
        if self.cache and Path(self.cache, "vectors").exists():
            shutil.copytree(self.cache, self.home / "cache", dirs_exist_ok=True)

    def _examples(self):
        for folder, into in [("apps/config", "config"), ("workflows", "workflows"), ("agents", "agents")]:
            (self.home / into).mkdir(exist_ok=True)
            for file in (ROOT / "examples" / folder).glob("*.yaml"):
                text = file.read_text().replace("~/steward-apps", f"{self.home}/apps")
                (self.home / into / file.name).write_text(text)
        (self.home / "workflows/human_review.yaml").write_text(WAITING_RUN)

    def steward(self, *words):
        """A command of the program over this home; its output as JSON where it is."""
        done = subprocess.run(
            [self.binary, *words], cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=120
        )
        if done.returncode:
            raise SystemExit(f"steward {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        try:
            return json.loads(done.stdout)
        except ValueError:
            return done.stdout

    def key(self, user, *options):
        """A new key of a user, as (id, key)."""
        made = self.steward("keys", "add", user, *options, "--json")
        return made["id"], made["key"]

    def start(self):
        """Starts it and waits until it is ready; how long that took is in `took`."""
        began = time.monotonic()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.log = open(self.home / "serve.log", "ab")
        words = [self.binary, "serve", "--port", str(port), *self.options]
        self.process = subprocess.Popen(
            words, cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log
        )
        if not wait_for(self.is_ready, 60, 0.005):
            raise SystemExit(f"the server does not become ready:\n{self.told()}")
        self.took = time.monotonic() - began
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the server ended with {self.process.returncode}:\n{self.told()}")
        return healthy(self.base)

    def told(self):
        return (self.home / "serve.log").read_text(errors="replace")[-4000:]

    def memory(self, files=False):
        """Bytes that are its own; with `files` also pages of files, such as the database, that the kernel may drop at any time."""
        wanted = ("VmRSS:",) if files else ("RssAnon:", "RssShmem:")
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(wanted))

    def stop(self, how=signal.SIGTERM, seconds=60):
        """Stops it and gives its exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait(10)
        self.log.close()
        self.process = None
        return code

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        if self.cache and not Path(self.cache, "vectors").exists() and (self.home / "cache").exists():
            shutil.copytree(self.home / "cache", self.cache, dirs_exist_ok=True)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def healthy(base):
    try:
        return request(base, "GET", "/ready", timeout=5).status == 200
    except (OSError, http.client.HTTPException):
        return False


class Tally:
    """Counts checks and tells those that fail."""

    def __init__(self):
        self.good, self.bad, self.lock = 0, [], threading.Lock()

    def __call__(self, true, what, found=""):
        with self.lock:
            if true:
                self.good += 1
            else:
                self.bad.append(what)
                print(f"  WRONG {what}" + (f": {found!r}"[:600] if found != "" else ""), flush=True)
        return bool(true)

    def end(self, about):
        print(f"{about}: {self.good} checks held, {len(self.bad)} did not")
        sys.exit(1 if self.bad else 0)
