"""access.py STEWARD_BINARY: nobody sees or does what is not granted.

Generated from the server's own OpenAPI document: every operation for every identity (each role, no key, keys that are revoked, run
out, scoped or of somebody disabled) must answer as `x-needs` and the grants say; then every operation that names a thing is
tried on Ada's things by everybody else. An operation that is new and names a thing this file does not know is a failure.
Then MCP, sessions of the page, hosts and origins, and tokens of an identity provider.
"""

import base64
import http.client
import http.server
import json
import re
import sys
import threading
import time
import uuid

from harness import ROOT, Server, Tally, events, request, wait_for

RIGHTS = ["ask", "tools", "run", "approve", "audit", "admin", "verify"]
# Who there is: the role, how it is granted, and the rights that it gives.
ROLES = {
    "owner": ([], RIGHTS),
    "analyst": (["--domain", "todo"], ["ask", "tools"]),
    "auditor": (["--audit"], ["ask", "audit"]),
    "runner": (["--run", "human_*"], ["ask", "run"]),
    "approver": (["--approve", "todo.*"], ["ask", "approve"]),
    "manager": (["--admin"], ["ask", "audit", "admin", "verify"]),
    "nothing": (["--permission", "unused"], ["ask"]),
}
# A word of Ada's that nobody else may ever read.
SECRET = "zanzibar"
# Where a document of the whole house lists what others own, by grant.
BY_GRANT = {(who, f"/api/v1/{name}") for who in ("approver", "owner") for name in ("approvals", "notices")}
# What those who may decide on a task read of it.
OF_DECIDER = re.compile(r"/api/v1/tasks/\{id\}(/steps|/graph|/events)?")


class House:
    """A server with one user for each role, and Ada, whose things they are after."""

    def __init__(self, server):
        self.server = server
        for role, (grant, _) in ROLES.items():
            if role != "owner":
                server.steward("grants", "add", role, *grant)
        server.steward("users", "add", "ada", "--role", "owner")
        for role in ROLES:
            server.steward("users", "add", f"u_{role}", "--role", role)
        server.steward("users", "add", "gone", "--role", "owner")
        server.steward("users", "add", "lena", "--role", "owner")
        self.ada = server.key("ada")[1]
        # Each is (key, the rights that it must have); no rights at all is 401.
        self.identities = {
            "no key": (None, None),
            "a wrong key": ("stw_aaaaaaaaaa_" + "b" * 43, None),
            "no key at all": ("x", None),
        }
        for role, (_, rights) in ROLES.items():
            self.identities[role] = (server.key(f"u_{role}")[1], rights)
        for right in RIGHTS:
            self.identities[f"owner, only {right}"] = (server.key("u_owner", "--scope", right)[1], [right])
        self.identities["analyst, only admin"] = (server.key("u_analyst", "--scope", "admin")[1], [])
        revoked, key = server.key("u_owner")
        server.steward("keys", "revoke", revoked)
        self.identities["a revoked key"] = (key, None)
        old, key = server.key("u_owner", "--days", "1")
        self.identities["a key that ran out"] = (key, None)
        self._in_keys(old, "expires_at", "2020-01-01T00:00:00Z")
        self.identities["somebody disabled"] = (server.key("lena")[1], None)
        self._disable("lena")
        self.identities["somebody removed"] = (server.key("gone")[1], None)
        server.steward("users", "remove", "gone")

    def _in_keys(self, key, name, value):
        path = self.server.home / "keys/access_keys.json"
        document = json.loads(path.read_text())
        for one in document["keys"]:
            if one["id"] == key:
                one[name] = value
        path.write_text(json.dumps(document))

    def _disable(self, user):
        path = self.server.home / "config/access.yaml"
        text = path.read_text()
        changed = re.sub(
            rf"(?m)^(\s+){user}:\s*$", lambda found: f"{found[0]}\n{found[1] * 2}disabled: true", text
        )
        assert changed != text, text
        path.write_text(changed)

    def __call__(self, method, path, body=None, key=None, **more):
        return request(self.server.base, method, path, body, key=key, **more)


def operations(house):
    document = house("GET", "/openapi.json").json()
    return [
        (method.upper(), path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


def filled(path, of=None):
    """A path with its parameters: of a thing, or of nothing there is."""
    nothing = {"n": "0", "sequence": "1", "name": "nothing_here", "key": "nothing"}
    values = nothing | (of or {})
    return re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1]) or uuid.uuid4()), path)


def every_operation(house, check):
    """Each operation for each identity, on nothing: 401, 403, or past the door."""
    every = operations(house)
    for method, path, operation in every:
        needs = operation["x-needs"]
        body = {} if "application/json" in operation.get("requestBody", {}).get("content", {}) else None
        for who, (key, rights) in house.identities.items():
            got = house(method, filled(path), body, key=key)
            if key and rights is None:
                right = got.status == 401
            elif needs is None:
                right = got.status not in (401, 403) or path == "/api/v1/session"
            elif rights is None:
                right = got.status == 401
            elif needs not in rights:
                right = got.status == 403
            else:
                right = got.status < 500 and got.status not in (401, 403)
            check(right, f"{method} {path} (needs {needs}) for {who}", got)
            if got.status in (401, 403):
                check(
                    got.is_problem() or path.startswith("/v1/"),
                    f"{method} {path} for {who}: a problem that says what to do",
                    got,
                )
            if got.status == 401:
                check(
                    "www-authenticate" in got.headers, f"{method} {path} for {who}: 401 has WWW-Authenticate"
                )
    for who, (key, rights) in house.identities.items():
        for path in ["/metrics", "/mcp"]:
            got = house("GET", path, key=key)
            if rights is None:
                check(got.status == 401, f"GET {path} for {who}", got)
        if rights is not None:
            got = house("GET", "/metrics", key=key)
            check(got.status == (200 if "admin" in rights else 403), f"GET /metrics for {who}", got)
            if "ask" in rights:
                may = house("GET", "/api/v1/me", key=key).json()["may"]
                check([one for one in RIGHTS if may[one]] == rights, f"/me says what {who} may", may)
    print(f"{len(every)} operations x {len(house.identities)} identities")


def adas_things(house, check):
    """One of everything that somebody can own, with its ids."""
    key = house.ada
    asked = house(
        "POST", "/api/v1/ask", {"message": f"Add a task called {SECRET}"}, key=key, timeout=180
    ).json()
    things = {"conversations": asked["conversation_id"], "asked": asked["task_id"]}
    taken = house("POST", "/api/v1/turns", {"message": f"Find the task {SECRET}"}, key=key).json()
    things["turns"] = taken["turn_id"]
    heard = events(house.server.base, taken["events"], key=key)
    check(heard and heard[-1][1] == "done", "Ada hears her own turn", heard)
    upload = house(
        "POST", "/api/v1/uploads?name=sales.csv", f"month,amount\n{SECRET},10\nMar,40\n".encode(), key=key
    )
    things["uploads"] = upload.json()["id"]
    data = {"message": "Show sales by month", "data": [f"upload:{things['uploads']}"]}
    analysed = house("POST", "/api/v1/ask", data, key=key, timeout=180).json()
    things["analysed"] = analysed["task_id"]
    shown = house("GET", f"/api/v1/tasks/{analysed['task_id']}", key=key).json()["artifacts"]
    check(shown, "an analysis leaves an artifact", shown)
    things["artifact"] = shown[0]["artifact_id"]
    decided = house("GET", "/api/v1/executions", key=key).json()["items"]
    things["executions"] = decided[0]["id"]
    waits = house("POST", "/api/v1/tools/todo.delete_task/calls", {"arguments": {"id": 1}}, key=key)
    check(waits.status == 202, "a deletion waits for a person", waits)
    things["approvals"] = waits.json()["waiting"]
    house.shown = waits.json()["digest"]
    unseen = house("POST", f"/api/v1/approvals/{things['approvals']}", {"decision": "approve"}, key=key)
    check(400 <= unseen.status < 500, "a decision names the digest of what was shown", unseen)
    other = house(
        "POST",
        f"/api/v1/approvals/{things['approvals']}",
        {"decision": "approve", "digest": "0" * 64},
        key=key,
    )
    check(400 <= other.status < 500, "and a decision over something else is refused", other)
    run = house("POST", "/api/v1/workflows/human_review/runs", {"input": {"topic": SECRET}}, key=key)
    check(run.status == 202, "Ada runs a workflow", run)
    things["run"] = run.json()["task_id"]
    when = {"cadence": "0 8 * * 1", "workflow": "human_review", "input": {"topic": SECRET}, "name": SECRET}
    planned = house("POST", "/api/v1/schedules", when, key=key)
    check(planned.status == 201, "Ada plans a workflow", planned)
    things["schedules"] = planned.json()["id"]
    pinned = house("POST", "/api/v1/boards", {"name": SECRET}, key=key)
    check(pinned.status == 201, "Ada makes a board", pinned)
    things["boards"] = pinned.json()["id"]
    tiled = house(
        "POST",
        f"/api/v1/boards/{things['boards']}/tiles",
        {"task_id": things["analysed"], "title": SECRET},
        key=key,
        timeout=180,
    )
    check(tiled.status == 201, "Ada pins an answer", tiled)
    things["tile"] = tiled.json()["tiles"][0]["id"]
    linked = house("POST", f"/api/v1/boards/{things['boards']}/links", {"hours": 1}, key=key)
    check(linked.status == 201, "Ada makes a link", linked)
    things["link"], house.embed = linked.json()["link"]["id"], linked.json()["address"]
    for path in [
        "boards/{boards}",
        "boards/{boards}/view",
        "boards/{boards}/export",
        "conversations/{conversations}",
        "schedules/{schedules}",
        "turns/{turns}",
        "tasks/{asked}",
        "tasks/{analysed}/reply",
        "executions/{executions}",
        "artifacts/{analysed}/{artifact}",
        "audit/chains/{conversations}/entries",
        "audit/proofs/{asked}/1",
        "tasks/{run}/trace",
    ]:
        got = house("GET", "/api/v1/" + path.format(**things), key=key)
        check(got.status == 200, f"Ada sees her own {path}", got)
    return things


def with_things(path, things):
    """The ways to fill a path with Ada's things; None when it names something that is not known here."""
    task = [{"id": things[name]} for name in ("asked", "analysed", "run", "approvals")]
    chain = [{"chain": things[name]} for name in ("conversations", "asked", "run")]
    known = [
        (r"/conversations/\{id\}", [{"id": things["conversations"]}]),
        (r"/turns/\{id\}", [{"id": things["turns"]}]),
        (r"/boards/\{id\}", [{"id": things["boards"], "tile": things["tile"], "link": things["link"]}]),
        # A link is its own proof; what it shows is looked at below.
        (r"/embed/\{token\}", []),
        (r"/schedules/\{id\}", [{"id": things["schedules"]}]),
        # Verified answers are for all to read, and feedback is for those who verify.
        (r"/(alerts|verified|feedback)/\{id\}", []),
        (r"/uploads/\{id\}", [{"id": things["uploads"]}]),
        (r"/executions/\{id\}", [{"id": things["executions"]}]),
        (r"/approvals/\{id\}", [{"id": things["approvals"]}]),
        (r"/artifacts/\{task\}/\{id\}", [{"task": things["analysed"], "id": things["artifact"]}]),
        (r"/tasks/\{id\}", task),
        (r"/audit/(chains|proofs)/\{chain\}", chain),
        (r"/tools/\{name\}", [{"name": "crm.find_contacts"}]),
        (r"/workflows/\{name\}", [{"name": "sequential"}]),
        (r"/(admin/keys|recipes)/\{(key|id)\}", []),
        (r"/(admin/(users|roles|servers)|shared)/\{", []),
    ]
    found = [ways for pattern, ways in known if re.search(pattern, path)]
    return found[0] if found else None


def adas_things_for_others(house, check, things):
    """Everybody else, on everything of Ada's: it is not there."""
    boards = {"/links": {"hours": 1}, "/tiles": {"text": "x"}, "/boards": {"name": "x"}}
    bodies = boards | {
        "fork": {"steps": 1},
        "/share": {"hours": 1},
        "/signals": {"data": 1},
        "approvals": {"decision": "reject", "digest": house.shown},
        "calls": {"arguments": {}},
        "runs": {"input": {}},
    }
    tried = 0
    every = operations(house)
    for method, path, operation in every:
        if "{" not in path:
            continue
        ways = with_things(path, things)
        check(ways is not None, f"{path} names something that this test knows")
        for who, (key, rights) in house.identities.items():
            if rights is None or not rights:
                continue
            for way in ways or []:
                body = next(
                    (body for name, body in bodies.items() if name in path),
                    {"status": "archived"} if method == "PATCH" else None,
                )
                granted = who.startswith("owner") and ("tools" in path or "workflows" in path)
                granted |= "approvals" in path and ("approve" in rights) and who != "analyst"
                decidable = [things["approvals"]] + [things["run"]] * who.startswith("owner")
                granted |= (
                    method == "GET"
                    and bool(OF_DECIDER.fullmatch(path))
                    and "approve" in rights
                    and way["id"] in decidable
                )
                granted |= who == "runner" and "workflows" in path and way["name"].startswith("human_")
                if granted:
                    continue
                got = house(method, filled(path, way), body, key=key)
                wanted = (404,) if operation["x-needs"] in rights else (403,)
                # A tool that is not granted may be there for policy's refusal, and not for more.
                wanted += (403,) if path.endswith("/calls") else ()
                check(got.status in wanted, f"{method} {path} on Ada's for {who}", got)
                check(
                    SECRET.encode() not in got.body, f"{method} {path} on Ada's for {who} tells nothing", got
                )
                tried += 1
    named = [value for value in things.values()]
    for method, path, operation in every:
        if method != "GET" or "{" in path:
            continue
        for who, (key, rights) in house.identities.items():
            if rights is None or operation["x-needs"] not in rights or (who.split(",")[0], path) in BY_GRANT:
                continue
            for query in ["", f"?search={SECRET}", f"?conversation_id={things['conversations']}"]:
                got = house("GET", path + query, key=key)
                told = [value for value in named + [SECRET] if value.encode() in got.body]
                check(not told, f"GET {path}{query} shows {who} nothing of Ada's", told)
                tried += 1
    by_words(house, check, things)
    shown = house("GET", house.embed)
    check(
        shown.status == 200 and SECRET.encode() in shown.body, "a link shows Ada's board without a key", shown
    )
    check(
        b"<script" not in shown.body and "sandbox" in shown.headers["content-security-policy"],
        "as a page that can do nothing",
        shown.headers,
    )
    check(house("GET", house.embed + "x").status == 404, "a link that was changed shows nothing")
    ended = house("DELETE", f"/api/v1/boards/{things['boards']}/links/{things['link']}", key=house.ada)
    check(
        ended.status == 204 and house("GET", house.embed).status == 404, "nor does one that was ended", ended
    )
    for path in [
        "boards/{boards}",
        "conversations/{conversations}",
        "turns/{turns}",
        "tasks/{run}",
        "tasks/{approvals}",
    ]:
        got = house("GET", "/api/v1/" + path.format(**things), key=house.ada)
        check(got.status == 200, f"after all that Ada still has her {path}", got)
    kept = house("GET", "/api/v1/uploads", key=house.ada).json()["items"]
    check([one["id"] for one in kept] == [things["uploads"]], "and her upload", kept)
    waiting = house("GET", f"/api/v1/tasks/{things['approvals']}", key=house.ada).json()["task"]
    check(waiting["status"] == "paused", "and her call still waits", waiting)
    print(f"{tried} tries on Ada's things by others")


def by_words(house, check, things):
    """Ada's ids inside bodies."""
    talk = things["conversations"]
    for who in ["analyst", "nothing", "owner"]:
        key = house.identities[who][0]
        for path, body in [
            ("/api/v1/ask", {"message": "What did I say?", "conversation_id": talk}),
            ("/api/v1/agents/orchestrator/invoke", {"message": "What did I say?", "conversation_id": talk}),
            ("/api/v1/agents/validation/check", {"message": "Mark it as done", "conversation_id": talk}),
            ("/api/v1/agents/conversation/resolve-references", {"message": "it", "conversation_id": talk}),
            ("/api/v1/ask", {"message": "Show sales by month", "data": [f"upload:{things['uploads']}"]}),
            (
                "/v1/responses",
                {
                    "model": "steward",
                    "input": "Mark it as done",
                    "previous_response_id": f"resp_{talk.replace('-', '')}_x",
                },
            ),
        ]:
            got = house("POST", path, body, key=key, timeout=120)
            check(
                got.status == 404 and SECRET.encode() not in got.body, f"{path} with Ada's ids for {who}", got
            )
        turn = house(
            "POST", "/api/v1/turns", {"message": "What did I say?", "conversation_id": talk}, key=key
        )
        if turn.status == 202:
            heard = events(house.server.base, turn.json()["events"], key=key)
            told = json.dumps(heard)
            check(
                '"problem"' in told and SECRET not in told, f"a turn in Ada's conversation for {who}", heard
            )
        if who != "owner":
            for source in [
                "/etc/passwd",
                "../../keys/session.key",
                "sqlite:/etc/passwd",
                "http://127.0.0.1:1/x.csv",
            ]:
                got = house("POST", "/api/v1/ask", {"message": "Count the rows", "data": [source]}, key=key)
                check(got.status == 403, f"{who} names {source}", got)
    before = len(house("GET", f"/api/v1/conversations/{talk}", key=house.ada).json()["messages"])
    said = house("GET", f"/api/v1/conversations/{talk}", key=house.ada).json()["messages"]
    history = [
        {"role": "user" if one["role"] == "user" else "assistant", "content": one["content"]} for one in said
    ]
    body = {"model": "steward", "messages": history + [{"role": "user", "content": "Mark it as done"}]}
    house("POST", "/v1/chat/completions", body, key=house.identities["analyst"][0], timeout=120)
    after = len(house("GET", f"/api/v1/conversations/{talk}", key=house.ada).json()["messages"])
    check(before == after, "Ada's history, sent by another, does not reach her conversation", (before, after))


def granted_tools(house, check):
    """The analyst holds the domain todo: nothing else is there, whichever way they come."""
    key = house.identities["analyst"][0]
    tools = [one["name"] for one in house("GET", "/api/v1/tools", key=key).json()["items"]]
    check(
        tools and all(name.startswith("todo.") for name in tools), "/tools shows the analyst todo only", tools
    )
    found = [
        one["name"]
        for one in house("GET", "/api/v1/tools?search=find+contacts+of+customers", key=key).json()["items"]
    ]
    check(all(name.startswith("todo.") for name in found), "nor by searching", found)
    domains = [one["name"] for one in house("GET", "/api/v1/domains", key=key).json()["items"]]
    check(domains == ["todo"], "/domains, too", domains)
    servers = [one["name"] for one in house("GET", "/api/v1/servers", key=key).json()["items"]]
    check(servers == ["todo"], "/servers, too", servers)
    got = house("POST", "/api/v1/tools/todo.list_tasks/calls", {"arguments": {}}, key=key)
    check(got.status == 200, "what is granted can be called", got)
    told = house(
        "POST", "/api/v1/ask", {"message": "List all companies of the customers"}, key=key, timeout=120
    )
    check(told.status == 200 and b"crm." not in told.body, "asking reaches no tool of another domain", told)
    for who in ["nothing", "auditor"]:
        key = house.identities[who][0]
        tools = house("GET", "/api/v1/tools", key=key).json()["items"]
        check(not tools, f"no tools for {who}", tools)
        told = house(
            "POST", "/api/v1/ask", {"message": "What is on my to-do list?"}, key=key, timeout=120
        ).json()
        check(not told.get("tool_calls_made"), f"asking calls nothing for {who}", told)
    models = [one["id"] for one in house("GET", "/v1/models", key=key).json()["data"]]
    check("steward/assistant" not in models, "agents that may not be run are no models", models)
    body = {"model": "steward/assistant", "messages": [{"role": "user", "content": "hello"}]}
    check(house("POST", "/v1/chat/completions", body, key=key).status == 404, "and cannot be asked")
    runs = [
        one["name"]
        for one in house("GET", "/api/v1/workflows", key=house.identities["runner"][0]).json()["items"]
    ]
    check(runs == ["human_approval", "human_review"], "/workflows shows the runner what is granted", runs)
    lines = house("GET", "/api/v1/approvals", key=house.identities["approver"][0]).json()["items"]
    check(
        [one["tool"] for one in lines] == ["todo.delete_task"],
        "the approver sees what they may decide on",
        lines,
    )
    secret = house.server.home / "keys/session.key"
    check(secret.stat().st_mode & 0o077 == 0, "the secret of sessions is its owner's only")
    kept = (house.server.home / "keys/access_keys.json").read_text()
    check(
        not any(key and key.split("_")[-1] in kept for key, rights in house.identities.values() if rights),
        "no key is kept",
    )
    shown = house("GET", "/api/v1/admin/keys", key=house.ada).body
    check(b"sha256" not in shown, "nor its hash shown")


def elevation(house, check):
    """Keys that are made by keys never open more."""
    key = house.identities["owner, only admin"][0]
    for body in [{"user": "ada", "name": "x"}, {"user": "u_owner", "name": "x", "scopes": ["ask"]}]:
        got = house("POST", "/api/v1/admin/keys", body, key=key)
        check(got.status == 403, "a scoped key makes no wider one", got)
    got = house(
        "POST", "/api/v1/admin/keys", {"user": "ada", "name": "x"}, key=house.identities["manager"][0]
    )
    check(got.status == 403, "who may make keys makes none that opens more than they hold", got)
    made = house("POST", "/api/v1/admin/keys", {"user": "u_analyst", "name": "x", "days": 1}, key=house.ada)
    check(made.status == 201, "the owner makes a key", made)
    check(house("GET", "/api/v1/me", key=made.json()["key"]).json()["user"] == "u_analyst", "and it opens")
    check(
        house("DELETE", f"/api/v1/admin/keys/{made.json()['id']}", key=house.ada).status == 204,
        "and is revoked",
    )
    check(
        house("GET", "/api/v1/me", key=made.json()["key"]).status == 401,
        "and opens nothing from the next request on",
    )


def odds_and_ends(house, check, things):
    """Lists that end where they end, places that are nobody's business, and calls of people who are gone."""
    key = house.identities["nothing"][0]
    talks = [
        house("POST", "/api/v1/ask", {"message": "hello"}, key=key).json()["conversation_id"]
        for _ in range(4)
    ]
    house("DELETE", f"/api/v1/conversations/{talks[-1]}", key=key)
    seen, cursor = [], ""
    for _ in range(20):
        page = house("GET", f"/api/v1/conversations?limit=1&cursor={cursor}", key=key).json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next"]
        if not cursor:
            break
    check(
        set(talks[:-1]) <= set(seen) and talks[-1] not in seen,
        "a list goes on behind what was deleted",
        (talks, seen),
    )
    data = {"message": "Show sales by month", "data": [f"upload:{things['uploads']}"]}
    home = str(house.server.home).encode()
    live = house("POST", "/api/v1/ask", data, key=house.ada)
    check(
        live.status == 200 and home not in live.body,
        "a reply does not tell where things lie",
        live.body[max(0, live.body.find(home) - 60) :][:200],
    )
    for path in [
        "tasks/{analysed}",
        "tasks/{analysed}/reply",
        "artifacts/{analysed}/{artifact}",
        "conversations/{conversations}",
    ]:
        got = house("GET", "/api/v1/" + path.format(**things), key=house.ada)
        check(got.status == 200 and home not in got.body, f"nor does {path}", got)
    leaver = (
        house.server.steward("users", "add", "leaver", "--role", "analyst") and house.server.key("leaver")[1]
    )
    wait_for(lambda: house("GET", "/api/v1/me", key=leaver).status == 200, 5)
    waits = house("POST", "/api/v1/tools/todo.delete_task/calls", {"arguments": {"id": 3}}, key=leaver).json()
    house.server.steward("users", "remove", "leaver")
    wait_for(lambda: house("GET", "/api/v1/me", key=leaver).status == 401, 5)
    body = {"decision": "approve", "digest": waits["digest"]}
    got = house("POST", f"/api/v1/approvals/{waits['waiting']}", body, key=house.ada)
    check(
        400 <= got.status < 500,
        "a call of somebody who is gone is not made with what the approver holds",
        got,
    )


def many_keys(house, check):
    """Keys that are made and revoked at once are all there, and all revoked."""
    made, lock = [], threading.Lock()

    def make(number):
        got = house("POST", "/api/v1/admin/keys", {"user": "ada", "name": f"k{number}"}, key=house.ada)
        with lock:
            made.append(got)

    def at_once(work, many):
        threads = [threading.Thread(target=work, args=(one,)) for one in many]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    at_once(make, range(24))
    check(
        all(one.status == 201 for one in made),
        "24 keys at once",
        [one for one in made if one.status != 201][:1],
    )
    keys = [one.json() for one in made if one.status == 201]
    opens = [house("GET", "/api/v1/me", key=one["key"]).status for one in keys]
    check(all(status == 200 for status in opens), "each of them opens", opens)
    at_once(lambda one: house("DELETE", f"/api/v1/admin/keys/{one['id']}", key=house.ada), keys)
    opens = [house("GET", "/api/v1/me", key=one["key"]).status for one in keys]
    check(all(status == 401 for status in opens), "and none, once all are revoked", opens)


class Mcp:
    """A client of MCP over Streamable HTTP, as small as it can be. It says yes to whatever it is asked."""

    def __init__(self, house, key):
        self.house, self.key, self.session, self.said_yes = house, key, None, 0
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"},
        }
        opened = self._post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
        self.session, self.status = opened.headers.get("mcp-session-id"), opened.status
        opened.close()
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}).close()

    def _post(self, message):
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self.key}"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "Mcp-Protocol-Version": "2025-06-18"}
        link = http.client.HTTPConnection(self.house.server.base.removeprefix("http://"), timeout=60)
        link.request("POST", "/mcp", json.dumps(message), headers)
        return link.getresponse()

    def call(self, method, params=None):
        """The answer: `result`, or `error`."""
        answer = self._post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}})
        if answer.status != 200:
            return {"error": {"code": answer.status, "message": answer.read().decode()}}
        for line in answer:
            line = line.decode().removeprefix("data:").strip()
            if not line.startswith("{"):
                continue
            told = json.loads(line)
            if told.get("method") == "elicitation/create":
                self.said_yes += 1
                yes = {"action": "accept", "content": {"agree": True}}
                self._post({"jsonrpc": "2.0", "id": told["id"], "result": yes}).close()
            elif told.get("id") == 7:
                answer.close()
                return told
        return {"error": {"code": 0, "message": "no answer"}}

    def tool(self, name, /, **arguments):
        """What a tool gave, as text; None when it was refused."""
        told = self.call("tools/call", {"name": name, "arguments": arguments})
        result = told.get("result")
        return None if result is None or result.get("isError") else json.dumps(result)


def over_mcp(house, check, things):
    """What is granted over HTTP is granted over MCP, and no more."""
    ada, analyst = Mcp(house, house.ada), Mcp(house, house.identities["analyst"][0])
    tools = [one["name"] for one in analyst.call("tools/list")["result"]["tools"]]
    foreign = [name for name in tools if re.match(r"(crm|notes|library|fleet|hotel)\b", name)]
    check(tools and not foreign, "tools/list shows the analyst what is granted", tools)
    found = analyst.tool("tools_search", request="find contacts of customers")
    check(found and "crm." not in found, "nor does a search", found)
    check(
        "crm." in (ada.tool("tools_search", request="find contacts of customers") or ""),
        "which finds it for Ada",
    )
    check(ada.tool("tools_call", tool="crm.find_contacts", arguments={}) is not None, "Ada calls it")
    check(
        analyst.tool("tools_call", tool="todo.list_tasks", arguments={}) is not None,
        "the analyst calls what is granted",
    )
    for name, arguments in [
        ("tools_call", {"tool": "crm.find_contacts", "arguments": {}}),
        ("crm.find_contacts", {}),
        ("run_workflow", {"name": "human_review", "input": {}}),
        ("task_status", {"task": things["asked"]}),
        ("approvals_decide", {"task": things["approvals"], "digest": house.shown, "decision": "reject"}),
        ("approvals_decide", {"task": things["approvals"], "digest": house.shown, "decision": "approve"}),
        ("ask", {"question": "How many rows?", "data": ["/etc/passwd"]}),
        ("analyse", {"data": ["/etc/passwd"], "table": "passwd"}),
    ]:
        got = analyst.tool(name, **arguments)
        check(got is None, f"{name} {arguments} is refused to the analyst", got)
    check(
        things["approvals"] not in (analyst.tool("approvals_list") or ""),
        "nor is Ada's call shown as waiting",
    )
    yes = analyst.said_yes
    got = analyst.tool("tools_call", tool="todo.delete_task", arguments={"id": 2})
    check(
        got is None,
        "who may not approve does not approve their own calls by asking themselves",
        (got, analyst.said_yes - yes),
    )
    files = house.server.home / "artifacts"
    hers = [
        f"artifact://{file.relative_to(files)}"
        for file in files.rglob("*.*")
        if file.is_file() and SECRET.encode() in file.read_bytes()
    ]
    for who in ["analyst", "nothing", "manager"]:
        other = Mcp(house, house.identities[who][0])
        listed = json.dumps(other.call("resources/list"))
        check(
            not any(value in listed for value in things.values()),
            f"resources/list shows {who} nothing of Ada's",
            listed,
        )
        read = [uri for uri in hers if "error" not in other.call("resources/read", {"uri": uri})]
        check(hers and not read, f"Ada's {len(hers)} files are not there for {who}", read)
    reply = f"artifact://replies/{things['asked']}.json"
    listed = [one["uri"] for one in ada.call("resources/list").get("result", {}).get("resources", [])]
    check(reply in listed, "Ada's own are listed for her", listed)
    check("result" in ada.call("resources/read", {"uri": reply}), "and she reads them")
    for path in [
        "artifact://../keys/session.key",
        "artifact://replies/../../keys/session.key",
        "file:///etc/passwd",
    ]:
        check("error" in ada.call("resources/read", {"uri": path}), f"{path} is no resource")
    analyst.session, kept = ada.session, analyst.session
    got = analyst.call("tools/list")
    check("error" in got, "Ada's session is not there for others", got)
    analyst.session = kept
    for right in ["ask", "audit", "approve", "admin"]:
        cut = Mcp(house, house.identities[f"owner, only {right}"][0])
        got = cut.tool("tools_call", tool="todo.list_tasks", arguments={})
        check(got is None, f"a key for {right} only calls no tool over MCP", got)
        got = cut.tool("run_workflow", name="human_review", input={"topic": "x"})
        check(got is None, "nor does it run anything", got)
    print(f"MCP: {len(tools)} tools for the analyst")


def over_agents(house, check, things):
    """A2A and AG-UI: another's task and context are not there."""
    if house("GET", "/.well-known/agent-card.json").status != 200:
        return

    def rpc(key, method, **params):
        return house(
            "POST",
            "/a2a",
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            key=key,
            timeout=120,
        )

    def message(text, **more):
        return {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]} | more

    other = house.identities["analyst"][0]
    mine = rpc(house.ada, "SendMessage", message=message(f"Find the task {SECRET}")).json()["result"]["task"]
    for method in [
        "GetTask",
        "tasks/get",
        "CancelTask",
        "tasks/cancel",
        "SubscribeToTask",
        "tasks/resubscribe",
    ]:
        got = rpc(other, method, id=mine["id"])
        check(got.json().get("error", {}).get("code") == -32001, f"A2A {method} on Ada's task", got)
    got = rpc(other, "SendMessage", message=message("And?", taskId=mine["id"]))
    check("error" in got.json(), "A2A: a message to Ada's task", got)
    for context in [mine["contextId"], things["conversations"]]:
        got = rpc(other, "ListTasks", contextId=context)
        check(mine["id"] not in got.body.decode(), "A2A: the list of another's context", got)
        before = len(
            house("GET", f"/api/v1/conversations/{things['conversations']}", key=house.ada).json()["messages"]
        )
        got = rpc(other, "SendMessage", message=message("What did I say?", contextId=context))
        check(SECRET.encode() not in got.body, "A2A: a message in Ada's context", got)
        run = {
            "threadId": context,
            "runId": "1",
            "messages": [{"id": "1", "role": "user", "content": "What did I say?"}],
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        got = house("POST", "/agui", run, key=other, timeout=120)
        check(SECRET.encode() not in got.body, "AG-UI: a message in Ada's thread", got)
        after = len(
            house("GET", f"/api/v1/conversations/{things['conversations']}", key=house.ada).json()["messages"]
        )
        check(before == after, "and nothing of it reaches Ada's conversation", (before, after))
    card = house("GET", "/.well-known/agent-card.json").json()
    check(
        [skill["id"] for skill in card["skills"]] == ["ask"],
        "the card tells strangers no domains",
        card["skills"],
    )
    print("A2A and AG-UI")


def sessions(house, check):
    identifier, key = house.server.key("u_analyst")
    base = house.server.base
    host = base.removeprefix("http://")
    # A key that another process made is found after a moment.
    wait_for(lambda: house("GET", "/api/v1/me", key=key).status == 200, 5)
    got = house("POST", "/api/v1/session", {"key": key})
    cookie = got.headers.get("set-cookie", "")
    check(got.status == 204 and cookie, "signing in gives a cookie", got)
    flags = {part.strip().split("=")[0].lower() for part in cookie.split(";")[1:]}
    check(
        {"httponly", "samesite", "path", "max-age"} <= flags and "SameSite=Strict" in cookie,
        "with its flags",
        cookie,
    )
    check(key not in cookie, "the key is not in it")
    value = cookie.split(";")[0]
    me = house("GET", "/api/v1/me", headers={"Cookie": value})
    check(me.status == 200 and me.json()["signed_in_with"] == "session", "the cookie opens", me)
    csrf = me.json()["csrf"]
    other = house("GET", "/api/v1/me", key=house.ada).json()["csrf"]
    say = {"message": "hello"}
    for what, headers, wanted in [
        ("without the token", {}, 403),
        ("with a wrong token", {"X-CSRF-Token": "x" * 43}, 403),
        ("with Ada's token", {"X-CSRF-Token": other}, 403),
        ("with an empty token", {"X-CSRF-Token": ""}, 403),
        ("with the token from another origin", {"X-CSRF-Token": csrf, "Origin": "http://evil.example"}, 403),
        ("with the token from no origin", {"X-CSRF-Token": csrf, "Origin": "null"}, 403),
        ("with the token from another port", {"X-CSRF-Token": csrf, "Origin": "http://127.0.0.1:1"}, 403),
        ("with the token from the page", {"X-CSRF-Token": csrf, "Origin": base}, 200),
        ("with the token", {"X-CSRF-Token": csrf}, 200),
    ]:
        got = house("POST", "/api/v1/ask", say, headers={"Cookie": value} | headers, timeout=120)
        check(got.status == wanted, f"a session {what}: {wanted}", got)
    for method, path in [
        ("DELETE", f"/api/v1/conversations/{uuid.uuid4()}"),
        ("PATCH", f"/api/v1/conversations/{uuid.uuid4()}"),
        ("DELETE", "/api/v1/session"),
    ]:
        got = house(method, path, headers={"Cookie": value})
        check(got.status == 403, f"{method} {path.split('/')[3]} needs the token", got)
    name, signed = value.split("=", 1)
    first, session, until, signature = signed.split(".")
    for what, wrong in [
        ("with another key", f"{identifier[::-1]}.{session}.{until}.{signature}"),
        ("with another session", f"{first}.{session[::-1]}.{until}.{signature}"),
        ("with more time", f"{first}.{session}.{int(until) + 1}.{signature}"),
        ("with another signature", f"{first}.{session}.{until}.{signature[::-1]}"),
        ("without signature", f"{first}.{session}.{until}."),
        ("empty", ""),
    ]:
        got = house("GET", "/api/v1/me", headers={"Cookie": f"{name}={wrong}"})
        check(got.status == 401, f"a cookie {what} opens nothing", got)
    # A session of its own has a token of its own, and ends at sign-out for whoever holds its cookie.
    again = house("POST", "/api/v1/session", {"key": key}).headers["set-cookie"].split(";")[0]
    second = house("GET", "/api/v1/me", headers={"Cookie": again}).json()["csrf"]
    check(second != csrf, "each session has a token of its own")
    got = house("POST", "/api/v1/ask", say, headers={"Cookie": again, "X-CSRF-Token": csrf}, timeout=120)
    check(got.status == 403, "the token of one session is none of another", got)
    got = house("DELETE", "/api/v1/session", headers={"Cookie": again, "X-CSRF-Token": second})
    check(got.status == 204, "signing out is answered", got)
    got = house("GET", "/api/v1/me", headers={"Cookie": again})
    check(got.status == 401, "a cookie opens nothing after signing out", got)
    check(house("GET", "/api/v1/me", headers={"Cookie": value}).status == 200, "other sessions go on")
    house.server.steward("keys", "revoke", identifier)
    closed = wait_for(lambda: house("GET", "/api/v1/me", headers={"Cookie": value}).status == 401, 5)
    check(closed, "a session ends with its key")
    for bad in ["", "x", "stw_", "stw_a_b", "\u0000", key]:
        got = house("POST", "/api/v1/session", {"key": bad})
        check(got.status == 401, f"signing in with {bad[:12]!r}", got)
    for what, headers, wanted in [
        ("another host", {"Host": "evil.example"}, 421),
        ("another host with our port", {"Host": host.replace("127.0.0.1", "evil.example")}, 421),
        ("a host that begins like ours", {"Host": "127.0.0.1.evil.example"}, 421),
        ("a host with a user", {"Host": f"{host}@evil.example"}, 421),
        ("our name", {"Host": host.replace("127.0.0.1", "localhost")}, 200),
        ("another origin", {"Origin": "http://evil.example"}, 403),
        ("an origin that is not text", {"Origin": "http://evil\xff"}, 403),
    ]:
        for path in ["/api/v1/me", "/mcp"]:
            got = house("GET", path, key=house.ada, headers=headers)
            refused = got.status in (403, 421) if path == "/mcp" else got.status == wanted
            right = refused if wanted != 200 else got.status not in (401, 403, 421)
            check(right, f"{path} for {what}: {wanted}", got)
    print("sessions, hosts and origins")


def loopback(binary, check):
    """One person's machine: whoever truly comes over loopback owns it, and pages need the token."""
    with Server(binary, "--behind-tls", apps=False) as server:
        base, me = server.base, request(server.base, "GET", "/api/v1/me")
        check(
            me.status == 200 and me.json()["signed_in_with"] == "loopback", "the machine is its owner's", me
        )
        for header in ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"]:
            got = request(base, "GET", "/api/v1/me", headers={header: "127.0.0.1"})
            check(got.status == 401, f"{header} does not make an owner", got)
        for headers in [
            {"Origin": base},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-origin"},
        ]:
            got = request(base, "POST", "/api/v1/audit/verify", headers=headers)
            check(got.status == 403, f"a page needs the token {headers}", got)
        good = {"Origin": base, "X-CSRF-Token": me.json()["csrf"]}
        check(
            request(base, "POST", "/api/v1/audit/verify", headers=good).status == 200,
            "and gets through with it",
        )
        key = server.key("local")[1]
        signed_in = lambda: (
            (got := request(base, "POST", "/api/v1/session", {"key": key})).status == 204 and got
        )
        got = wait_for(signed_in, 5)
        check(
            got and "Secure" in got.headers.get("set-cookie", ""),
            "behind TLS the cookie is for TLS only",
            got,
        )
        page = request(base, "GET", "/")
        policy = page.headers.get("content-security-policy", "")
        check(
            "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy,
            "the page's policy",
            policy,
        )
        server.steward("users", "add", "ada", "--role", "owner")
        closed = wait_for(lambda: request(base, "GET", "/api/v1/me").status == 401, 5)
        check(closed, "with the first user loopback alone is nobody")
        check(
            request(base, "GET", "/api/v1/me", key=key).status == 401,
            "and the owner's key from before opens nothing",
        )
    print("one person's machine")


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Provider:
    """An identity provider: its keys at an address, and tokens signed with them."""

    def __init__(self):
        from cryptography.hazmat.primitives.asymmetric import rsa

        self.make = lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.keys, self.asked = {"one": self.make(), "for-encryption": self.make()}, 0
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                provider.asked += self.path == "/jwks"
                about = {"issuer": provider.base, "jwks_uri": f"{provider.base}/jwks"}
                body = json.dumps(provider.jwks() if self.path == "/jwks" else about).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def jwks(self):
        numbers = {kid: key.public_key().public_numbers() for kid, key in self.keys.items()}
        pack = lambda number: b64(number.to_bytes((number.bit_length() + 7) // 8, "big"))
        use = lambda kid: "enc" if kid == "for-encryption" else "sig"
        return {
            "keys": [
                {"kty": "RSA", "kid": kid, "alg": "RS256", "use": use(kid), "n": pack(n.n), "e": pack(n.e)}
                for kid, n in numbers.items()
            ]
        }

    def token(self, kid="one", key=None, alg="RS256", sign=None, header=None, **claims):
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        now = int(time.time())
        claims = {
            "iss": self.base,
            "aud": "steward",
            "sub": "bob-at-idp",
            "exp": now + 600,
            "iat": now,
        } | claims
        claims = {name: value for name, value in claims.items() if value is not None}
        signed = f"{b64(json.dumps({'alg': alg, 'kid': kid, 'typ': 'JWT'} | (header or {})).encode())}.{b64(json.dumps(claims).encode())}"
        if sign is not None:
            return f"{signed}.{b64(sign(signed.encode()))}"
        return f"{signed}.{b64((key or self.keys[kid]).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def tokens(binary, check):
    """Tokens of an identity provider."""
    try:
        provider = Provider()
    except ImportError:
        print("tokens: skipped, the package cryptography is not there")
        return
    import hashlib
    import hmac

    from cryptography.hazmat.primitives import serialization

    server = Server(binary, apps=False)
    server.steward("grants", "add", "analyst", "--domain", "todo")
    server.steward(
        "users", "add", "bob", "--role", "analyst", "--subject", "bob-at-idp", "--subject", "bob@idp.example"
    )
    access = server.home / "config/access.yaml"
    access.write_text(access.read_text() + f"\noidc:\n  issuer: {provider.base}\n  audience: steward\n")
    with server:
        ask = lambda token: request(server.base, "GET", "/api/v1/me", key=token)
        got = ask(provider.token(exp=2**63 - 1))
        check(got.status in (200, 401), "an end in the far future breaks nothing", got)
        good = ask(provider.token())
        check(
            good.status == 200 and good.json()["user"] == "bob" and good.json()["signed_in_with"] == "token",
            "a good token opens",
            good,
        )
        check(ask(provider.token(aud=["other", "steward"])).status == 200, "one of several audiences")
        check(
            ask(provider.token(sub="x", email="bob@idp.example", email_verified=True)).status == 200,
            "a confirmed address",
        )
        public = (
            provider.keys["one"]
            .public_key()
            .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )
        hs = lambda secret: lambda data: hmac.new(secret, data, hashlib.sha256).digest()
        now = int(time.time())
        good_one = provider.token()
        head, claims, signature = good_one.split(".")
        other = b64(
            json.dumps({"iss": provider.base, "aud": "steward", "sub": "ada", "exp": now + 600}).encode()
        )
        for what, token in {
            "another audience": provider.token(aud="other"),
            "no audience": provider.token(aud=None),
            "another issuer": provider.token(iss="http://127.0.0.1:1"),
            "one that ran out": provider.token(exp=now - 120),
            "one without end": provider.token(exp=None),
            "one that does not count yet": provider.token(nbf=now + 600),
            "somebody unknown": provider.token(sub="mallory"),
            "an address that is not confirmed": provider.token(
                sub="x", email="bob@idp.example", email_verified=False
            ),
            "alg none": provider.token(alg="none", sign=lambda _: b""),
            "alg None": provider.token(alg="None", sign=lambda _: b""),
            "HS256 with the public key": provider.token(alg="HS256", sign=hs(public)),
            "HS256 with nothing": provider.token(alg="HS256", sign=hs(b"")),
            "another key": provider.token(key=provider.make()),
            "other claims under the signature": f"{head}.{other}.{signature}",
            "no signature": f"{head}.{claims}.",
            "nothing": "..",
            "much": f"{head}.{'A' * 40000}.{signature}",
            "an extension that must be understood": provider.token(header={"crit": ["exp2"], "exp2": 1}),
            "an empty list of extensions": provider.token(header={"crit": []}),
            "a key that is for encryption": provider.token(kid="for-encryption"),
            "an end beyond all numbers": provider.token(exp=1e300),
            "an end that is no number": provider.token(exp="soon"),
        }.items():
            got = ask(token)
            check(
                got.status in (401, 431) and (got.status == 431 or got.is_problem()),
                f"a token with {what} is refused",
                got,
            )
        asked = provider.asked
        for number in range(20):
            ask(
                provider.token(kid="one", key=provider.keys["one"]).replace(
                    head, b64(json.dumps({"alg": "RS256", "kid": f"k{number}"}).encode())
                )
            )
        check(
            provider.asked - asked <= 1,
            "a flood of unknown keys does not ask the provider each time",
            provider.asked - asked,
        )
        provider.keys["two"] = provider.make()
        fresh = wait_for(lambda: ask(provider.token(kid="two")).status == 200, 45, 1)
        check(fresh, "a key that is new at the provider counts after a while")
        check(ask(provider.token(kid="one")).status == 200, "and the old one while the provider has it")
        print(f"tokens: the provider was asked {provider.asked} times for its keys")


def main():
    binary = sys.argv[1]
    check = Tally()
    server = Server(binary, "--per-minute", "1000000")
    house = House(server)
    with server:
        every_operation(house, check)
        things = adas_things(house, check)
        granted_tools(house, check)
        adas_things_for_others(house, check, things)
        elevation(house, check)
        odds_and_ends(house, check, things)
        over_mcp(house, check, things)
        over_agents(house, check, things)
        sessions(house, check)
        many_keys(house, check)
    loopback(binary, check)
    tokens(binary, check)
    check.end("access")


if __name__ == "__main__":
    main()
