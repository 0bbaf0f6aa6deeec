"""An engine that answers what a test tells it to."""

import contextlib
import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

Handler: TypeAlias = Callable[["Request"], None]


class Request(BaseHTTPRequestHandler):
    """One request to the fake engine; what it answers is the test's business."""

    protocol_version = "HTTP/1.1"
    server: "FakeEngine"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1.41")
        self.server.seen.append(f"{self.command} {path}")
        if (handler := self.server.handlers.get(path)) is not None:
            handler(self)
        elif path == "/version":
            self.answer({"ApiVersion": "1.41"})
        elif path == "/info":
            self.answer({"ID": "fake"})
        else:
            self.answer({"message": f"no {path} here"}, status=404)

    do_POST = do_DELETE = do_GET  # noqa: N815

    def document(self) -> Any:
        """Read the document that was sent; what is not read would be the next request."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, body: object, *, status: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def begin(self) -> None:
        """Begin an answer in chunks."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def end(self) -> None:
        self.chunk(b"")

    def upgrade(self) -> None:
        """Make the connection a container's."""
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "tcp")
        self.end_headers()
        self.close_connection = True

    def break_off(self) -> None:
        """Close the connection in the middle of the answer."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        pass


class FakeEngine(ThreadingHTTPServer):
    """Answers what a test tells it to, on a port, or on a Unix socket at a path."""

    daemon_threads = True

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        if path is not None:
            self.address_family = socket.AF_UNIX
        super().__init__(("127.0.0.1", 0) if path is None else str(path), Request)  # type: ignore[arg-type]  # a path
        self.handlers: dict[str, Handler] = {}
        self.seen: list[str] = []
        self.released = threading.Event()

    def server_bind(self) -> None:
        if self._path is None:
            super().server_bind()
        else:  # which has no host that could be looked up
            socketserver.TCPServer.server_bind(self)

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.server_port}" if self._path is None else f"unix://{self._path}"

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that went away

    def serve(self, path: str, handler: Handler) -> None:
        self.handlers[path] = handler

    def serve_state(
        self,
        name: str,
        status: str,
        *,
        is_out_of_memory: bool = False,
        error: str = "",
        started: bool = True,
        takes_input: bool = False,
        log: str = "json-file",
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Let a container be in a state."""
        found = {
            "Id": name,
            "Image": "sha256:1",
            "Config": {"Labels": labels or {}, "OpenStdin": takes_input},
            "HostConfig": {"LogConfig": {"Type": log}},
            "State": {
                "Status": status,
                "ExitCode": 3,
                "OOMKilled": is_out_of_memory,
                "Error": error,
                "StartedAt": "2026-01-01T00:00:00.5Z" if started else "0001-01-01T00:00:00Z",
                "FinishedAt": "2026-01-01T00:00:02.75Z",
            },
        }
        self.serve(f"/containers/{name}/json", lambda request: request.answer(found))


@contextlib.contextmanager
def running(tls: ssl.SSLContext | None = None, *, path: Path | None = None) -> Iterator[FakeEngine]:
    """Run one; what it still answers is cut off in the end."""
    fake = FakeEngine(path)
    if tls is not None:
        fake.socket = tls.wrap_socket(fake.socket, server_side=True)
    thread = threading.Thread(target=fake.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield fake
    finally:
        fake.released.set()
        fake.shutdown()
        thread.join()
        fake.server_close()
