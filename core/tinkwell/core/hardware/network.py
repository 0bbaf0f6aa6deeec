"""The network of a machine: its interfaces, their addresses, and what they boot.

Values that are not given are "", false or zero; the JSON form leaves them out.
"""

import dataclasses
import ipaddress
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tinkwell.core.value import check, parse

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_INTERFACES = 256
MAX_SERVERS = 64
MAX_LEASE_SECONDS = 2**32 - 1
_MAX_HOSTNAME_BYTES = 253
_MAX_WORD_BYTES = 64
_MAX_URL_BYTES = 2_048
_MAX_SCRIPT_BYTES = 64 * 1024

_INT64 = range(-(2**63), 2**63)
_INT64_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Ip:
    """The address of an interface; `family` is 4, 6, or 0 to derive it from the address."""

    address: str = ""
    netmask: str = ""
    gateway: str = ""
    family: int = 0


@dataclass(frozen=True, slots=True)
class Dhcp:
    """The DHCP answer to an interface; `lease_time` in seconds."""

    mac: str = ""
    hostname: str = ""
    lease_time: int = 0
    name_servers: tuple[str, ...] = ()
    time_servers: tuple[str, ...] = ()
    arch: str = ""
    uefi: bool = False
    iface_name: str = ""
    ip: Ip = Ip()


@dataclass(frozen=True, slots=True)
class Ipxe:
    """The iPXE script to boot, by its URL or as text."""

    url: str = ""
    contents: str = ""


@dataclass(frozen=True, slots=True)
class Osie:
    """The installation environment to boot."""

    base_url: str = ""
    kernel: str = ""
    initrd: str = ""


@dataclass(frozen=True, slots=True)
class Netboot:
    """Whether and what an interface may boot."""

    allow_pxe: bool = False
    allow_workflow: bool = False
    ipxe: Ipxe = Ipxe()
    osie: Osie = Osie()


@dataclass(frozen=True, slots=True)
class Interface:
    dhcp: Dhcp = Dhcp()
    netboot: Netboot = Netboot()


@dataclass(frozen=True, slots=True)
class Network:
    interfaces: tuple[Interface, ...] = ()


def normalise(checks: check.Checks, field: str, network: Network) -> Network:
    """Return the network with every address in its normal form; faults are noted in the checks."""
    field = parse.child(field, "interfaces")
    if len(network.interfaces) > MAX_INTERFACES:
        checks.refuse(field, f"has {len(network.interfaces):,} interfaces; at most {MAX_INTERFACES} are allowed")
        return network
    interfaces = tuple(
        _interface(checks, parse.child(field, index), interface) for index, interface in enumerate(network.interfaces)
    )
    _refuse_repeated(checks, field, interfaces)
    return Network(interfaces)


def dump(network: Network) -> str:
    """Write the network as JSON text."""
    return json.dumps(_to_json(network), ensure_ascii=False, separators=(",", ":"))


def load(text: str) -> Network:
    """Read a stored network. A value of a wrong type, which only psql can store, counts as not given."""
    try:
        stored = json.loads(text, parse_int=_short_int)
    except (ValueError, RecursionError):
        return Network()
    interfaces = stored.get("interfaces") if isinstance(stored, dict) else None
    if not isinstance(interfaces, list):
        return Network()
    return Network(tuple(_from_json(Interface(), interface) for interface in interfaces))


def _interface(checks: check.Checks, field: str, interface: Interface) -> Interface:
    return Interface(
        dhcp=_dhcp(checks, parse.child(field, "dhcp"), interface.dhcp),
        netboot=_netboot(checks, parse.child(field, "netboot"), interface.netboot),
    )


def _dhcp(checks: check.Checks, field: str, dhcp: Dhcp) -> Dhcp:
    def text(name: str, given: str, max_bytes: int) -> str:
        path = parse.child(field, name)
        return checks.take(parse.parse_text, path, given, max_bytes=max_bytes, allow_empty=True)

    return Dhcp(
        mac=dhcp.mac and checks.take(parse.parse_mac, parse.child(field, "mac"), dhcp.mac),
        hostname=text("hostname", dhcp.hostname, _MAX_HOSTNAME_BYTES),
        lease_time=checks.take(
            parse.parse_int_range, parse.child(field, "lease_time"), dhcp.lease_time, low=0, high=MAX_LEASE_SECONDS
        ),
        name_servers=_servers(checks, parse.child(field, "name_servers"), dhcp.name_servers),
        time_servers=_servers(checks, parse.child(field, "time_servers"), dhcp.time_servers),
        arch=text("arch", dhcp.arch, _MAX_WORD_BYTES),
        uefi=dhcp.uefi,
        iface_name=text("iface_name", dhcp.iface_name, _MAX_WORD_BYTES),
        ip=_ip(checks, parse.child(field, "ip"), dhcp.ip),
    )


def _servers(checks: check.Checks, field: str, servers: tuple[str, ...]) -> tuple[str, ...]:
    if len(servers) > MAX_SERVERS:
        checks.refuse(field, f"has {len(servers):,} entries; at most {MAX_SERVERS} are allowed")
        return servers
    return tuple(
        checks.take(parse.parse_text, parse.child(field, index), server, max_bytes=_MAX_HOSTNAME_BYTES)
        for index, server in enumerate(servers)
    )


def _ip(checks: check.Checks, field: str, ip: Ip) -> Ip:
    address = ip.address and checks.take(parse.parse_ip, parse.child(field, "address"), ip.address)
    netmask = ip.netmask and checks.take(parse.parse_netmask, parse.child(field, "netmask"), ip.netmask)
    gateway = ip.gateway and checks.take(parse.parse_ip, parse.child(field, "gateway"), ip.gateway)
    if ip.family not in (0, 4, 6):
        checks.refuse(parse.child(field, "family"), f"is {ip.family}; it must be 4, 6, or 0 for what the address tells")
    elif ip.family and (version := _version(address)) not in (0, ip.family):
        checks.refuse(parse.child(field, "family"), f"is {ip.family}, but the address {address} is IPv{version}")
    if (version := _version(netmask)) and _version(address) not in (0, version):
        checks.refuse(parse.child(field, "netmask"), f"{netmask} is IPv{version}, but the address {address} is not")
    return Ip(address, netmask, gateway, ip.family)


def _version(address: str) -> int:
    """Return 4 or 6; 0 for a text that is not an address."""
    try:
        return ipaddress.ip_address(address).version
    except ValueError:
        return 0


def _netboot(checks: check.Checks, field: str, netboot: Netboot) -> Netboot:
    def text(path: str, given: str, max_bytes: int, *, multiline: bool = False) -> str:
        limits = {"max_bytes": max_bytes, "allow_empty": True, "multiline": multiline}
        return checks.take(parse.parse_text, f"{field}.{path}", given, **limits)

    return Netboot(
        allow_pxe=netboot.allow_pxe,
        allow_workflow=netboot.allow_workflow,
        ipxe=Ipxe(
            url=text("ipxe.url", netboot.ipxe.url, _MAX_URL_BYTES),
            contents=text("ipxe.contents", netboot.ipxe.contents, _MAX_SCRIPT_BYTES, multiline=True),
        ),
        osie=Osie(
            base_url=text("osie.base_url", netboot.osie.base_url, _MAX_URL_BYTES),
            kernel=text("osie.kernel", netboot.osie.kernel, _MAX_URL_BYTES),
            initrd=text("osie.initrd", netboot.osie.initrd, _MAX_URL_BYTES),
        ),
    )


def _refuse_repeated(checks: check.Checks, field: str, interfaces: tuple[Interface, ...]) -> None:
    first: dict[str, str] = {}
    for index, interface in enumerate(interfaces):
        for path, address in (("dhcp.mac", interface.dhcp.mac), ("dhcp.ip.address", interface.dhcp.ip.address)):
            place = f"{parse.child(field, index)}.{path}"
            if address and first.setdefault(address, place) != place:
                checks.refuse(place, f"{parse.show(address)} is also the one of {first[address]}")


# Both forms follow the fields of the classes: a field's default gives its type, and is left out in JSON.

_Part = TypeVar("_Part", bound="DataclassInstance")


def _to_json(part: "DataclassInstance") -> dict[str, object]:
    given = ((field, getattr(part, field.name)) for field in dataclasses.fields(part))
    return {field.name: _dumped(content) for field, content in given if content != field.default}


def _dumped(content: object) -> object:
    if isinstance(content, tuple):
        return [_dumped(item) for item in content]
    if dataclasses.is_dataclass(content) and not isinstance(content, type):
        return _to_json(content)
    return content


def _from_json(default: _Part, node: object) -> _Part:
    if not isinstance(node, dict):
        return default
    names = [field.name for field in dataclasses.fields(default) if field.name in node]
    return dataclasses.replace(default, **{name: _loaded(getattr(default, name), node[name]) for name in names})


def _loaded(default: object, node: object) -> object:
    match default:
        case bool():
            return node if isinstance(node, bool) else default
        case int():
            return node if isinstance(node, int) and not isinstance(node, bool) and node in _INT64 else default
        case str():
            return node if isinstance(node, str) else default
        case tuple():
            return tuple(item for item in node if isinstance(item, str)) if isinstance(node, list) else default
        case _:
            assert dataclasses.is_dataclass(default)
            assert not isinstance(default, type)
            return _from_json(default, node)


def _short_int(digits: str) -> int:
    return int(digits) if len(digits) <= _INT64_DIGITS else 0
