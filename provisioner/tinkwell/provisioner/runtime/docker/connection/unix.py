"""Reaches an engine by a Unix socket of this machine.

The SDK has its own connections for this. They leave a socket open each time that nobody answers, and calls are repeated
while an engine is restarted. Their errors are also less clear.
"""

import socket
from typing import Any

import urllib3

from tinkwell.provisioner.runtime.docker.connection import adapter


class UnixConnection(urllib3.connection.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, *arguments: Any, path: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._path = path

    def connect(self) -> None:
        """Connect; raises `adapter.NotReached` if nobody answers."""
        connecting = socket.socket(socket.AF_UNIX)
        try:
            connecting.settimeout(self.timeout if isinstance(self.timeout, (int, float)) else None)
            connecting.connect(self._path)
        except OSError as error:
            connecting.close()
            raise adapter.NotReached(f"{self._path}: {error.strerror or error}") from error
        self.sock = connecting


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = UnixConnection


class UnixAdapter(adapter.EngineAdapter):
    """The adapter of `requests` for the engine at a Unix socket."""

    def __init__(self, path: str, connections: int) -> None:
        super().__init__(_Pool("localhost", maxsize=connections, path=path), name=path)
