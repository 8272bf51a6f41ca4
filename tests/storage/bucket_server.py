# SPDX-License-Identifier: Apache-2.0
"""An S3 server on loopback (moto's), and a proxy before it that counts requests and makes faults.

with serve() as server, Proxy(server.port) as proxy:
    os.environ.update(proxy.environ)
    proxy.faults.append(every(7, drop))
"""

import contextlib
import http.client
import http.server
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""

Fault = Callable[[int, str, str], str]
"""Says by a request's number, method and path what happens to it: "", "drop", or a status.

With "half", half of an answer is sent and the connection closed; with "stall", the other half comes
a moment later.
"""
STALL_SECONDS = 0.15


@dataclass(frozen=True)
class Server:
    port: int

    @property
    def environ(self) -> dict[str, str]:
        return environ(self.port)


def environ(port: int) -> dict[str, str]:
    """What the variables of a process have to be for it to reach the server."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


@contextlib.contextmanager
def serve() -> Iterator[Server]:
    """A server that ends with the block, and with this process."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        try:
            yield Server(port)
        finally:
            process.kill()


def every(number: int, what: str, method: str = "") -> Fault:
    """A fault of every n-th request, or of every n-th with this method."""
    seen = Counter[str]()

    def decide(_: int, used: str, __: str) -> str:
        seen[used] += 1
        if method and used != method:
            return ""
        count = seen[used] if method else seen.total()
        return what if count % number == 0 else ""

    return decide


@dataclass
class Proxy:
    """Between a client and the server: counts, and fails when it is asked to."""

    server_port: int
    faults: list[Fault] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    num_bytes_up: int = 0
    num_bytes_down: int = 0
    log: list[tuple[str, str]] = field(default_factory=list)

    def __enter__(self) -> "Proxy":
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def environ(self) -> dict[str, str]:
        return environ(self._server.server_address[1])

    def reset(self) -> None:
        """Count from nothing."""
        self.requests.clear()
        self.log.clear()
        self.num_bytes_up = self.num_bytes_down = 0

    def note(self, method: str, path: str, num_bytes: int) -> str:
        with self._lock:
            kind = "LIST" if method == "GET" and re.search(r"[?&]list-type=", path) else method
            self.requests[kind] += 1
            self.num_bytes_up += num_bytes
            self.log.append((kind, path))
            number = self.requests.total()
            faults = list(self.faults)
        # Not while it is locked: a fault may make requests of its own.
        return next(filter(None, (decide(number, kind, path) for decide in faults)), "")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Proxy

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # who asks was killed
            super().handle()

    def do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        what = self.owner.note(self.command, self.path, length)
        body = self.rfile.read(length)
        if len(body) < length:  # who sends it was killed: a bucket takes no part of an object
            self.close_connection = True
            return
        if what == "drop":
            self.close_connection = True
            self.connection.close()
            return
        if what in ("half", "stall"):
            self._answer(half=what, body=body)
            return
        if what:
            self.send_response(int(what))
            code = {"403": "AccessDenied", "503": "SlowDown"}.get(what, "InternalError")
            text = f"<Error><Code>{code}</Code><Message>a fault of the test</Message></Error>"
            data = b"" if self.command == "HEAD" else text.encode()
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Type", "application/xml")
            self.end_headers()
            self.wfile.write(data)
            return
        self._answer(half="", body=body)

    def _answer(self, *, half: str, body: bytes) -> None:
        upstream = http.client.HTTPConnection("127.0.0.1", self.owner.server_port, timeout=60)
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() != "expect"}
            upstream.request(self.command, self.path, body or None, headers)
            answer = upstream.getresponse()
            data = answer.read()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else len(data)
            self.send_header("Content-Length", str(length or 0))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if half else data)
            if half == "stall":
                self.wfile.flush()
                time.sleep(STALL_SECONDS)
                self.wfile.write(data[len(data) // 2 :])
            with self.owner._lock:
                self.owner.num_bytes_down += len(data)
            if half == "half":
                self.close_connection = True
                self.connection.close()
        finally:
            upstream.close()

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do

    def log_message(self, *_: object) -> None:
        pass


def variables_for(proxy_or_server: Proxy | Server, cache_dir: str) -> dict[str, str]:
    """The variables of a process of its own."""
    return {**os.environ, **proxy_or_server.environ, "STOKER_CACHE_DIR": cache_dir}
