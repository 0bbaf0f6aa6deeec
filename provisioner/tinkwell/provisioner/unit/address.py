"""Finds the address of this machine, and the interface that has an address."""

import fcntl
import ipaddress
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"
# An address for documentation, to which nothing is sent. The system tells which address of its own it would send from.
_NOWHERE = ("192.0.2.1", 9)
_GET_ADDRESS, _GET_NETMASK = 0x8915, 0x891B


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """An interface with its name, its hardware address, and the network of one of its addresses."""

    name: str = ""
    mac: str = ""
    subnet: str = ""


def own() -> str:
    """Return the address by which this machine reaches others, the loopback address if it has no route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_NOWHERE)
        except OSError:
            return LOOPBACK
        return str(probe.getsockname()[0])


def interface(address: str) -> Interface:
    """Return the interface that has an IPv4 address; its name is empty if no interface of this machine has it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                found, mask = (_asked(probe, request, name) for request in (_GET_ADDRESS, _GET_NETMASK))
            except OSError:
                continue  # The interface has no IPv4 address.
            if found == address:
                subnet = ipaddress.ip_network(f"{found}/{mask}", strict=False)
                return Interface(name=name, mac=_mac(name), subnet=str(subnet))
    return Interface(subnet=str(ipaddress.ip_network(address)))


def _asked(probe: socket.socket, request: int, name: str) -> str:
    answer = fcntl.ioctl(probe.fileno(), request, struct.pack("256s", name.encode()[:15]))
    return socket.inet_ntoa(answer[20:24])


def _mac(name: str) -> str:
    try:
        return (Path("/sys/class/net") / name / "address").read_text("ascii").strip()
    except OSError:
        return ""
