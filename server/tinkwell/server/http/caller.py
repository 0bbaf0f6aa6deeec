"""Determines the address of a request's sender, which alone identifies it.

It is the address at the other end of the connection. Only if that belongs to a proxy that the settings name, the header
X-Forwarded-For counts, and only the part that trusted proxies have added: it is read from its end, up to the first
address that is not theirs. The sender may have written everything before that.
"""

import ipaddress
from collections.abc import Sequence
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.value import parse

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_HEADER = "X-Forwarded-For"
# The smallest IPv6 network that one owner has.
_PREFIX = 64


def locate(peer: str, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Return the caller's address. `forwarded` are the values of all headers of that name, in order.

    Raises `errors.InvalidField` if a trusted proxy gives something that is not an address.
    """
    address = parse_address("address", peer)
    hops = [hop for line in forwarded for hop in line.split(",")]
    while hops and any(address in network for network in proxies):
        address = parse_address(_HEADER, hops.pop().strip())
    return str(address)


def neighbourhood(address: Address) -> Network:
    """Return the addresses that the owner of this one can use as well: for IPv6 all of the /64, for IPv4 itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return ipaddress.IPv4Network(address)
    return ipaddress.IPv6Network((address, _PREFIX), strict=False)


def parse_address(field: str, text: str) -> Address:
    """Parse an address. A zone is dropped, and a mapped IPv4 address becomes an IPv4 address.

    Raises `errors.InvalidField`.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        raise errors.InvalidField.of(field, f"{parse.show(text)} is not an IP address") from None
    return getattr(address, "ipv4_mapped", None) or address
