"""Slack's Web API for tests, over a real socket: it keeps what was posted, and sends signed presses of buttons."""

import hashlib
import hmac
import json
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import request


class Posted:
    """A message as it stands now."""

    def __init__(self, number, form):
        self.number, self.ts = number, f"9000.{number:06}"
        self.channel, self.thread = form.get("channel", ""), form.get("thread_ts")
        self.update(form)

    def update(self, form):
        self.text, self.blocks = form.get("text", ""), json.loads(form.get("blocks") or "[]")

    def button(self, label):
        for block in self.blocks:
            for element in block.get("elements", []):
                if element.get("type") == "button" and element["text"]["text"] == label:
                    return {"type": "button", "action_id": element["action_id"], "value": element["value"]}
        return None


class FakeSlack:
    """Use it with `with`."""

    secret = "shhh"

    def __init__(self):
        self.posts, self.private, self.lock, self.total = [], [], threading.Lock(), 0

    def __enter__(self):
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers.get("content-length", 0))
                form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
                body = json.dumps(fake.answer(self.path.rsplit("/", 1)[1], form)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.http.server_port}/api"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def answer(self, method, form):
        with self.lock:
            self.total += 1
            if method == "auth.test":
                return {"ok": True, "user_id": "UBOT"}
            if method == "chat.postMessage":
                self.posts.append(Posted(self.total, form))
                return {"ok": True, "ts": self.posts[-1].ts, "channel": form.get("channel")}
            if method == "chat.update":
                post = next((post for post in self.posts if post.ts == form.get("ts")), None)
                if post is None:
                    return {"ok": False, "error": "message_not_found"}
                post.update(form)
                return {"ok": True, "ts": post.ts}
            if method == "chat.postEphemeral":
                post = Posted(self.total, form)
                post.user = form.get("user")
                self.private.append(post)
                return {"ok": True, "message_ts": post.ts}
            return {"ok": False, "error": "unknown_method"}

    def find(self, channel, text):
        """The first message in a channel that has this in its text or its blocks, or had it."""
        with self.lock:
            for post in self.posts:
                post.known = getattr(post, "known", "") + post.text + json.dumps(post.blocks)
                if post.channel == channel and text in post.known:
                    return post
        return None

    def all(self, channel):
        with self.lock:
            return [post for post in self.posts if post.channel == channel]

    def whispers(self, user):
        with self.lock:
            return [post for post in self.private if post.user == user]

    def count(self, user):
        """The number of the last private message to a user."""
        found = self.whispers(user)
        return found[-1].number if found else 0


def press(base, secret, team, user, post, button):
    """A user presses a button of a message; the status of the answer."""
    payload = {
        "type": "block_actions",
        "team": {"id": team},
        "user": {"id": user, "team_id": team},
        "channel": {"id": post.channel},
        "actions": [button],
        "message": {"ts": post.ts, "thread_ts": post.thread, "blocks": post.blocks},
    }
    body = urllib.parse.urlencode({"payload": json.dumps(payload)})
    now = str(int(time.time()))
    signed = hmac.new(secret.encode(), f"v0:{now}:{body}".encode(), hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": now,
        "X-Slack-Signature": f"v0={signed}",
    }
    return request(base, "POST", "/slack/interactions", body.encode(), headers).status
