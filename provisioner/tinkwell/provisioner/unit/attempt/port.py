"""The ports that a unit says it opens, with what an attempt has changed."""

import re

from tinkwell.core.unit.effect import Port
from tinkwell.provisioner.unit.attempt.world import Refused

PROTOCOLS = ("tcp", "udp", "icmp")
MAX_RANGE = 1_000
_MAX_PORT = 65_535
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?(?:/([A-Za-z]+))?")


class Ports:
    """Ports that were open at the grant, and what becomes of them."""

    def __init__(self, given: frozenset[Port]) -> None:
        self._given = given
        self._open = set(given)

    @property
    def open(self) -> list[Port]:
        """All that are open now, in order."""
        return sorted(self._open, key=lambda port: (port.protocol, port.number))

    @property
    def opened(self) -> tuple[Port, ...]:
        """Those that the attempt has opened."""
        return tuple(port for port in self.open if port not in self._given)

    @property
    def closed(self) -> tuple[Port, ...]:
        """Those that the attempt has closed."""
        gone = self._given - self._open
        return tuple(sorted(gone, key=lambda port: (port.protocol, port.number)))

    def add(self, ports: list[Port]) -> None:
        """Open ports."""
        self._open |= set(ports)

    def take(self, ports: list[Port]) -> None:
        """Close ports, which need not be open."""
        self._open -= set(ports)


def read(text: str) -> list[Port]:
    """Read what a program names, such as `80`, `80/udp`, `8000-8010/tcp` or `icmp`. Raises `Refused`."""
    if text.lower() == "icmp":
        return [Port(protocol="icmp")]
    found = _RANGE.fullmatch(text)
    if found is None:
        raise Refused(f'"{text}" is no port: write 80, 80/udp, 8000-8010/tcp or icmp')
    first, protocol = int(found[1]), (found[3] or "tcp").lower()
    last = int(found[2]) if found[2] else first
    if protocol not in ("tcp", "udp"):
        raise Refused(f'invalid protocol "{found[3]}", expected "tcp", "udp" or "icmp"')
    if not 1 <= first <= last <= _MAX_PORT:
        raise Refused(f"{text}: a port is a number from 1 to {_MAX_PORT:,}, and a range grows")
    if last - first >= MAX_RANGE:
        raise Refused(f"{text}: a range has at most {MAX_RANGE:,} ports")
    return [Port(protocol=protocol, number=number) for number in range(first, last + 1)]


def write(port: Port) -> str:
    """Write a port as programs read it."""
    return port.protocol if port.protocol == "icmp" else f"{port.number}/{port.protocol}"
