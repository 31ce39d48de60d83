"""ready.py STEWARD_BINARY ADDRESS: /ready answers within its limit, whatever becomes of PostgreSQL, and /health does not mind.

Between Steward and PostgreSQL stands a proxy on loopback. It stops forwarding, as a server does whose machine hangs; it refuses
connections, as one does that is down; then it is there again.
"""

import socket
import sys
import threading
import time
import urllib.parse

from harness import Server, Tally, request, wait_for

LIMIT = 3.0  # seconds; the limit of Steward is 2


class Proxy:
    def __init__(self, host, port):
        self.to, self.links, self.is_holding = (host, port), [], threading.Event()
        self.open()

    def open(self, port=0):
        self.listener = socket.create_server(("127.0.0.1", port), reuse_port=False)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self.to)
            except OSError:
                return
            self.links += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.forward, args=(one, other), daemon=True).start()

    def forward(self, one, other):
        try:
            while piece := one.recv(65536):
                while self.is_holding.is_set():
                    time.sleep(0.05)
                other.sendall(piece)
        except OSError:
            pass
        for end in (one, other):
            end.close()

    def close(self):
        """Down: nobody listens, and what was open is cut."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for link in self.links:
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.links = []


def main():
    binary, address = sys.argv[1:3]
    check, parts = Tally(), urllib.parse.urlsplit(address)
    proxy = Proxy(parts.hostname, parts.port or 5432)
    store = parts._replace(netloc=f"{parts.username or 'steward'}@127.0.0.1:{proxy.port}").geturl()

    def timed(path):
        began = time.monotonic()
        answer = request(server.base, "GET", path, timeout=60)
        return answer, time.monotonic() - began

    def is_refused(how):
        for _ in range(3):
            answer, took = timed("/ready")
            check(answer.status == 503 and answer.is_problem(), f"{how}: /ready says no", answer)
            check(took < LIMIT, f"{how}: /ready says it within {LIMIT} s", took)
            answer, took = timed("/health")
            check(answer.status == 200 and took < 1, f"{how}: /health answers", (answer, took))

    with Server(binary, apps=False, store=store) as server:
        check(timed("/ready")[0].status == 200, "it is ready")
        proxy.is_holding.set()
        is_refused("PostgreSQL hangs")
        proxy.is_holding.clear()
        check(wait_for(lambda: timed("/ready")[0].status == 200, 30), "it is ready when PostgreSQL goes on")
        port = proxy.port
        proxy.close()
        is_refused("PostgreSQL is down")
        proxy.open(port)
        check(wait_for(lambda: timed("/ready")[0].status == 200, 30), "it is ready when PostgreSQL is back")
    check.end("ready")


if __name__ == "__main__":
    main()
