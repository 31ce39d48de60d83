"""A scripted model behind OpenAI's chat completions, for tests: what it says follows from what it is sent, by the rules below."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PERSON = {"name": "Ada", "age": 36}


def content(message):
    text = message.get("content") or ""
    return text if isinstance(text, str) else "\n".join(part.get("text", "") for part in text)


def decide(body):
    """(text, calls) for a request."""
    messages = body["messages"]
    last = messages[-1]
    offered = [tool["function"]["name"] for tool in body.get("tools", [])]
    said = [content(message) for message in messages if message["role"] == "user"]
    asked = next((text for text in reversed(said) if not text.startswith("Your last reply")), "")
    if "wrong once" in asked and len(said) == 1 and body.get("response_format"):
        return json.dumps({"name": "Ada"}), []
    if last["role"] != "tool" and "weather" in asked.lower() and "get_weather" in offered:
        return "", [("get_weather", {"city": "Paris"})]
    if "final_result" in offered and "person" in asked.lower():
        return "", [("final_result", PERSON)]
    if body.get("response_format", {}).get("type") in ("json_schema", "json_object"):
        return json.dumps(PERSON), []
    if last["role"] == "tool":
        return f"The tool says {content(last)}", []
    if "what is my name" in asked.lower():
        names = [found for text in said for found in re.findall(r"[Mm]y name is (\w+)", text)]
        return (f"Your name is {names[-1]}." if names else "I do not know your name."), []
    if "system prompt" in asked.lower():
        return content(messages[0]).splitlines()[-1], []
    return "Hello from the model.", []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((dict(self.headers), body))
        text, calls = decide(body)
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or 4096
        words = re.findall(r"\S+\s*", text)
        finish = "tool_calls" if calls else "length" if len(words) > limit else "stop"
        words = words[:limit]
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        named = [
            {"index": place, "id": f"call_{len(body['messages'])}_{place}", "type": "function"}
            | {"function": {"name": name, "arguments": json.dumps(arguments)}}
            for place, (name, arguments) in enumerate(calls)
        ]
        if not body.get("stream"):
            message = {"role": "assistant", "content": "".join(words) or None}
            if named:
                message["tool_calls"] = named
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self.send("application/json", json.dumps({"model": "fake", "choices": [choice], "usage": usage}))
            return
        deltas = [{"content": word} for word in words] + ([{"tool_calls": named}] if named else [])
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        chunks.append({"choices": [], "usage": usage})
        frames = [f"data: {json.dumps({'model': 'fake', **chunk})}\n\n" for chunk in chunks]
        self.send("text/event-stream", "".join(frames) + "data: [DONE]\n\n")

    def send(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class FakeModel:
    """The server, for `with`; `seen` holds the headers and bodies of all requests."""

    def __enter__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.seen = self.seen = []
        self.address = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def configure(self, home):
        """Makes it the model of a home, and of an agent `helper` there."""
        settings = home / "config/steward.yaml"
        lines = [
            f'models:\n  fake: {{ provider: openai, name: fake, base_url: "{self.address}" }}',
            "use: { default: fake }",
            "conversation: { plan_first: false }",
        ]
        before = settings.read_text() if settings.exists() else ""
        settings.write_text(before + "\n" + "\n".join(lines) + "\n")
        (home / "agents").mkdir(exist_ok=True)
        (home / "agents/helper.yaml").write_text(
            "name: helper\nrole: assistant\nsystem_prompt: You help.\ntools: []\nllm_config: { model: default }\n"
        )
