"""An MCP server over standard input and output, in the standard library only.

A tool is a function with a description; what it takes is checked before it runs, so that a tool's own code meets only
arguments that fit. Nothing but answers goes to standard output. Calls run one at a time; one that was told to wait (`--delay`,
`--hang`) holds up no other. Revisions 2024-11-05 to 2025-11-25 greet with `initialize`; 2026-07-28 asks `server/discover`
and says with each request what it speaks. It offers tools and nothing else: no resources, no prompts, no tasks.
"""

import argparse
import datetime
import json
import random
import sys
import threading
import traceback

GREETED = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
STATELESS = "2026-07-28"
SPOKEN = "io.modelcontextprotocol/protocolVersion"
KINDS = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
HINTS = {  # effect: changes nothing, takes something away, can be repeated
    "read": (True, False, True),
    "add": (False, False, False),
    "set": (False, False, True),
    "delete": (False, True, True),
}


class ToolError(Exception):
    """A mistake that the caller can mend. Its text begins with a code: `not_found: task 999`."""

    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")


class RpcError(Exception):
    """A message that JSON-RPC or MCP does not allow."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


def text(description, **more):
    return {"type": "string", "description": description, **more}


def number(description, kind="number", **more):
    return {"type": kind, "description": description, **more}


def day(description):
    return text(description, format="date")


def record(**properties):
    """The schema of an object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def many(name, item):
    """The schema of several, with how many there are."""
    return record(**{name: {"type": "array", "items": item}, "count": {"type": "integer"}})


class Server:
    """Tools, and the one line of messages through which they are called."""

    def __init__(self, name, about):
        self.name, self.about = name, about
        self.tools, self.functions, self.waiting = [], {}, {}
        self.lock = threading.Lock()

    def tool(self, effect, description, takes, gives):
        """Offers a function under its own name. A name that ends in `!` must be given."""
        properties = {name.rstrip("!"): schema for name, schema in takes.items()}
        required = [name[:-1] for name in takes if name.endswith("!")]
        reads, deletes, repeatable = HINTS[effect]

        def offered(function):
            self.functions[function.__name__] = function
            self.tools.append(
                {
                    "name": function.__name__,
                    "description": description,
                    "inputSchema": {
                        "type": "object",
                        "properties": properties,
                        "required": required,
                        "additionalProperties": False,
                    },
                    "outputSchema": gives,
                    "annotations": {
                        "readOnlyHint": reads,
                        "destructiveHint": deletes,
                        "idempotentHint": repeatable,
                        "openWorldHint": False,
                    },
                }
            )
            return function

        return offered

    def options(self, parser):
        """Adds options of its own."""

    def start(self, arguments=None):
        """Reads the command line."""
        parser = argparse.ArgumentParser(description=self.about)
        parser.add_argument("--today", type=datetime.date.fromisoformat, help="take this for today's date")
        parser.add_argument(
            "--delay", type=float, default=0, metavar="SECONDS", help="answer each call this much later"
        )
        parser.add_argument(
            "--fail",
            action="append",
            default=[],
            metavar="RATE|TOOL",
            help="fail this share of all calls, or every call of a tool",
        )
        parser.add_argument(
            "--hang", action="append", default=[], metavar="TOOL", help="never answer calls of this tool"
        )
        parser.add_argument("--seed", type=int, default=0, help="which calls a rate lets fail")
        self.options(parser)
        self.set = parser.parse_args(arguments)
        self.draw = random.Random(self.set.seed).random

    def today(self):
        return self.set.today or datetime.date.today()

    def call(self, name, arguments, key):
        """Checks a call and runs it."""
        if name in self.set.fail or any(
            self.draw() < rate for rate in map(as_rate, self.set.fail) if rate is not None
        ):
            raise ToolError("unavailable", f"{name} was told to fail")
        tool = next(tool for tool in self.tools if tool["name"] == name)
        check(tool["inputSchema"], arguments)
        return self.run(tool, arguments, key)

    def run(self, tool, arguments, key):
        """Runs a tool. What keeps things must not do the same thing twice for the same key."""
        return self.functions[tool["name"]](**arguments)

    def answer(self, method, params):
        """The result of a request."""
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        spoken = meta.get(SPOKEN)
        if spoken is not None and spoken not in [*GREETED, STATELESS]:
            raise RpcError(
                -32022,
                "this revision is not spoken here",
                {"supported": [*GREETED, STATELESS], "requested": spoken},
            )
        info, able = {"name": self.name, "version": "1.0.0"}, {"tools": {}}
        if method == "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in GREETED else GREETED[-1]
            return {
                "protocolVersion": version,
                "capabilities": able,
                "serverInfo": info,
                "instructions": self.about,
            }
        if method == "server/discover":
            named = {"io.modelcontextprotocol/serverInfo": info}
            result = {
                "supportedVersions": [*GREETED, STATELESS],
                "capabilities": able,
                "instructions": self.about,
                "_meta": named,
            }
        elif method == "tools/list":
            if params.get("cursor") is not None:
                raise RpcError(-32602, "there is one page only, and it needs no cursor")
            result = {"tools": self.tools}
        elif method == "tools/call":
            try:
                value = self.call(params["name"], params.get("arguments") or {}, meta.get("idempotency_key"))
                result = {
                    "content": [{"type": "text", "text": json.dumps(value, ensure_ascii=False)}],
                    "structuredContent": value,
                }
            except ToolError as error:
                result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
        elif method == "ping":
            result = {}
        else:
            raise RpcError(-32601, f"there is no method {method}")
        if spoken == STATELESS or method == "server/discover":
            fresh = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
            result = {"resultType": "complete", **fresh, **result}
        return result

    def respond(self, identity, method, params):
        """Answers a request; whatever goes wrong, an answer is written."""
        with self.lock:
            self.waiting.pop(identity, None)
            try:
                message = {"result": self.answer(method, params)}
            except RpcError as error:
                message = {"error": error.error}
            except Exception:
                traceback.print_exc()
                message = {
                    "error": {"code": -32603, "message": "the application failed; its error output says how"}
                }
            print(json.dumps({"jsonrpc": "2.0", "id": identity, **message}), flush=True)

    def receive(self, line):
        """Takes one line: a request is answered at once or after its delay, a notification is heard."""
        identity = None
        try:
            try:
                message = json.loads(line)
            except ValueError:
                raise RpcError(-32700, "this is no JSON") from None
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise RpcError(-32600, "this is no JSON-RPC message")
            identity = message.get("id")
            if "method" not in message and ("result" in message or "error" in message):
                return
            method, params = message.get("method"), message.get("params") or {}
            if (
                not isinstance(method, str)
                or not isinstance(params, dict)
                or not isinstance(identity, (str, int, type(None)))
            ):
                raise RpcError(-32600, "method must be a text, params an object, id a text or a whole number")
            if "id" not in message:
                if method == "notifications/cancelled" and (
                    timer := self.waiting.pop(params.get("requestId"), None)
                ):
                    timer.cancel()
                return
            if method == "tools/call":
                name = params.get("name")
                if name not in self.functions:
                    raise RpcError(-32602, f"there is no tool {name}")
                if not isinstance(params.get("arguments") or {}, dict):
                    raise RpcError(-32602, "arguments must be an object")
                if name in self.set.hang:
                    return
                if self.set.delay > 0:
                    timer = threading.Timer(self.set.delay, self.respond, (identity, method, params))
                    timer.daemon = True
                    self.waiting[identity] = timer
                    timer.start()
                    return
            self.respond(identity, method, params)
        except RpcError as error:
            with self.lock:
                print(json.dumps({"jsonrpc": "2.0", "id": identity, "error": error.error}), flush=True)

    def serve(self):
        """Answers until the input ends. What still waits then is left undone: nobody is there to hear of it."""
        self.start()
        for line in sys.stdin:
            if line.strip():
                self.receive(line)


def as_rate(given):
    try:
        return float(given)
    except ValueError:
        return None


def check(schema, arguments):
    """Says the first thing about the arguments that does not fit."""
    for name in schema["required"]:
        if arguments.get(name) in (None, ""):
            raise ToolError("field_required", name)
    for name, value in arguments.items():
        rule = schema["properties"].get(name)
        if rule is None:
            raise ToolError("field_unknown", name)
        if not isinstance(value, KINDS[rule["type"]]) or (
            isinstance(value, bool) and rule["type"] != "boolean"
        ):
            raise ToolError("field_invalid", f"{name} must be of type {rule['type']}")
        if value not in rule.get("enum", [value]):
            raise ToolError("field_invalid", f"{name} must be one of {', '.join(rule['enum'])}")
        if "minimum" in rule and value < rule["minimum"]:
            raise ToolError("field_invalid", f"{name} must be at least {rule['minimum']}")
        if rule["type"] == "array" and not all(isinstance(item, str) for item in value):
            raise ToolError("field_invalid", f"{name} must hold texts")
        if rule.get("format") == "date":
            try:
                if datetime.date.fromisoformat(value).isoformat() != value:
                    raise ValueError(value)
            except ValueError:
                raise ToolError("field_invalid", f"{name} must be a date like 2026-03-31") from None
