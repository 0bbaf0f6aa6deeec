"""Which addresses a request may go to where only public ones are allowed.

The tables are ours, since what Python knows of special addresses changes with its release. They follow the registries
of IANA for special-purpose addresses of both families. Some of what these call globally reachable is refused as well:
it stands for a service of whatever network one is in, or for nothing that anybody serves webhooks from.
"""

import ipaddress
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

SPECIAL_IPV4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private use
            "100.64.0.0/10",  # shared by carriers and their customers
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local
            "172.16.0.0/12",  # private use
            "192.0.0.0/24",  # protocol assignments, among them the dummy address and services of the own network
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112, which answers name servers alone
            "192.52.193.0/24",  # relays of multicast
            "192.88.99.0/24",  # relays of 6to4, of which none is left
            "192.168.0.0/16",  # private use
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)

# All that is given out for ordinary use. Everything outside is special: loopback, link-local, site-local, unique local,
# multicast, discarded, segment routing, translation of one's own, and what carries an IPv4 address in its last bits.
_ORDINARY_IPV6 = ipaddress.IPv6Network("2000::/3")
SPECIAL_IPV6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments, among them Teredo, benchmarks and ORCHID
            "2001:db8::/32",  # documentation
            "2620:4f:8000::/48",  # AS112
            "3ffe::/16",  # the former 6bone
            "3fff::/20",  # documentation
        ),
    )
)

# Translators answer for IPv4 addresses under the first, and every stack does under the second.
_TRANSLATED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::ffff:0:0/96"))
_6TO4 = ipaddress.IPv6Network("2002::/16")
# The first half of an interface identifier that carries an IPv4 address, but for two bits that have other meanings.
_ISATAP = 0x00005EFE
_ISATAP_MASK = 0xFCFFFFFF


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, by itself and in every disguise.

    An IPv6 address that carries an IPv4 one is at most as public as that.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in SPECIAL_IPV4)
    number = int(address)
    last = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if any(address in network for network in _TRANSLATED):
        return is_public(last)
    if address not in _ORDINARY_IPV6 or any(address in network for network in SPECIAL_IPV6):
        return False
    if address in _6TO4 and not is_public(ipaddress.IPv4Address(number >> 80 & 0xFFFFFFFF)):
        return False
    return number >> 32 & _ISATAP_MASK != _ISATAP or is_public(last)
