"""The example servers, driven over real pipes: `python3 -m unittest discover -s examples/apps`.

Every tool, every error that a tool can give, and every option for tests. Retail's two spaces are driven here, too.
"""

import json
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RETAIL = HERE.parent / "retail"
SCRIPTS = {name: HERE / f"{name}.py" for name in ("todo", "crm", "notes", "library", "fleet", "hotel")}
SCRIPTS |= {name: RETAIL / f"{name}.py" for name in ("sales", "web_analytics")}
PATIENCE = 20
TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def fits(schema, value):
    """Whether a value has the shape that a tool promised; the part of JSON Schema that these servers use."""
    assert isinstance(value, TYPES[schema["type"]]), (schema, value)
    assert value in schema.get("enum", [value]), (schema, value)
    for name in schema.get("required", []):
        assert name in value, (name, value)
    for name, part in schema.get("properties", {}).items():
        if name in value:
            fits(part, value[name])
    for item in value if "items" in schema else ():
        fits(schema["items"], item)


class Client:
    """One server process and the lines to and from it."""

    def __init__(self, name, *options):
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPTS[name]), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines, self.last, self.schemas = queue.Queue(), 0, None
        self.reader = threading.Thread(
            target=lambda: [self.lines.put(json.loads(line)) for line in self.process.stdout], daemon=True
        )
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()

    def write(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def send(self, method, params=None, meta=None):
        self.last += 1
        params = {**(params or {}), **({"_meta": meta} if meta else {})}
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))
        return self.last

    def receive(self):
        return self.lines.get(timeout=PATIENCE)

    def ask(self, method, params=None, meta=None):
        sent = self.send(method, params, meta)
        answer = self.receive()
        assert answer["id"] == sent, answer
        return answer

    def tools(self):
        return {tool["name"]: tool for tool in self.ask("tools/list")["result"]["tools"]}

    def call(self, tool, meta=None, **arguments):
        """What a tool gave, checked against its own promise; or the text of its error."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments}, meta)["result"]
        if result.get("isError"):
            assert "structuredContent" not in result, result
            return result["content"][0]["text"]
        self.schemas = self.schemas or {name: tool["outputSchema"] for name, tool in self.tools().items()}
        value = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == value, result
        fits(self.schemas[tool], value)
        return value


class Protocol(unittest.TestCase):
    def test_versions_are_negotiated(self):
        for asked, given in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2031-01-01", "2025-11-25"),
            (None, "2025-11-25"),
        ]:
            with self.subTest(asked=asked), Client("todo") as client:
                result = client.ask(
                    "initialize",
                    {
                        "protocolVersion": asked,
                        "capabilities": {},
                        "clientInfo": {"name": "t", "version": "1"},
                    },
                )["result"]
                self.assertEqual(result["protocolVersion"], given)
                self.assertEqual(result["serverInfo"]["name"], "todo")
                client.write('{"jsonrpc":"2.0","method":"notifications/initialized"}')
                self.assertEqual(client.ask("ping")["result"], {})
                self.assertNotIn("resultType", client.ask("tools/list")["result"])

    def test_the_newest_revision_needs_no_greeting(self):
        with Client("notes") as client:
            speaks = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
            found = client.ask("server/discover", meta=speaks)["result"]
            self.assertIn("2026-07-28", found["supportedVersions"])
            for method in ("server/discover", "tools/list"):
                result = client.ask(method, meta=speaks)["result"]
                self.assertEqual(
                    (result["resultType"], result["ttlMs"], result["cacheScope"]), ("complete", 0, "private")
                )
            self.assertEqual(
                client.ask("tools/call", {"name": "list_tags"}, speaks)["result"]["resultType"], "complete"
            )
            refused = client.ask(
                "tools/list", meta={"io.modelcontextprotocol/protocolVersion": "1999-01-01"}
            )["error"]
            self.assertEqual((refused["code"], refused["data"]["requested"]), (-32022, "1999-01-01"))

    def test_what_is_no_message_is_refused_by_its_code(self):
        rows = [
            ("{", -32700),
            ("[]", -32600),
            ("7", -32600),
            ('{"id":1,"method":"ping"}', -32600),
            ('{"jsonrpc":"2.0","id":1}', -32600),
            ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
            ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
            ('{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
            ('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', -32602),
            ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fly"}}', -32602),
            ('{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
            (
                '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tasks","arguments":[1]}}',
                -32602,
            ),
        ]
        with Client("todo") as client:
            for line, code in rows:
                with self.subTest(line=line):
                    client.write(line)
                    self.assertEqual(client.receive()["error"]["code"], code)
            for line in (
                "",
                '{"jsonrpc":"2.0","id":9,"result":{}}',
                '{"jsonrpc":"2.0","method":"notifications/unheard"}',
                '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}',
            ):
                client.write(line)
            self.assertEqual(client.ask("ping")["result"], {})
        self.assertEqual((client.code, client.errors), (0, ""))

    def test_every_tool_says_what_it_is(self):
        for name in SCRIPTS:
            with Client(name) as client:
                for tool in client.tools().values():
                    with self.subTest(server=name, tool=tool["name"]):
                        self.assertRegex(tool["name"], "^[a-z][a-z0-9_]*$")
                        self.assertGreaterEqual(len(tool["description"]), 45)
                        self.assertEqual(tool["inputSchema"]["type"], "object")
                        self.assertEqual(tool["outputSchema"]["type"], "object")
                        hints, reads = (
                            tool["annotations"],
                            tool["name"].split("_")[0] in ("list", "get", "find", "search")
                            or name in ("sales", "web_analytics"),
                        )
                        deletes = tool["name"].split("_")[0] in ("delete", "remove", "cancel")
                        self.assertEqual((hints["readOnlyHint"], hints["destructiveHint"]), (reads, deletes))


class Options(unittest.TestCase):
    def test_a_hanging_tool_holds_up_no_other(self):
        with Client("todo", "--hang", "get_task") as client:
            hung = client.send("tools/call", {"name": "get_task", "arguments": {"id": 1}})
            self.assertEqual(client.call("list_tasks", limit=1)["count"], 1)
            client.write(
                json.dumps(
                    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": hung}}
                )
            )
            self.assertEqual(client.ask("ping")["result"], {})
        self.assertEqual(client.code, 0)
        self.assertTrue(client.lines.empty())

    def test_a_delayed_call_comes_late_and_can_be_cancelled(self):
        with Client("todo", "--delay", "0.4") as client:
            began = time.monotonic()
            first = client.send("tools/call", {"name": "create_task", "arguments": {"title": "kept"}})
            gone = client.send("tools/call", {"name": "create_task", "arguments": {"title": "cancelled"}})
            client.write(
                json.dumps(
                    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": gone}}
                )
            )
            self.assertEqual(client.ask("ping")["result"], {})
            self.assertLess(time.monotonic() - began, 0.4)
            self.assertEqual(client.receive()["id"], first)
            self.assertGreaterEqual(time.monotonic() - began, 0.4)
            found = client.ask("tools/call", {"name": "search_tasks", "arguments": {"query": "e"}})["result"][
                "structuredContent"
            ]["tasks"]
            titles = [task["title"] for task in found]
            self.assertIn("kept", titles)
            self.assertNotIn("cancelled", titles)

    def test_the_end_of_the_input_ends_a_waiting_server(self):
        with Client("todo", "--delay", "60", "--hang", "get_task") as client:
            client.send("tools/call", {"name": "list_tasks"})
            client.send("tools/call", {"name": "get_task", "arguments": {"id": 1}})
            began = time.monotonic()
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(client.code, 0)

    def test_failures_are_the_same_for_the_same_seed(self):
        def pattern(seed):
            with Client("todo", "--fail", "0.5", "--seed", seed) as client:
                return [isinstance(client.call("list_tasks"), str) for _ in range(20)]

        self.assertEqual(pattern("7"), pattern("7"))
        self.assertNotEqual(pattern("7"), pattern("8"))
        self.assertTrue(3 < sum(pattern("7")) < 17)

    def test_one_tool_fails_and_the_others_do_not(self):
        with Client("crm", "--fail", "list_deals") as client:
            self.assertEqual(client.call("list_deals"), "unavailable: list_deals was told to fail")
            self.assertEqual(client.call("list_companies")["count"], 5)

    def test_a_file_keeps_what_was_done(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/deep/todo.db"
            with Client("todo", "--db", path) as client:
                made = client.call("create_task", title="Survive")
            with Client("todo", "--db", path) as client:
                self.assertEqual(client.call("get_task", title="survive"), made)
                self.assertEqual(client.call("list_tasks")["count"], 13)

    def test_the_same_key_acts_once_also_after_a_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            path, key = f"{folder}/todo.db", {"idempotency_key": "k1"}
            with Client("todo", "--db", path) as client:
                made = client.call("create_task", key, title="Once")
                self.assertEqual(client.call("create_task", key, title="Once"), made)
                self.assertNotEqual(client.call("create_task", title="Once"), made)
            with Client("todo", "--db", path) as client:
                self.assertEqual(client.call("create_task", key, title="Once"), made)
                self.assertEqual(
                    client.call("create_task", key, title="Other"),
                    "key_reused: k1 was given with another call",
                )
                self.assertEqual(client.call("search_tasks", query="once")["count"], 2)

    def test_a_key_is_free_again_after_a_mistake(self):
        with Client("todo") as client:
            key = {"idempotency_key": "k2"}
            self.assertEqual(client.call("complete_task", key, id=99), "not_found: task 99")
            self.assertEqual(client.call("complete_task", key, id=1)["status"], "done")


def shared_errors(test, client, tool, label, kind, **more):
    """What every tool says that acts on one thing."""
    test.assertEqual(client.call(tool, **more), f"field_required: id or {label}")
    test.assertEqual(client.call(tool, id=999, **more), f"not_found: {kind} 999")
    test.assertEqual(client.call(tool, **{label: "zzz"}, **more), f'not_found: {kind} "zzz"')
    test.assertEqual(client.call(tool, id="1", **more), "field_invalid: id must be of type integer")
    test.assertEqual(client.call(tool, id=True, **more), "field_invalid: id must be of type integer")
    test.assertEqual(client.call(tool, id=0, **more), "field_invalid: id must be at least 1")
    test.assertEqual(client.call(tool, id=1, colour="red", **more), "field_unknown: colour")


class Todo(unittest.TestCase):
    def test_every_tool(self):
        with Client("todo") as client:
            made = client.call(
                "create_task", title="Buy bread", due="2026-03-05", priority="high", project="home"
            )
            self.assertEqual(
                made,
                {
                    "id": 13,
                    "title": "Buy bread",
                    "status": "open",
                    "priority": "high",
                    "project": "home",
                    "due": "2026-03-05",
                },
            )
            self.assertEqual(client.call("get_task", title="bread"), made)
            self.assertEqual(
                client.call("update_task", id=13, new_title="Buy rye bread", priority="low")["title"],
                "Buy rye bread",
            )
            self.assertEqual(client.call("complete_task", title="rye")["status"], "done")
            self.assertEqual(client.call("update_task", title="rye", status="open")["status"], "open")
            self.assertEqual(client.call("delete_task", id=13)["deleted"]["title"], "Buy rye bread")
            self.assertEqual(client.call("get_task", id=13), "not_found: task 13")
            self.assertEqual(
                client.call("create_task", title="Next")["id"], 14, "a number is never given twice"
            )

    def test_lists_and_searches(self):
        rows = [
            ({}, 12),
            ({"status": "done"}, 2),
            ({"priority": "high", "status": "open"}, 4),
            ({"project": "WORK"}, 4),
            ({"due_before": "2026-03-03"}, 4),
            ({"due_after": "2026-03-10"}, 3),
            ({"due_after": "2026-03-01", "due_before": "2026-03-05"}, 3),
            ({"limit": 2}, 2),
            ({"project": "nowhere"}, 0),
        ]
        with Client("todo") as client:
            for arguments, count in rows:
                with self.subTest(arguments=arguments):
                    self.assertEqual(client.call("list_tasks", **arguments)["count"], count)
            self.assertEqual(
                [task["id"] for task in client.call("search_tasks", query="REPORT")["tasks"]], [3, 4]
            )
            self.assertEqual(client.call("search_tasks", query="report budget")["count"], 1)
            self.assertEqual(client.call("search_tasks", query="unicorn")["count"], 0)

    def test_every_error(self):
        with Client("todo") as client:
            self.assertEqual(client.call("create_task"), "field_required: title")
            self.assertEqual(client.call("create_task", title=""), "field_required: title")
            self.assertEqual(
                client.call("create_task", title="x", due="tomorrow"),
                "field_invalid: due must be a date like 2026-03-31",
            )
            self.assertEqual(
                client.call("create_task", title="x", due="20260331"),
                "field_invalid: due must be a date like 2026-03-31",
            )
            self.assertEqual(
                client.call("create_task", title="x", priority="urgent"),
                "field_invalid: priority must be one of low, normal, high",
            )
            self.assertEqual(client.call("search_tasks"), "field_required: query")
            self.assertEqual(client.call("list_tasks", limit=0), "field_invalid: limit must be at least 1")
            self.assertEqual(client.call("update_task", id=1), "field_required: at least one thing to change")
            self.assertEqual(
                client.call("get_task", title="report"),
                'ambiguous: task "report" may be 3 "Write the quarterly report", 4 "Review the budget report"',
            )
            for tool in ("get_task", "complete_task", "delete_task"):
                shared_errors(self, client, tool, "title", "task")
            shared_errors(self, client, "update_task", "title", "task", priority="low")
            self.assertEqual(client.call("list_tasks")["count"], 12, "no mistake changed anything")


class Crm(unittest.TestCase):
    def test_every_tool(self):
        with Client("crm", "--today", "2026-03-02") as client:
            self.assertEqual(
                client.call("create_company", name="Orbit", city="Oslo", industry="space"),
                {"id": 6, "name": "Orbit", "city": "Oslo", "industry": "space"},
            )
            made = client.call("create_contact", name="Ida Lund", email="ida@orbit.example", company="orbit")
            self.assertEqual((made["id"], made["company"]), (8, "Orbit"))
            self.assertEqual(
                client.call("update_contact", name="ida", phone="555-0199", company="acme")["company"], "Acme"
            )
            logged = client.call("log_activity", contact="Ida Lund", kind="call", summary="Said hello")
            self.assertEqual(logged["day"], "2026-03-02")
            self.assertEqual(client.call("get_contact", id=8)["activities"], [logged])
            deal = client.call("create_deal", title="Orbit launch", company="Orbit", value=5000)
            self.assertEqual(deal["stage"], "lead")
            self.assertEqual(client.call("update_deal_stage", title="orbit", stage="won")["stage"], "won")
            self.assertEqual(client.call("get_deal", id=deal["id"])["stage"], "won")
            self.assertEqual(client.call("delete_deal", id=deal["id"])["deleted"]["title"], "Orbit launch")
            self.assertEqual(client.call("delete_contact", name="Ida Lund")["deleted"]["id"], 8)
            self.assertEqual(client.call("get_contact", id=8), "not_found: contact 8")

    def test_lists(self):
        rows = [
            ("find_contacts", {}, 7),
            ("find_contacts", {"query": "anna"}, 2),
            ("find_contacts", {"company": "acme"}, 2),
            ("find_contacts", {"query": "reed", "company": "acme"}, 2),
            ("find_contacts", {"query": "buyer"}, 1),
            ("list_companies", {}, 5),
            ("list_companies", {"city": "madrid"}, 1),
            ("list_companies", {"industry": "food"}, 1),
            ("list_deals", {}, 6),
            ("list_deals", {"stage": "negotiation"}, 2),
            ("list_deals", {"company": "acme"}, 2),
            ("list_deals", {"min_value": 20000}, 3),
        ]
        with Client("crm") as client:
            for tool, arguments, count in rows:
                with self.subTest(tool=tool, arguments=arguments):
                    self.assertEqual(client.call(tool, **arguments)["count"], count)

    def test_every_error(self):
        with Client("crm") as client:
            for tool, arguments, said in [
                ("create_contact", {}, "field_required: name"),
                ("create_contact", {"name": "X", "company": "Nowhere"}, 'not_found: company "Nowhere"'),
                ("create_company", {"name": "ACME"}, "already_exists: company 'ACME'"),
                ("create_company", {}, "field_required: name"),
                ("create_deal", {"title": "x"}, "field_required: company"),
                (
                    "create_deal",
                    {"title": "x", "company": "Acme", "value": -1},
                    "field_invalid: value must be at least 0",
                ),
                (
                    "create_deal",
                    {"title": "x", "company": "e"},
                    'ambiguous: company "e" may be 2 "Acme", 3 "Bluebird Foods", 4 "Helios Energy", 5 "Kestrel Labs"',
                ),
                ("update_deal_stage", {"id": 1}, "field_required: stage"),
                (
                    "update_deal_stage",
                    {"id": 1, "stage": "hot"},
                    "field_invalid: stage must be one of lead, qualified, proposal, negotiation, won, lost",
                ),
                (
                    "update_deal_stage",
                    {"title": "acme", "stage": "won"},
                    'ambiguous: deal "acme" may be 2 "Acme pilot", 3 "Acme support plan"',
                ),
                (
                    "get_contact",
                    {"name": "anna"},
                    'ambiguous: contact "anna" may be 1 "Anna Berg", 6 "Anna Kowalski"',
                ),
                (
                    "log_activity",
                    {"contact": "Anna", "kind": "call", "summary": "x"},
                    'ambiguous: contact "Anna" may be 1 "Anna Berg", 6 "Anna Kowalski"',
                ),
                (
                    "log_activity",
                    {"contact": "Nobody", "kind": "call", "summary": "x"},
                    'not_found: contact "Nobody"',
                ),
                ("log_activity", {"contact": "Tom Reed"}, "field_required: kind"),
                (
                    "log_activity",
                    {"contact": "Tom Reed", "kind": "fax", "summary": "x"},
                    "field_invalid: kind must be one of call, email, meeting, note",
                ),
                ("update_contact", {"id": 1}, "field_required: at least one thing to change"),
                ("list_deals", {"min_value": "much"}, "field_invalid: min_value must be of type number"),
            ]:
                with self.subTest(tool=tool, arguments=arguments):
                    self.assertEqual(client.call(tool, **arguments), said)
            for tool in ("get_contact", "delete_contact"):
                shared_errors(self, client, tool, "name", "contact")
            shared_errors(self, client, "update_contact", "name", "contact", role="boss")
            for tool in ("get_deal", "delete_deal"):
                shared_errors(self, client, tool, "title", "deal")
            shared_errors(self, client, "update_deal_stage", "title", "deal", stage="won")


class Notes(unittest.TestCase):
    def test_every_tool(self):
        with Client("notes", "--today", "2026-03-03") as client:
            made = client.call("create_note", title="Jam", body="Sugar.", tags=["#recipes", "summer"])
            self.assertEqual(
                made,
                {
                    "id": 10,
                    "title": "Jam",
                    "body": "Sugar.",
                    "tags": ["recipes", "summer"],
                    "changed": "2026-03-03",
                },
            )
            self.assertEqual(
                client.call("append_to_note", title="jam", text="Fruit.")["body"], "Sugar.\nFruit."
            )
            self.assertEqual(
                client.call("tag_note", id=10, tags=["kitchen", "Recipes"])["tags"],
                ["kitchen", "recipes", "summer"],
            )
            self.assertEqual(client.call("untag_note", id=10, tag="SUMMER")["tags"], ["kitchen", "recipes"])
            self.assertEqual(client.call("list_notes", tag="recipes")["count"], 2)
            self.assertEqual([note["id"] for note in client.call("list_notes", limit=2)["notes"]], [10, 9])
            self.assertEqual(
                client.call("search_notes", query="milk flour")["notes"][0]["title"], "Pancake recipe"
            )
            self.assertEqual(client.call("search_notes", query="sales")["count"], 1, "tags are searched")
            self.assertEqual(client.call("list_tags")["tags"][0], {"tag": "work", "notes": 3})
            self.assertEqual(client.call("get_note", id=10)["title"], "Jam")
            self.assertEqual(
                client.call("delete_note", title="jam")["deleted"]["tags"], ["kitchen", "recipes"]
            )
            self.assertEqual(client.call("list_notes", tag="kitchen")["count"], 0, "tags go with their note")

    def test_every_error(self):
        with Client("notes") as client:
            for tool, arguments, said in [
                ("create_note", {}, "field_required: title"),
                ("create_note", {"title": "x", "tags": "work"}, "field_invalid: tags must be of type array"),
                ("create_note", {"title": "x", "tags": [1]}, "field_invalid: tags must hold texts"),
                ("search_notes", {}, "field_required: query"),
                ("append_to_note", {"id": 1}, "field_required: text"),
                ("tag_note", {"id": 1}, "field_required: tags"),
                ("untag_note", {"id": 1}, "field_required: tag"),
                ("untag_note", {"id": 1, "tag": "zzz"}, "not_found: tag 'zzz' on note 1"),
                (
                    "get_note",
                    {"title": "meeting"},
                    'ambiguous: note "meeting" may be 2 "Meeting with the board", 1 "Meeting with Acme"',
                ),
            ]:
                with self.subTest(tool=tool, arguments=arguments):
                    self.assertEqual(client.call(tool, **arguments), said)
            for tool, more in [
                ("get_note", {}),
                ("delete_note", {}),
                ("append_to_note", {"text": "x"}),
                ("tag_note", {"tags": ["x"]}),
                ("untag_note", {"tag": "x"}),
            ]:
                shared_errors(self, client, tool, "title", "note", **more)


class Library(unittest.TestCase):
    def test_every_tool(self):
        with Client("library", "--today", "2026-03-02") as client:
            self.assertEqual(client.call("lend_book", title="The Hobbit", member="Jon")["due"], "2026-03-23")
            self.assertEqual(client.call("renew_loan", title="hobbit")["due"], "2026-04-13")
            self.assertEqual(client.call("reserve_book", title="hobbit", member="Ada")["reserved_by"], "Ada")
            self.assertEqual(client.call("return_book", title="hobbit")["borrower"], "")
            self.assertEqual(client.call("lend_book", title="hobbit", member="Ada")["reserved_by"], "")
            self.assertEqual(
                client.call(
                    "add_book", title="Kindred", author="Octavia Butler", genre="science fiction", year=1979
                )["id"],
                13,
            )
            self.assertEqual(client.call("add_book", title="Untitled", author="Anon")["year"], 0)
            self.assertEqual(client.call("get_book", id=13)["author"], "Octavia Butler")
            self.assertEqual(client.call("remove_book", title="kindred")["removed"]["id"], 13)
            rows = [
                ("search_books", {"query": "le guin"}, 2),
                ("search_books", {"query": "crime"}, 2),
                ("list_books", {"genre": "History"}, 2),
                ("list_books", {"author": "austen", "available": True}, 1),
                ("list_books", {"available": False}, 5),
                ("list_loans", {}, 5),
                ("list_loans", {"member": "mira"}, 2),
                ("list_loans", {"overdue": True}, 1),
                ("list_loans", {"overdue": False}, 4),
            ]
            for tool, arguments, count in rows:
                with self.subTest(tool=tool, arguments=arguments):
                    self.assertEqual(client.call(tool, **arguments)["count"], count)

    def test_every_error(self):
        with Client("library") as client:
            for tool, arguments, said in [
                ("lend_book", {"title": "The Hobbit"}, "field_required: member"),
                (
                    "lend_book",
                    {"id": 1, "member": "Jon"},
                    "already_lent: book 1 'Dune' is with Mira until 2026-03-10",
                ),
                ("return_book", {"title": "Emma"}, "not_borrowed: book 3 'Emma' is on the shelf"),
                ("renew_loan", {"title": "Persuasion"}, "reserved: Ada waits for book 4 'Persuasion'"),
                (
                    "reserve_book",
                    {"title": "Persuasion", "member": "Mira"},
                    "reserved: Ada already waits for book 4 'Persuasion'",
                ),
                ("add_book", {"title": "x"}, "field_required: author"),
                (
                    "get_book",
                    {"title": "the"},
                    'ambiguous: book "the" may be 7 "The Dispossessed", 5 "The Hobbit", 10 "The Moonstone", 12 "The Silk Roads"',
                ),
                ("search_books", {}, "field_required: query"),
                ("list_books", {"available": "yes"}, "field_invalid: available must be of type boolean"),
            ]:
                with self.subTest(tool=tool, arguments=arguments):
                    self.assertEqual(client.call(tool, **arguments), said)
            self.assertEqual(client.call("get_book", title="dune")["id"], 1, "equal words win over a part")
            client.call("return_book", title="Persuasion")
            self.assertEqual(
                client.call("lend_book", title="Persuasion", member="Jon"),
                "reserved: book 4 'Persuasion' is kept for Ada",
            )
            for tool, more in [
                ("get_book", {}),
                ("remove_book", {}),
                ("return_book", {}),
                ("renew_loan", {}),
                ("lend_book", {"member": "Jon"}),
                ("reserve_book", {"member": "Jon"}),
            ]:
                shared_errors(self, client, tool, "title", "book", **more)


class Hotel(unittest.TestCase):
    def test_a_stay(self):
        with Client("hotel", "--today", "2026-06-10") as client:
            made = client.call(
                "create_booking", guest="Nina Falk", room="201", arrival="2026-07-14", departure="2026-07-16"
            )
            self.assertEqual(made["state"], "booked")
            self.assertEqual(client.call("check_in_guest", id=made["id"])["state"], "checked_in")
            self.assertEqual(client.call("check_out_guest", id=made["id"])["state"], "checked_out")
            self.assertEqual(client.call("set_room_status", id=201, status="clean")["status"], "clean")


class Fleet(unittest.TestCase):
    def test_every_tool(self):
        with Client("fleet", "--today", "2026-05-13") as client:
            self.assertEqual(
                client.call("check_out_vehicle", name="kangoo", driver="Lena", until="2026-05-15")["driver"],
                "Lena",
            )
            self.assertEqual(
                client.call("check_in_vehicle", name="kangoo", mileage=18700)["status"], "available"
            )
            self.assertEqual(client.call("record_mileage", id=8, mileage=9400)["mileage"], 9400)
            self.assertEqual(client.call("report_damage", id=8, what="Flat tyre")["state"], "open")
            self.assertEqual(client.call("get_vehicle", id=8)["vehicle"]["status"], "in_repair")
            self.assertEqual(client.call("close_repair", what="flat", cost=40)["state"], "done")
            self.assertEqual(client.call("get_vehicle", id=8)["vehicle"]["status"], "available")
            self.assertEqual(client.call("add_vehicle", name="Ford Ranger", plate="RG-5120")["id"], 9)
            self.assertEqual(client.call("remove_vehicle", name="ranger")["removed"]["id"], 9)
            rows = [
                ("list_vehicles", {}, 8),
                ("list_vehicles", {"status": "in_use"}, 3),
                ("list_vehicles", {"driver": "petra"}, 1),
                ("list_vehicles", {"min_mileage": 100000}, 3),
                ("search_vehicles", {"query": "transit"}, 2),
                ("search_vehicles", {"query": "LR-1987"}, 1),
                ("list_repairs", {"state": "open"}, 3),
                ("list_repairs", {"vehicle": "panda"}, 1),
            ]
            for tool, arguments, count in rows:
                with self.subTest(tool=tool, arguments=arguments):
                    self.assertEqual(client.call(tool, **arguments)["count"], count)

    def test_every_error(self):
        with Client("fleet") as client:
            for tool, arguments, said in [
                ("check_out_vehicle", {"id": 5}, "field_required: driver"),
                ("check_out_vehicle", {"id": 1, "driver": "Lena"}, "not_available: vehicle 1 is in_use"),
                ("check_in_vehicle", {"id": 5}, "not_in_use: vehicle 5 is available"),
                ("record_mileage", {"id": 5}, "field_required: mileage"),
                ("report_damage", {"id": 5}, "field_required: what"),
                ("add_vehicle", {"name": "vespa SCOOTER"}, "already_exists: vehicle 'vespa SCOOTER'"),
                (
                    "get_vehicle",
                    {"name": "transit"},
                    'ambiguous: vehicle "transit" may be 1 "Blue Transit van", 2 "White Transit van"',
                ),
            ]:
                with self.subTest(tool=tool, arguments=arguments):
                    self.assertEqual(client.call(tool, **arguments), said)


class Retail(unittest.TestCase):
    def asked(self, client, name, query, talk=None):
        """The answer to a question, fetched as often as it takes."""
        sent = client.call(f"query_space_{name}", query=query, **({"conversation_id": talk} if talk else {}))
        while sent["status"] == "EXECUTING_QUERY":
            sent = client.call(
                f"poll_response_{name}",
                conversation_id=sent["conversation_id"],
                message_id=sent["message_id"],
            )
        return sent

    def test_questions_reach_their_report(self):
        rows = {
            "sales": [
                ("Which products sell best?", "Revenue by product"),
                ("revenue by month", "Revenue by month"),
                ("How much stock do we have of the 4K Monitor?", "Stock"),
                ("which warehouse is short of inventory", "Stock"),
                ("what comes back most often, returns by category", "Returns by category"),
                ("most profitable state", "Margin by state"),
                ("when were they last restocked", "Last restocked"),
            ],
            "web_analytics": [
                ("What products are frequently abandoned in carts?", "Cart abandonment by product"),
                ("visits by device", "Visits by device"),
                ("Which channel converts best?", "Conversion by channel"),
                (
                    "demographics of customers who abandon carts",
                    "Customers with abandoned carts by age_group",
                ),
                ("gender of those who leave", "Customers with abandoned carts by gender"),
            ],
        }
        for name, questions in rows.items():
            with Client(name, "--takes", "0") as client:
                for question, title in questions:
                    with self.subTest(question=question):
                        answer = self.asked(client, name, question)
                        self.assertEqual((answer["status"], answer["title"]), ("COMPLETED", title))
                        self.assertTrue(answer["rows"])

    def test_what_is_planted_is_found(self):
        with Client("web_analytics", "--takes", "0") as client:
            abandoned = self.asked(client, "web_analytics", "top 2 abandoned products")
            self.assertEqual([row[0] for row in abandoned["rows"]], ["Standing Desk", "4K Monitor"])
            theirs = self.asked(
                client, "web_analytics", "what about their demographics?", abandoned["conversation_id"]
            )
            everyone = self.asked(client, "web_analytics", "what about their demographics?")
            self.assertLess(sum(row[2] for row in theirs["rows"]), sum(row[2] for row in everyone["rows"]))
            self.assertEqual(sum(row[2] for row in theirs["rows"]), sum(row[2] for row in abandoned["rows"]))
        with Client("sales", "--takes", "0") as client:
            short = self.asked(client, "sales", "stock of Standing Desk and 4K Monitor")
            self.assertEqual({row[0]: row[3] for row in short["rows"]}, {"Standing Desk": 2, "4K Monitor": 2})
            self.assertEqual(client.call("returns", limit=1)["rows"][0][0], "Webcam Pro")

    def test_an_answer_takes_its_time(self):
        with Client("sales", "--takes", "0.5") as client:
            sent = client.call("query_space_sales", query="best sellers")
            self.assertEqual(
                client.call(
                    "poll_response_sales",
                    conversation_id=sent["conversation_id"],
                    message_id=sent["message_id"],
                )["status"],
                "EXECUTING_QUERY",
            )
            self.assertEqual(self.asked(client, "sales", "best sellers")["status"], "COMPLETED")

    def test_every_report_is_a_tool(self):
        for name, reports in [
            ("sales", ["stock", "restocking", "returns", "margin", "revenue"]),
            ("web_analytics", ["demographics", "abandonment", "conversion", "visits"]),
        ]:
            with Client(name) as client:
                tools = client.tools()
                for report in reports:
                    for by in tools[report]["inputSchema"]["properties"].get("by", {}).get("enum", [None]):
                        with self.subTest(report=report, by=by):
                            found = client.call(
                                report, products=["4k monitor"], limit=3, **({"by": by} if by else {})
                            )
                            self.assertTrue(0 < len(found["rows"]) <= 3)

    def test_every_error(self):
        with Client("sales") as client:
            self.assertRegex(
                client.call("query_space_sales", query="what is the weather in Paris"),
                "^not_answerable: the sales space knows nothing of this",
            )
            self.assertEqual(client.call("query_space_sales"), "field_required: query")
            self.assertEqual(
                client.call("poll_response_sales", conversation_id="a", message_id="b"),
                "not_found: question b of a",
            )
            self.assertEqual(client.call("stock", products=["Unicorn"]), "not_found: product 'Unicorn'")
            self.assertEqual(
                client.call("revenue", by="planet"),
                "field_invalid: by must be one of product, category, state, segment, city, year, month",
            )

    def test_nothing_personal_is_loaded(self):
        with Client("web_analytics") as client:
            for by in ("age_group", "gender", "segment", "state"):
                self.assertNotIn("@", json.dumps(client.call("demographics", by=by)))
            self.assertEqual(
                client.call("demographics", by="email"),
                "field_invalid: by must be one of age_group, gender, segment, state",
            )


if __name__ == "__main__":
    unittest.main()
