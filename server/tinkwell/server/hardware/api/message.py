"""Converts machines between protobuf and the domain."""

from tinkwell.api.v1 import hardware_service_pb2 as hardware_pb
from tinkwell.core.hardware import network
from tinkwell.core.hardware.record import Hardware
from tinkwell.server.hardware.service.check import Sent
from tinkwell.server.rpc import timestamp


def sent(push: hardware_pb.PushRequest) -> Sent:
    """Read a machine from a push request."""
    return Sent(
        id=push.data.id,
        metadata=push.data.metadata,
        network=to_network(push.data.network),
        expected_version=push.expected_version if push.HasField("expected_version") else None,
    )


def to_network(message: hardware_pb.Network) -> network.Network:
    """Read a network. Fields that are not set have their defaults."""
    return network.Network(tuple(_to_interface(interface) for interface in message.interfaces))


def to_message(machine: Hardware) -> hardware_pb.Hardware:
    """Build the message of a machine."""
    return hardware_pb.Hardware(
        id=machine.id,
        version=machine.version,
        metadata=machine.metadata,
        network=hardware_pb.Network(
            interfaces=[_to_interface_message(interface) for interface in machine.network.interfaces]
        ),
        created_at=timestamp.of(machine.created_at),
        updated_at=timestamp.of(machine.updated_at),
    )


def _to_interface(message: hardware_pb.Interface) -> network.Interface:
    dhcp, netboot = message.dhcp, message.netboot
    return network.Interface(
        dhcp=network.Dhcp(
            mac=dhcp.mac,
            hostname=dhcp.hostname,
            lease_time=dhcp.lease_time,
            name_servers=tuple(dhcp.name_servers),
            time_servers=tuple(dhcp.time_servers),
            arch=dhcp.arch,
            uefi=dhcp.uefi,
            iface_name=dhcp.iface_name,
            ip=network.Ip(dhcp.ip.address, dhcp.ip.netmask, dhcp.ip.gateway, dhcp.ip.family),
        ),
        netboot=network.Netboot(
            allow_pxe=netboot.allow_pxe,
            allow_workflow=netboot.allow_workflow,
            ipxe=network.Ipxe(netboot.ipxe.url, netboot.ipxe.contents),
            osie=network.Osie(netboot.osie.base_url, netboot.osie.kernel, netboot.osie.initrd),
        ),
    )


def _to_interface_message(interface: network.Interface) -> hardware_pb.Interface:
    """Build the message of an interface. Parts without any value are left out, as in the JSON form."""
    message = hardware_pb.Interface()
    if interface.dhcp != network.Dhcp():
        message.dhcp.CopyFrom(_to_dhcp_message(interface.dhcp))
    if interface.netboot != network.Netboot():
        message.netboot.CopyFrom(_to_netboot_message(interface.netboot))
    return message


def _to_dhcp_message(dhcp: network.Dhcp) -> hardware_pb.DHCP:
    message = hardware_pb.DHCP(
        mac=dhcp.mac,
        hostname=dhcp.hostname,
        lease_time=dhcp.lease_time,
        name_servers=dhcp.name_servers,
        time_servers=dhcp.time_servers,
        arch=dhcp.arch,
        uefi=dhcp.uefi,
        iface_name=dhcp.iface_name,
    )
    if dhcp.ip != network.Ip():
        ip = dhcp.ip
        message.ip.CopyFrom(
            hardware_pb.IP(address=ip.address, netmask=ip.netmask, gateway=ip.gateway, family=ip.family)
        )
    return message


def _to_netboot_message(netboot: network.Netboot) -> hardware_pb.Netboot:
    message = hardware_pb.Netboot(allow_pxe=netboot.allow_pxe, allow_workflow=netboot.allow_workflow)
    if netboot.ipxe != network.Ipxe():
        message.ipxe.CopyFrom(hardware_pb.IPXE(url=netboot.ipxe.url, contents=netboot.ipxe.contents))
    if netboot.osie != network.Osie():
        osie = netboot.osie
        message.osie.CopyFrom(hardware_pb.Osie(base_url=osie.base_url, kernel=osie.kernel, initrd=osie.initrd))
    return message
