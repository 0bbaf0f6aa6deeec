"""Tinkerbell's own functions: names of partitions, and netmasks."""

import ipaddress
from collections.abc import Mapping

from tinkwell.core import errors
from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import argument
from tinkwell.core.template.gotemplate.function.argument import Function, Value
from tinkwell.core.value import parse


def _format_partition(arguments: list[Value]) -> str:
    """Return the name of a device's partition as in Linux: after a digit with a `p`, below /dev/disk with `-part`."""
    device = argument.text("formatPartition", arguments[0])
    partition = argument.integer("formatPartition", arguments[1])
    if not device:
        raise BadArgument("formatPartition needs a device, such as /dev/sda", is_value=True)
    if device.startswith("/dev/disk/"):
        return f"{device}-part{partition}"
    return f"{device}p{partition}" if device[-1] in "0123456789" else f"{device}{partition}"


def _netmask_to_prefix_length(arguments: list[Value]) -> str:
    netmask = argument.text("netmaskToPrefixLength", arguments[0])
    try:
        address = ipaddress.IPv4Address(parse.parse_netmask("", netmask))
    except (errors.InvalidField, ipaddress.AddressValueError) as exc:
        raise BadArgument(
            f"netmaskToPrefixLength needs a netmask such as 255.255.255.0 in place of {parse.show(netmask)}",
            is_value=True,
        ) from exc
    return str(int(address).bit_count())


FUNCTIONS: Mapping[str, Function] = {
    "formatPartition": Function(_format_partition, 2, 2),
    "netmaskToPrefixLength": Function(_netmask_to_prefix_length, 1, 1),
}
