"""The connections over which many watches run, so that what is written to all of them leaves in few packets.

gRPC writes each message to the connection by itself, and the client wakes for each. Where hundreds of watches share a
connection, as those of one program or those behind a proxy do, that is most of what they cost either side. Linux keeps
small writes back on request (`TCP_CORK`), for a fifth of a second at most. Which socket is which connection's gRPC does
not tell, but the process may look through its own open files. Where that is not possible, as on other systems, for
`unix:` addresses or beside very many other connections, everything works as without.
"""

import asyncio
import contextlib
import ipaddress
import os
import socket
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

# From so many watches on the connection is looked for, and among no more open files: to look at one takes ten
# microseconds.
_MANY_WATCHES = 8
_MAX_FILES = 1_000
_OPEN_FILES = Path("/proc/self/fd")
_CORK: int | None = getattr(socket, "TCP_CORK", None)

_Address = tuple[str, int]


class Connection:
    """One client's connection, while watches use it; a `tinkwell.server.log.fanout.connection.Line`."""

    def __init__(self, peer: str) -> None:
        self.watches = 0
        self._peer = peer
        self._is_looked_for = False
        self._socket: socket.socket | None = None
        self._is_held = False

    @property
    def is_found(self) -> bool:
        """Whether `hold` does anything."""
        return self._socket is not None

    def find(self) -> None:
        """Look for the socket, once; it stays open, if only for us, until `close`."""
        if not self._is_looked_for and _CORK is not None:
            self._is_looked_for = True
            address = _parse(self._peer)
            self._socket = _find(address) if address is not None else None

    def close(self) -> None:
        """Forget the socket, and leave nothing kept back: other calls go on over the connection."""
        if self._socket is not None:
            self._send()
            self._socket.close()
            self._socket = None

    def hold(self) -> None:
        """Keep back what is written during this turn of the event loop, as far as it does not fill packets."""
        if self._socket is not None and not self._is_held:
            self._is_held = True
            self._cork(1)
            # Whoever is to write in this turn does so before anything that is called later.
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        if self._is_held:
            self._is_held = False
            self._cork(0)

    def _cork(self, value: int) -> None:
        if self._socket is not None and _CORK is not None:
            # What is closed has nothing to keep back.
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, _CORK, value)


class Connections:
    """All connections that watches use, by their peers as gRPC names them."""

    def __init__(self) -> None:
        self._connections: dict[str, Connection] = {}

    @contextlib.contextmanager
    def shared(self, peer: str) -> Iterator[Connection]:
        """Count a watch among those of its connection while the block runs."""
        connection = self._connections.setdefault(peer, Connection(peer))
        connection.watches += 1
        try:
            if connection.watches == _MANY_WATCHES:
                connection.find()
            yield connection
        finally:
            connection.watches -= 1
            if not connection.watches:
                del self._connections[peer]
                connection.close()


def _parse(peer: str) -> _Address | None:
    """Return the address in, say, `ipv4:192.0.2.1:50000` or `ipv6:%5B2001:db8::1%5D:50000`."""
    family, _, rest = urllib.parse.unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if family not in ("ipv4", "ipv6") or not port.isdecimal():
        return None
    try:
        return _normal(host.strip("[]"), int(port))
    except ValueError:
        return None


def _normal(host: str, port: int) -> _Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address), port


def _find(address: _Address) -> socket.socket | None:
    try:
        files = [int(file.name) for file in _OPEN_FILES.iterdir()]
    except OSError:
        return None
    for descriptor in files if len(files) <= _MAX_FILES else ():
        if _peer_of(descriptor) == address:
            return _copy(descriptor, address)
    return None


def _peer_of(descriptor: int) -> _Address | None:
    """Return whom a TCP connection leads to; None for every other file, and for those that are closed meanwhile."""
    try:
        found = socket.socket(fileno=descriptor)
    except OSError:
        return None
    try:
        if found.family not in (socket.AF_INET, socket.AF_INET6) or found.type != socket.SOCK_STREAM:
            return None
        host, port, *_ = found.getpeername()
        return _normal(host, port)
    except OSError:
        return None
    finally:
        # It is gRPC's, who closes it.
        found.detach()


def _copy(descriptor: int, address: _Address) -> socket.socket | None:
    """Return the socket under a descriptor of its own, so that the number cannot come to mean another one."""
    try:
        copy = socket.socket(fileno=os.dup(descriptor))
    except OSError:
        return None
    if _peer_of(copy.fileno()) != address:
        copy.close()
        return None
    return copy
