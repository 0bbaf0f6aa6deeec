"""One port for several processes: found to be free, and kept, before any of them listens on it."""

import contextlib
import socket
from collections.abc import Iterator

from tinkwell.core import errors


@contextlib.contextmanager
def reserved(*, host: str, port: int) -> Iterator[int]:
    """Hold a port that processes of this account may share by SO_REUSEPORT, and nobody else; yields its number.

    Port 0 takes a free one. The socket that holds it never accepts a connection. Raises `errors.Unavailable` for a port
    that somebody listens on or holds.
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
    # SO_REUSEPORT would join whoever has the port already, so it is set only once the port is this socket's alone.
    # SO_REUSEADDR gets past connections of a former server that linger; with it only listening is exclusive, hence the
    # moment of listening, and its end, which keeps the port bound.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((host, port))
    holder.listen(1)
    holder.shutdown(socket.SHUT_RDWR)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
