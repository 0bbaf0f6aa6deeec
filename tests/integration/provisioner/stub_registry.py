"""A registry of images with one image and one user, on the loopback address, where engines accept plain HTTP."""

import base64
import contextlib
import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


class StubRegistry(ThreadingHTTPServer):
    """Serves `team/tool:v1`, whose one layer is a given tar, to whoever gives the login."""

    daemon_threads = True

    def __init__(self, file_system: bytes, *, user: str, password: str) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.login = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        self.blobs: dict[str, bytes] = {}
        self.asked: list[str] = []
        layer = gzip.compress(file_system, mtime=0)
        rootfs = {"type": "layers", "diff_ids": [_digest(file_system)]}
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).encode()
        self.manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": self._add(config, _CONFIG),
                "layers": [self._add(layer, _LAYER)],
            }
        ).encode()

    @property
    def host(self) -> str:
        """The registry's host in names of images."""
        return f"127.0.0.1:{self.server_port}"

    def _add(self, blob: bytes, media_type: str) -> dict[str, object]:
        self.blobs[_digest(blob)] = blob
        return {"mediaType": media_type, "size": len(blob), "digest": _digest(blob)}


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StubRegistry

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.headers.get("Authorization") != self.server.login:
            self._answer(401, b'{"errors": [{"code": "UNAUTHORIZED"}]}', "application/json")
        elif self.path == "/v2/":
            self._answer(200, b"{}", "application/json")
        elif self.path == "/v2/team/tool/manifests/v1":
            self._answer(200, self.server.manifest, _MANIFEST)
        elif (blob := self.server.blobs.get(self.path.removeprefix("/v2/team/tool/blobs/"))) is not None:
            self._answer(200, blob, "application/octet-stream")
        elif _digest(self.server.manifest) in self.path:
            self._answer(200, self.server.manifest, _MANIFEST)
        else:
            message = b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
            self._answer(404, message, "application/json")

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, status: int, body: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="stub"')
        if media_type == _MANIFEST:
            self.send_header("Docker-Content-Digest", _digest(body))
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def running(file_system: bytes, *, user: str, password: str) -> Iterator[StubRegistry]:
    """Run one."""
    registry = StubRegistry(file_system, user=user, password=password)
    thread = threading.Thread(target=registry.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield registry
    finally:
        registry.shutdown()
        thread.join()
        registry.server_close()


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"
