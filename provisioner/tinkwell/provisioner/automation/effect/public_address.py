"""Which addresses a request may go to where only public ones are allowed."""

import ipaddress
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

# Translators answer for IPv4 addresses under this prefix (RFC 6052).
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_MAPPED_TO_NOTHING = ipaddress.IPv6Network("::/96")


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, by itself and in every disguise.

    An IPv6 address that carries an IPv4 one is as public as that.
    """
    if isinstance(address, ipaddress.IPv6Address):
        carried = _carried(address)
        if carried is not None:
            return is_public(carried)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64 or address in _MAPPED_TO_NOTHING:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour
