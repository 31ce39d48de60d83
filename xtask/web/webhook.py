"""A receiver of webhooks for tests: it checks each signature, and keeps what it was told."""

import hashlib
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Webhook:
    """Use it with `with`. Every fifth request is refused at first, so that it is tried again."""

    secret = "webhook-secret"

    def __init__(self):
        self.kept, self.wrong, self.lock, self.count, self.refused = {}, [], threading.Lock(), 0, set()

    def __enter__(self):
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                self.send_response(200 if hook.take(self.headers, body) else 503)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_port
        self.address = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def take(self, headers, body):
        parts = dict(
            part.split("=", 1) for part in headers.get("steward-signature", "").split(",") if "=" in part
        )
        signed = f"{parts.get('t')}.".encode() + body
        wanted = hmac.new(self.secret.encode(), signed, hashlib.sha256).hexdigest()
        told = json.loads(body)
        with self.lock:
            self.count += 1
            if parts.get("v1") != wanted:
                self.wrong.append(dict(headers))
            if self.count % 5 == 0 and told["delivery_id"] not in self.refused:
                self.refused.add(told["delivery_id"])
                return False
            # A delivery that is repeated has the same id.
            self.kept[told["delivery_id"]] = told
            return True

    def told(self):
        with self.lock:
            return list(self.kept.values())
