"""How many streams of one kind may be open at once: in all, and from one host, so that one cannot take all of them."""

import collections
import contextlib
import ipaddress
import urllib.parse
from collections.abc import Iterator

from tinkwell.core import errors

# Whoever has an address of IPv6 usually has a network of this size.
_HOST_BITS = 64


class Quota:
    """Counts open streams. `what` names them to those who are refused, as in "health watches"."""

    def __init__(self, what: str, *, total: int, each_host: int) -> None:
        self._what = what
        self._total = total
        self._each_host = each_host
        self._hosts: collections.Counter[str] = collections.Counter()

    @property
    def taken(self) -> int:
        """How many are open."""
        return self._hosts.total()

    @contextlib.contextmanager
    def one(self, peer: str) -> Iterator[None]:
        """Count one of a peer, as gRPC names it, while the block runs. Raises `errors.LimitReached`."""
        host = host_of(peer)
        if self.taken >= self._total:
            raise errors.LimitReached(f"this server has its limit of {self._total:,} {self._what}; try another one")
        if self._hosts[host] >= self._each_host:
            raise errors.LimitReached(f"this host has its limit of {self._each_host:,} {self._what}; end some of them")
        self._hosts[host] += 1
        try:
            yield
        finally:
            self._hosts[host] -= 1
            if not self._hosts[host]:
                del self._hosts[host]


def host_of(peer: str) -> str:
    """Return the host in, say, `ipv4:192.0.2.1:50000` or `ipv6:%5B2001:db8::1%5D:50000`; of IPv6, its network.

    Callers by a `unix:` address are one host.
    """
    family, _, rest = urllib.parse.unquote(peer).partition(":")
    host = rest.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return family
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _HOST_BITS), strict=False))
