"""hostile.py BASE_URL_OR_BINARY: what a hostile client sends is refused, in bounded time, and the server is well after it.

Paths that lead elsewhere, names that are none, files that are bombs, bodies that are too large, too deep, too slow or no text,
headers that end early or never. Each is answered with a problem of the 4xx kind, or the connection is closed. Given a program it
starts a server of its own and watches its memory; given an address it uses that one.
"""

import concurrent.futures
import http.client
import io
import json
import socket
import sys
import threading
import time
import urllib.parse
import uuid
import zipfile

from harness import Answer, Server, Tally, healthy, raw, request, status_of

MB = 1024 * 1024
# What one bomb may add to the memory of the server for good.
SWELL = 400 * MB


class Target:
    def __init__(self, base, server, check):
        self.base, self.server, self.check = base, server, check

    def __call__(self, method, path, body=None, **more):
        try:
            return request(self.base, method, path, body, **more)
        except (
            OSError,
            http.client.HTTPException,
        ) as error:  # Closed without an answer, or none in time: status 0.
            return Answer(0, [], repr(error).encode())

    def refused(self, what, got, statuses=range(400, 500)):
        """A problem of the 4xx kind."""
        right = got.status in statuses and (
            got.is_problem() or got.kind == "application/json" and b'"error"' in got.body
        )
        return self.check(right, f"{what} is refused", got)

    def is_well(self, after):
        self.check(healthy(self.base), f"the server is well after {after}")
        if self.server:
            self.check(self.server.process.poll() is None, f"the server lives after {after}")

    def head(self, path="/health", method="GET", more=""):
        host = self.base.removeprefix("http://")
        return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}".encode()


def paths(to):
    """Nothing but what the page is made of, whatever the path says."""
    secrets = [b"root:", b"[package]", b"stw_", b"BEGIN"]
    ways = [
        "../Cargo.toml",
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%5c..%5cetc%5cpasswd",
    ]
    ways += [
        "%252e%252e%252fetc%252fpasswd",
        "....//....//etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "errors/../../etc/passwd",
        "errors/%2e%2e/x",
    ]
    ways += [
        "index.html%00.js",
        "index.html/",
        "%ff%fe",
        "..;/x",
        "%c0%ae%c0%ae/etc/passwd",
        "a" * 4000,
        "C:/windows/win.ini",
    ]
    for way in ways:
        for prefix in ["/page/", "/", "/api/v1/tools/", "/api/v1/workflows/", "/api/v1/audit/chains/"]:
            got = raw(to.base, to.head(prefix + way, more="Connection: close\r\n") + b"\r\n")
            status = status_of(got)
            to.check(
                status and 400 <= status < 500 and not any(one in got for one in secrets),
                f"GET {(prefix + way)[:60]}",
                got[:300],
            )
    for task in [str(uuid.uuid4()), "..", "%2e%2e"]:
        for name in [str(uuid.uuid4()), "..%2f..%2fkeys%2fsession.key", "%2e%2e"]:
            to.refused(f"artifact {task[:8]}/{name[:20]}", to("GET", f"/api/v1/artifacts/{task}/{name}"))
    to.is_well("strange paths")


def upload(to, name, data, timeout=120):
    return to(
        "POST",
        f"/api/v1/uploads?name={urllib.parse.quote(name)}",
        data,
        timeout=timeout,
        headers={"Content-Type": "application/octet-stream"},
    )


def names(to):
    """A name of a file stays a name."""
    good = b"a,b\n1,2\n"
    before = {one["id"] for one in to("GET", "/api/v1/uploads").json()["items"]}
    for name in [
        "../../../x.csv",
        "/etc/cron.d/x.csv",
        "..\\..\\x.csv",
        "a\x00b.csv",
        "a\r\nSet-Cookie: x.csv",
        "é" * 90 + ".csv",
        "𠀀" * 96 + ".csv",
        "a b.csv",
        "~root.csv",
        "$(id).csv",
        "a" * 300 + ".csv",
    ]:
        got = upload(to, name, good)
        if got.status == 201:
            kept = got.json()["name"]
            plain = (
                not any(one in kept for one in "/\\\0\r\n")
                and not kept.startswith(".")
                and len(kept.encode()) <= 255
            )
            to.check(plain, f"{name[:20]!r} is kept under a plain name", kept)
            told = [value for _, value in got.all]
            to.check(
                not any("\n" in value or "x.csv" in value for value in told),
                f"{name[:20]!r} reaches no header",
                told,
            )
        else:
            to.refused(f"an upload named {name[:20]!r}", got)
    for name in ["x.sh", "x", "", ".", "..", "....", ".csv.exe", "about.upload", "x.csv/", "x.html", "x.svg"]:
        to.refused(f"an upload named {name[:20]!r}", upload(to, name, good))
    to.refused("an upload without a name", to("POST", "/api/v1/uploads", good))
    to.refused("an empty upload", upload(to, "x.csv", b""))
    for one in to("GET", "/api/v1/uploads").json()["items"]:
        if one["id"] not in before:
            to.check(
                to("DELETE", f"/api/v1/uploads/{one['id']}").status == 204,
                "what was uploaded can be deleted",
                one,
            )
    if to.server:
        left = [path for path in (to.server.home / "uploads").glob("*/*") if path.name not in before]
        to.check(not left, "nothing is left of what was refused or deleted", left)
    to.is_well("strange names")


def zipped(files, level=9):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in files.items():
            with archive.open(name, "w", force_zip64=True) as file:
                for piece in data if not isinstance(data, (str, bytes)) else [data]:
                    file.write(piece.encode() if isinstance(piece, str) else piece)
    return packed.getvalue()


def workbook(sheet, strings="<sst xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'/>"):
    """A workbook with this sheet, given in pieces."""
    main, rel = (
        "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    )
    kinds = "http://schemas.openxmlformats.org/package/2006/content-types"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    return zipped(
        {
            "[Content_Types].xml": f"<Types xmlns='{kinds}'><Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/><Default Extension='xml' ContentType='application/xml'/></Types>",
            "_rels/.rels": f"<Relationships xmlns='{package}'><Relationship Id='r1' Type='{rel}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
            "xl/workbook.xml": f"<workbook xmlns='{main}' xmlns:r='{rel}'><sheets><sheet name='s' sheetId='1' r:id='r1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{package}'><Relationship Id='r1' Type='{rel}/worksheet' Target='worksheets/sheet1.xml'/><Relationship Id='r2' Type='{rel}/sharedStrings' Target='sharedStrings.xml'/></Relationships>",
            "xl/sharedStrings.xml": strings,
            "xl/worksheets/sheet1.xml": sheet,
        }
    )


def bombs(to):
    """Small files that become large, and large ones that are nothing."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    row = "<row>" + "<c t='inlineStr'><is><t>" + "A" * 1000 + "</t></is></c>" * 1 + "</row>"

    def rows(megabytes):
        yield f"<worksheet xmlns='{main}'><sheetData>"
        block = row * 1000
        for _ in range(megabytes):
            yield block
        yield "</sheetData></worksheet>"

    far = f"<worksheet xmlns='{main}'><sheetData><row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c r='XFD1048576'><v>1</v></c></row></sheetData></worksheet>"
    laughs = (
        "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>"
        + "".join(f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abcdefgh", "bcdefghi"))
        + "]>"
    )
    deep = b"[" * 500_000 + b"]" * 500_000
    columns = ",".join(f"c{n}" for n in range(200_000)).encode() + b"\n"
    for what, name, data in [
        ("a workbook that unpacks to a gigabyte", "bomb.xlsx", workbook(rows(1000))),
        ("a workbook with a cell in the last corner", "far.xlsx", workbook(far)),
        (
            "a workbook of entities",
            "laughs.xlsx",
            workbook(
                laughs
                + f"<worksheet xmlns='{main}'><sheetData><row><c t='inlineStr'><is><t>&i;</t></is></c></row></sheetData></worksheet>"
            ),
        ),
        (
            "an archive of zeros called a workbook",
            "zeros.xlsx",
            zipped({"x": (b"\0" * MB for _ in range(500))}),
        ),
        ("a workbook that is cut off", "cut.xlsx", workbook(rows(1))[:-100]),
        ("JSON half a million deep", "deep.json", deep),
        ("JSON lines half a million deep", "deep.jsonl", deep),
        ("a table of 200000 columns", "wide.csv", columns + columns),
        ("a parquet file that is none", "x.parquet", b"PAR1" + b"\xff" * 1000 + b"PAR1"),
        ("a database that is none", "x.sqlite", b"SQLite format 3\0" + b"\xff" * 5000),
        ("a workbook that is text", "x.xls", b"<html>not a workbook</html>"),
        ("zeros", "x.csv", b"\0" * MB),
        ("no text", "x.json", b"\xff\xfe\xfd" * 1000),
    ]:
        began, before = time.monotonic(), to.server.memory() if to.server else 0
        got = upload(to, name, data, timeout=90)
        took = time.monotonic() - began
        fine = got.status == 201 or 400 <= got.status < 500 and got.is_problem()
        to.check(fine, f"{what} is taken or refused", got)
        to.check(took < 45, f"{what} is decided on in time", f"{took:.1f} s")
        to.check(
            b"panicked" not in got.body and b"/" + b"home/" not in got.body,
            f"{what}: no inner matters are told",
            got,
        )
        if to.server:
            more = to.server.memory() - before
            to.check(more < SWELL, f"{what} does not swell the server", f"{more // MB} MB")
        if got.status == 201:
            to("DELETE", f"/api/v1/uploads/{got.json()['id']}")
        print(f"  {what}: {len(data) // 1024} kB, {got.status} after {took:.1f} s", flush=True)
        to.is_well(what)


def large(to):
    """Bodies beyond their limit: refused when they say so, and when they do not."""
    host = to.base.removeprefix("http://")
    for path, kind, size in [
        ("/api/v1/uploads?name=x.csv", "application/octet-stream", 101 * MB),
        ("/api/v1/ask", "application/json", 2 * MB),
        ("/v1/chat/completions", "application/json", 2 * MB),
        ("/mcp", "application/json", 5 * MB),
        ("/a2a", "application/json", 2 * MB),
    ]:
        accept = "Accept: application/json, text/event-stream\r\n"
        said = f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{accept}Content-Type: {kind}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n".encode()
        status = status_of(raw(to.base, said + b" " * 65536, timeout=5))
        to.check(status in (413, 404), f"{path}: {size // MB} MB that are announced", status)
        got = chunked(to, path, kind, size)
        to.check(got in (413, 404, None), f"{path}: {size // MB} MB in pieces", got)
    got = upload(to, "x.csv", b"a,b\n" + b"1,2\n" * (26 * MB), timeout=120)
    # Whoever sends on while the answer is there already may see the connection close first.
    to.check(got.status in (413, 0), "104 MB of a table are refused", got)
    for what, length in [
        ("less than nothing", "-1"),
        ("more than there is", "99999999999999999999"),
        ("no number", "x"),
        ("two", "5, 6"),
    ]:
        status = status_of(
            raw(
                to.base,
                to.head(
                    "/api/v1/ask", "POST", f"Content-Type: application/json\r\nContent-Length: {length}\r\n"
                )
                + b"\r\n{}",
                timeout=5,
            )
        )
        to.check(status in (400, 413, None), f"a length of {what}", status)
    smuggle = (
        to.head(
            "/api/v1/ask",
            "POST",
            "Content-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        )
        + b"\r\n0\r\n\r\nGET /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    got = raw(to.base, smuggle, timeout=5)
    to.check(
        got.count(b"HTTP/1.1") <= 2 and b'"csrf"' not in got,
        "two lengths do not smuggle a request",
        got[:300],
    )
    to.is_well("large bodies")


def chunked(to, path, kind, size):
    """The status of a body in pieces that never says how long it is; None when the connection was closed."""
    address = urllib.parse.urlsplit(to.base)
    with socket.create_connection((address.hostname, address.port), timeout=20) as link:
        accept = "Accept: application/json, text/event-stream\r\n"
        link.sendall(
            to.head(path, "POST", f"{accept}Content-Type: {kind}\r\nTransfer-Encoding: chunked\r\n") + b"\r\n"
        )
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        got = b""
        try:
            for _ in range(size // 65536 + 1):
                link.sendall(piece)
            link.sendall(b"0\r\n\r\n")
        except OSError:  # It was closed on us, which is an answer.
            pass
        try:
            got = link.recv(65536)
        except OSError:
            pass
        return status_of(got)


def bodies(to):
    """What is no JSON, no text, too deep or of another kind."""
    json_kind = {"Content-Type": "application/json"}
    wrong = {
        "nothing": b"",
        "half": b'{"message": ',
        "no text": b'{"message": "\xff\xfe"}',
        "half a letter": b'{"message": "\xc3"}',
        "a lone surrogate": b'{"message": "\\ud800"}',
        "a control character": b'{"message": "a\x01b"}',
        "a number": b'{"message": 1}',
        "a list": b'["hello"]',
        "too much": b'{"message": "a", "admin": true}',
        "twice": b'{"message": "a", "message": "b"}',
        "two documents": b'{"message": "a"}{"message": "b"}',
        "a mark of order": b'\xef\xbb\xbf{"message": "a"}',
        "100000 deep": b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "a large number": b'{"message": 1e999999}',
        "not a conversation": b'{"message": "a", "conversation_id": "../../x"}',
        "too many sources": json.dumps({"message": "a", "data": ["upload:x"] * 21}).encode(),
        "an unknown source": json.dumps({"message": "a", "data": [f"upload:{uuid.uuid4()}"]}).encode(),
        "a source elsewhere": json.dumps({"message": "a", "data": ["upload:../../keys"]}).encode(),
    }
    for path in [
        "/api/v1/ask",
        "/api/v1/turns",
        "/api/v1/agents/orchestrator/invoke",
        "/api/v1/agents/validation/check",
    ]:
        for what, body in wrong.items():
            to.refused(f"{path} with {what}", to("POST", path, body, headers=json_kind))
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/xml",
            "",
            "application/jsonx",
        ]:
            to.refused(
                f"{path} as {kind!r}",
                to("POST", path, b'{"message": "a"}', headers={"Content-Type": kind}),
                [415],
            )
        to.refused(
            f"{path} with 101 kB of words", to("POST", path, {"message": "word " * 20_400}), [413, 422]
        )
    got = to("POST", "/api/v1/ask", {"message": "word " * 19_900}, timeout=60)
    to.check(got.status in (200, 413, 422), "just under 100 kB of words", got)
    for what, messages in {
        "none": [],
        "no user": [{"role": "system", "content": "x"}],
        "a number": [{"role": "user", "content": 7}],
        "1001": [{"role": "user", "content": "x"}] * 1001,
    }.items():
        to.refused(
            f"a completion with {what}",
            to("POST", "/v1/chat/completions", {"model": "steward", "messages": messages}),
        )
    many = [
        {"type": "function", "function": {"name": f"f{n}", "description": "x " * 200, "parameters": {}}}
        for n in range(1500)
    ]
    got = to(
        "POST",
        "/v1/chat/completions",
        {"model": "steward", "messages": [{"role": "user", "content": "hello"}], "tools": many},
        timeout=60,
    )
    to.check(got.status < 500, "1500 tools of a client", got)
    to.refused(
        "257 texts to embed", to("POST", "/v1/embeddings", {"model": "steward-embed", "input": ["x"] * 257})
    )
    began = time.monotonic()
    got = to("POST", "/v1/embeddings", {"model": "steward-embed", "input": ["word " * 190_000]}, timeout=60)
    to.check(
        got.status < 500 and time.monotonic() - began < 20,
        "a text of a megabyte to embed",
        (got, time.monotonic() - began),
    )
    for text in [
        "\x00",
        "\u202e\u2066",
        "<script>alert(1)</script>",
        "'; DROP TABLE tasks; --",
        "${jndi:ldap://x}",
        "{{7*7}}",
        "\r\nSet-Cookie: a=b",
        "🧨" * 1000,
        "ﷺ" * 5000,
    ]:
        got = to("POST", "/api/v1/ask", {"message": text}, timeout=60)
        to.check(
            got.status in (200, 422) and "set-cookie" not in got.headers, f"the words {text[:12]!r}", got
        )
    to.is_well("strange bodies")


def headers(to):
    """Headers that would be two, are no text, or are too many."""
    for what, more in {
        "a bare line feed": "X-A: a\nX-B: b\r\n",
        "a carriage return": "X-A: a\rX-B: b\r\n",
        "a NUL": "X-A: a\0b\r\n",
        "no colon": "nonsense\r\n",
        "a space before the colon": "X-A : b\r\n",
        "a folded line": "X-A: a\r\n b\r\n",
        "70 kB": f"X-A: {'a' * 70_000}\r\n",
        "300 of them": "".join(f"X-{n}: a\r\n" for n in range(300)),
        "two hosts": "Host: evil.example\r\n",
        "a long cookie": f"Cookie: steward_session={'a' * 50_000}\r\n",
        "an upgrade": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
    }.items():
        got = raw(to.base, to.head("/api/v1/me", more=more + "Connection: close\r\n") + b"\r\n", timeout=5)
        status = status_of(got)
        to.check(status is None or status < 500, f"a header with {what}", got[:200])
        if what == "two hosts":
            to.check(status == 400, "two hosts are refused", got[:200])
        to.check(b"x-b: b" not in got.lower(), f"a header with {what} is not sent back")
    for value in ["a%0d%0aSet-Cookie:%20x=1", "a\tb", "<script>", "é" * 10, "a" * 65, ""]:
        got = to("GET", "/health", headers={"X-Request-Id": value.encode("utf-8").decode("latin-1")})
        to.check(
            value == "" or got.headers["x-request-id"] != value,
            f"the id {value[:12]!r} is not taken over",
            got.headers,
        )
    got = to("GET", "/health", headers={"X-Request-Id": "abcdefgh-1234"})
    to.check(got.headers["x-request-id"] == "abcdefgh-1234", "a harmless id is", got.headers)
    got = to("GET", "/health", headers={"X-Request-Id": "abc"})
    to.check(
        got.headers.get("x-content-type-options") == "nosniff" and "content-security-policy" in got.headers,
        "every answer has its guards",
        got.headers,
    )
    for key in ["a b c", "x" * 10_000, "é", "Basic eDp5", ""]:
        got = to("GET", "/api/v1/me", headers={"Authorization": key.encode().decode("latin-1")})
        to.check(got.status < 500, f"the authorization {key[:12]!r}", got)
    for once in ["", "x" * 201, "\x80"]:
        to.refused(
            f"the idempotency key {once[:8]!r}",
            to("POST", "/api/v1/turns", {"message": "hello"}, headers={"Idempotency-Key": once}),
        )
    for last in ["-1", "99999999999999999999", "x", "18446744073709551615"]:
        got = to("GET", f"/api/v1/tasks/{uuid.uuid4()}/events", headers={"Last-Event-ID": last})
        to.check(got.status == 404, f"the events after {last}", got)
    for method in ["TRACE", "CONNECT", "PROPFIND", "get", "A" * 5000]:
        status = status_of(
            raw(to.base, to.head("/api/v1/me", method, "Connection: close\r\n") + b"\r\n", timeout=5)
        )
        to.check(status is None or 400 <= status < 500, f"the method {method[:10]}", status)
    for line in [
        b"GET /health\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\r\n" * 1000,
        b"\xff" * 1000,
        b"GET " + b"/a" * 40_000 + b" HTTP/1.1\r\n\r\n",
    ]:
        status = status_of(raw(to.base, line, timeout=3))
        to.check(status is None or 400 <= status < 500, f"the line {line[:20]!r}", status)
    to.is_well("strange headers")


def slow(to):
    """Clients that send a byte now and then hold their own place only, and not for long."""
    address = urllib.parse.urlsplit(to.base)
    limits = {"headers": 20, "body": 45, "nothing": 20}
    ended = {}

    def drip(what, first, each):
        began = time.monotonic()
        with socket.create_connection((address.hostname, address.port), timeout=1) as link:
            try:
                link.sendall(first)
                while time.monotonic() - began < limits[what] + 5:
                    if each:
                        link.sendall(each)
                    try:
                        if not link.recv(4096):
                            break
                    except TimeoutError:
                        continue
            except OSError:
                pass
        ended.setdefault(what, []).append(time.monotonic() - began)

    body = (
        to.head("/api/v1/ask", "POST", "Content-Type: application/json\r\nContent-Length: 100000\r\n")
        + b"\r\n"
    )
    kinds = [
        ("headers", b"GET /health HTTP/1.1\r\n", b"X: y\r\n"),
        ("body", body, b" "),
        ("nothing", b"", b""),
    ]
    threads = [threading.Thread(target=drip, args=kind) for kind in kinds for _ in range(4)]
    [thread.start() for thread in threads]
    slowest = 0.0
    while any(thread.is_alive() for thread in threads):
        began = time.monotonic()
        answered = to("GET", "/health", timeout=10).status == 200
        slowest = max(slowest, time.monotonic() - began)
        if not to.check(answered, "others are answered meanwhile"):
            break
        threads[0].join(0.5)
        next((thread for thread in threads if thread.is_alive()), threads[0]).join(0.5)
    [thread.join() for thread in threads]
    for what, limit in limits.items():
        to.check(max(ended[what]) < limit, f"slow {what}: closed within {limit} s", ended[what])
    to.check(slowest < 1, "others do not wait for them", f"{slowest:.2f} s")
    print(
        f"  slow clients: closed after {', '.join(f'{max(times):.0f} s ({what})' for what, times in ended.items())}; others waited {slowest * 1000:.0f} ms"
    )
    readers = []
    try:
        for _ in range(8):  # Clients that ask and never read.
            link = socket.create_connection((address.hostname, address.port), timeout=5)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            link.sendall(to.head("/openapi.json") + b"\r\n")
            readers.append(link)
        to.is_well("clients that do not read")
    finally:
        [link.close() for link in readers]


def unchanged(to, read, tries=20):
    """What did not change is not sent again. Work of earlier checks may still change a resource (the list of tools counts
    calls), so an answer with another version in between is read anew."""
    for _ in range(tries):
        got = to("GET", read)
        same = to("GET", read, headers={"If-None-Match": got.headers.get("etag", "none")})
        other = to("GET", read, headers={"If-None-Match": '"something"'})
        if other.headers.get("etag") == got.headers.get("etag"):
            break
        time.sleep(0.25)
    to.check(same.status == 304 and not same.body, f"{read} did not change", same)
    to.check(
        other.status == 200 and other.body == got.body,
        f"{read} for a client with another version",
        other.status,
    )


def twice(to):
    """The same request sent again, at once or later, does nothing twice; what did not change is not sent again."""
    once = {"Idempotency-Key": f"run-{uuid.uuid4()}"}
    path, body = "/api/v1/workflows/human_review/runs", {"input": {"topic": "the plan"}}
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: to("POST", path, body, headers=once), range(10)))
    begun = {answer.json()["task_id"] for answer in answers if answer.status == 202}
    to.check(len(begun) == 1, "ten times the same run is one task", answers)
    to.check(all(answer.status in (202, 409) for answer in answers), "and the others are told so", answers)
    later = to("POST", path, body, headers=once)
    to.check(
        later.status == 202
        and {later.json()["task_id"]} == begun
        and later.headers.get("idempotency-replayed") == "true",
        "later it is the same answer",
        later,
    )
    to.refused(
        "the key of another request", to("POST", path, {"input": {"topic": "something else"}}, headers=once)
    )
    to.refused("the key at another address", to("POST", "/api/v1/turns", {"message": "hello"}, headers=once))
    wrong = {"Idempotency-Key": f"wrong-{uuid.uuid4()}"}
    first, second = (to("POST", "/api/v1/workflows/nothing/runs", body, headers=wrong) for _ in range(2))
    to.check(
        (first.status, first.body) == (second.status, second.body) == (404, first.body),
        "a refusal stays a refusal",
        (first, second),
    )
    for read in ["/api/v1/conversations", "/api/v1/tools", "/api/v1/workflows"]:
        unchanged(to, read)
    to.is_well("the same again")


def everything(to):
    to(
        "POST", "/api/v1/ask", {"message": "What is on my to-do list?"}, timeout=300
    )  # The first answer starts everything.
    for part in [paths, names, bodies, headers, twice, large, bombs, slow]:
        began = time.monotonic()
        part(to)
        print(f"{part.__name__}: {time.monotonic() - began:.1f} s", flush=True)


def main():
    check = Tally()
    if sys.argv[1].startswith("http"):
        everything(Target(sys.argv[1], None, check))
    else:
        with Server(sys.argv[1], "--per-minute", "1000000") as server:
            everything(Target(server.base, server, check))
            told = server.told()
            check("panicked" not in told, "nothing panicked", told)
    check.end("hostile")


if __name__ == "__main__":
    main()
