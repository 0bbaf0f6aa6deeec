"""Reserves one port for several processes, before any of them listens on it."""

import contextlib
import socket
from collections.abc import Iterator

from tinkwell.core import errors


@contextlib.contextmanager
def reserved(*, host: str, port: int) -> Iterator[int]:
    """Reserve a port that only processes of this account may share, by SO_REUSEPORT; yield its number.

    Port 0 takes a free one. The socket that reserves it never accepts a connection. Raises `errors.Unavailable` for a
    port that is in use or reserved.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as holder:
        try:
            if port:
                _claim(holder, host, port)
            else:
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                holder.bind((host, 0))
        except OSError as error:
            raise errors.Unavailable(f"cannot listen on {host}:{port}: {error.strerror}") from error
        yield holder.getsockname()[1]


def _claim(holder: socket.socket, host: str, port: int) -> None:
    # SO_REUSEPORT would join a process that has the port already, so it is set only after the port is this socket's
    # alone. SO_REUSEADDR allows for lingering connections of a former server. With it only listening is exclusive, so
    # the socket listens for a moment, and then stops, which keeps the port bound.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((host, port))
    holder.listen(1)
    holder.shutdown(socket.SHUT_RDWR)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
