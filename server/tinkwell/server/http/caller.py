"""Where a request comes from, which is all that says who sent it.

That is the other end of the connection. Only where that is a proxy that the settings name does the header
X-Forwarded-For count, and of it what trusted proxies have added: read from its end, up to the first address that is not
theirs. Whatever stands before it, the caller may have written.
"""

import ipaddress
from collections.abc import Sequence
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.value import parse

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_HEADER = "X-Forwarded-For"
# What one owner of an IPv6 network has at least.
_PREFIX = 64


def locate(peer: str, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Return the caller's address. `forwarded` are the values of all headers of that name, in their order.

    Raises `errors.InvalidField` where a trusted proxy says what is no address.
    """
    address = parse_address("address", peer)
    hops = [hop for line in forwarded for hop in line.split(",")]
    while hops and any(address in network for network in proxies):
        address = parse_address(_HEADER, hops.pop().strip())
    return str(address)


def neighbourhood(address: Address) -> Network:
    """Return the addresses that are as good as this one to whoever has it: of IPv6, all of the /64, of IPv4, itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return ipaddress.IPv4Network(address)
    return ipaddress.IPv6Network((address, _PREFIX), strict=False)


def parse_address(field: str, text: str) -> Address:
    """Parse an address. A zone says nothing elsewhere, and a mapped IPv4 address is that address.

    Raises `errors.InvalidField`.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        raise errors.InvalidField.of(field, f"{parse.show(text)} is not an IP address") from None
    return getattr(address, "ipv4_mapped", None) or address
