"""Machines and templates in Tinkerbell's messages."""

import json
from typing import cast

from tinkwell.api.tink import hardware_pb2, template_pb2
from tinkwell.api.v1 import hardware_service_pb2
from tinkwell.core import errors
from tinkwell.core.hardware import network
from tinkwell.core.hardware.record import Hardware
from tinkwell.core.template.record import Template
from tinkwell.core.value import parse
from tinkwell.server.hardware.api import message as hardware_message
from tinkwell.server.hardware.service.check import Sent
from tinkwell.server.rpc import timestamp

# These are sent if the file of a machine has no metadata.
_NO_METADATA = ("", "null")


def sent(message: hardware_pb2.Hardware) -> Sent:
    """Read a machine. Its version is the sender's own, which has no meaning here."""
    interfaces = message.network.interfaces
    if len(interfaces) > network.MAX_INTERFACES:
        raise errors.InvalidField.of(
            "data.network.interfaces",
            f"has {len(interfaces):,} interfaces; at most {network.MAX_INTERFACES} are allowed",
        )
    # Both protocols have the same names for the parts of a network, and only the names are read.
    alike = cast("hardware_service_pb2.Network", message.network)
    return Sent(
        id=message.id,
        metadata=_metadata(message.metadata),
        network=hardware_message.to_network(alike),
        expected_version=None,
    )


def hardware(machine: Hardware) -> hardware_pb2.Hardware:
    """Write a machine. Tinkerbell's command line requires `network`, `dhcp` and `dhcp.ip`."""
    return hardware_pb2.Hardware(
        id=machine.id,
        version=machine.version,
        metadata=machine.metadata,
        network=hardware_pb2.Hardware.Network(interfaces=map(_interface, machine.network.interfaces)),
    )


def found_by_mac(machine: Hardware, mac: str) -> hardware_pb2.Hardware:
    """Write the machine with a MAC address, in the spelling of the request.

    Tinkerbell's command line shows only the interface whose address equals its argument byte by byte.
    """
    written, address = hardware(machine), parse.parse_mac("mac", mac)
    for interface in written.network.interfaces:
        if interface.dhcp.mac == address:
            interface.dhcp.mac = mac
    return written


def found_by_ip(machine: Hardware, ip: str) -> hardware_pb2.Hardware:
    """Write the machine with an IP address, in the same way."""
    written, address = hardware(machine), parse.parse_ip("ip", ip)
    for interface in written.network.interfaces:
        if interface.dhcp.ip.address == address:
            interface.dhcp.ip.address = ip
    return written


def template(found: Template) -> template_pb2.WorkflowTemplate:
    """Write a template. The command line requires both times."""
    return template_pb2.WorkflowTemplate(
        id=found.id,
        name=found.name,
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
        data=found.data,
    )


def _metadata(text: str) -> str:
    """Return the text of the document. A file that has it as text already sends that text quoted once more."""
    if text in _NO_METADATA:
        return ""
    if not text.startswith('"'):
        return text
    try:
        unquoted = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return unquoted if isinstance(unquoted, str) else text


def _interface(interface: network.Interface) -> hardware_pb2.Hardware.Network.Interface:
    dhcp, ip = interface.dhcp, interface.dhcp.ip
    netboot, ipxe, osie = interface.netboot, interface.netboot.ipxe, interface.netboot.osie
    return hardware_pb2.Hardware.Network.Interface(
        dhcp=hardware_pb2.Hardware.DHCP(
            mac=dhcp.mac,
            hostname=dhcp.hostname,
            lease_time=dhcp.lease_time,
            name_servers=dhcp.name_servers,
            time_servers=dhcp.time_servers,
            arch=dhcp.arch,
            uefi=dhcp.uefi,
            iface_name=dhcp.iface_name,
            ip=hardware_pb2.Hardware.DHCP.IP(
                address=ip.address, netmask=ip.netmask, gateway=ip.gateway, family=ip.family
            ),
        ),
        netboot=hardware_pb2.Hardware.Netboot(
            allow_pxe=netboot.allow_pxe,
            allow_workflow=netboot.allow_workflow,
            ipxe=hardware_pb2.Hardware.Netboot.IPXE(url=ipxe.url, contents=ipxe.contents),
            osie=hardware_pb2.Hardware.Netboot.Osie(base_url=osie.base_url, kernel=osie.kernel, initrd=osie.initrd),
        ),
    )
