"""What a machine's network may be, and the one form in which it is kept."""

import dataclasses
import json
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.hardware import network
from tinkwell.core.value import check


def normalised(*interfaces: network.Interface) -> network.Network:
    checks = check.Checks()
    result = network.normalise(checks, "data.network", network.Network(interfaces))
    checks.finish()
    return result


def dhcp(**fields: Any) -> network.Interface:
    return network.Interface(dhcp=network.Dhcp(**fields))


def ip(**fields: Any) -> network.Interface:
    return dhcp(ip=network.Ip(**fields))


def netboot(**fields: Any) -> network.Interface:
    return network.Interface(netboot=network.Netboot(**fields))


def refusals(*interfaces: network.Interface) -> dict[str, str]:
    with pytest.raises(errors.InvalidField) as caught:
        normalised(*interfaces)
    return {violation.field: violation.description for violation in caught.value.violations}


@pytest.mark.parametrize(
    "given, kept",
    [
        (dhcp(mac="52-54-00-AB-00-03"), dhcp(mac="52:54:00:ab:00:03")),
        (dhcp(mac="5254.00AB.0003"), dhcp(mac="52:54:00:ab:00:03")),
        (ip(address="2001:DB8:0:0::1"), ip(address="2001:db8::1")),
        (ip(address="::ffff:192.0.2.1", family=4), ip(address="192.0.2.1", family=4)),
        (ip(netmask="FFFF:FFFF::", address="fe80::1"), ip(netmask="ffff:ffff::", address="fe80::1")),
        (ip(gateway="FE80::0:1", address="192.0.2.1"), ip(gateway="fe80::1", address="192.0.2.1")),
        (dhcp(lease_time=2**32 - 1), dhcp(lease_time=2**32 - 1)),
        (dhcp(name_servers=("ns.example", "192.0.2.1")), dhcp(name_servers=("ns.example", "192.0.2.1"))),
        (
            netboot(ipxe=network.Ipxe(contents="#!ipxe\r\n\tboot")),
            netboot(ipxe=network.Ipxe(contents="#!ipxe\r\n\tboot")),
        ),
        (network.Interface(), network.Interface()),
    ],
)
def test_every_address_is_kept_in_one_form(given: network.Interface, kept: network.Interface) -> None:
    assert normalised(given) == network.Network((kept,))


@pytest.mark.parametrize(
    "given, path",
    [
        (dhcp(mac="52:54:00:10:00"), "dhcp.mac"),
        (dhcp(mac='x"; DROP TABLE'), "dhcp.mac"),
        (dhcp(hostname="h" * 254), "dhcp.hostname"),
        (dhcp(hostname="a\x00b"), "dhcp.hostname"),
        (dhcp(hostname="a\nb"), "dhcp.hostname"),
        (dhcp(lease_time=-1), "dhcp.lease_time"),
        (dhcp(lease_time=2**32), "dhcp.lease_time"),
        (dhcp(name_servers=("",)), "dhcp.name_servers[0]"),
        (dhcp(name_servers=("ok", "x" * 254)), "dhcp.name_servers[1]"),
        (dhcp(time_servers=("ok",) * 65), "dhcp.time_servers"),
        (dhcp(arch="x" * 65), "dhcp.arch"),
        (dhcp(iface_name="eth0\x1b[2J"), "dhcp.iface_name"),
        (ip(address="192.168.0.256"), "dhcp.ip.address"),
        (ip(address="fe80::1%eth0"), "dhcp.ip.address"),
        (ip(netmask="255.0.255.0"), "dhcp.ip.netmask"),
        (ip(netmask="ffff::", address="192.0.2.1"), "dhcp.ip.netmask"),
        (ip(gateway="router"), "dhcp.ip.gateway"),
        (ip(family=5), "dhcp.ip.family"),
        (ip(family=-1), "dhcp.ip.family"),
        (ip(family=6, address="192.0.2.1"), "dhcp.ip.family"),
        (netboot(ipxe=network.Ipxe(url="x" * 2_049)), "netboot.ipxe.url"),
        (netboot(ipxe=network.Ipxe(contents="\x00")), "netboot.ipxe.contents"),
        (netboot(ipxe=network.Ipxe(contents="x" * 65_537)), "netboot.ipxe.contents"),
        (netboot(osie=network.Osie(base_url="\x7f")), "netboot.osie.base_url"),
        (netboot(osie=network.Osie(kernel="\n")), "netboot.osie.kernel"),
        (netboot(osie=network.Osie(initrd="\r")), "netboot.osie.initrd"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(given: network.Interface, path: str) -> None:
    assert list(refusals(network.Interface(), given)) == [f"data.network.interfaces[1].{path}"]


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = refusals(dhcp(mac="x", hostname="\x00"), ip(address="y", gateway="z"))
    assert list(found) == [
        "data.network.interfaces[0].dhcp.mac",
        "data.network.interfaces[0].dhcp.hostname",
        "data.network.interfaces[1].dhcp.ip.address",
        "data.network.interfaces[1].dhcp.ip.gateway",
    ]


def test_one_address_on_two_interfaces_is_refused_and_both_are_named() -> None:
    found = refusals(dhcp(mac="52:54:00:AB:00:03"), network.Interface(), dhcp(mac="52-54-00-ab-00-03"))
    assert found == {
        "data.network.interfaces[2].dhcp.mac": (
            '"52:54:00:ab:00:03" is also the one of data.network.interfaces[0].dhcp.mac'
        )
    }
    found = refusals(ip(address="2001:db8::1"), ip(address="2001:DB8:0::0:1"))
    assert list(found) == ["data.network.interfaces[1].dhcp.ip.address"]
    assert "data.network.interfaces[0].dhcp.ip.address" in found["data.network.interfaces[1].dhcp.ip.address"]


def test_a_machine_has_at_most_256_interfaces() -> None:
    assert len(normalised(*[network.Interface()] * 256).interfaces) == 256
    assert list(refusals(*[dhcp(mac="x")] * 257)) == ["data.network.interfaces"]


def test_the_json_form_leaves_defaults_out_and_keeps_places() -> None:
    whole = network.Network(
        (
            network.Interface(),
            dhcp(mac="52:54:00:10:00:03", uefi=True, ip=network.Ip(family=4)),
            netboot(allow_pxe=True),
        )
    )
    assert json.loads(network.dump(whole)) == {
        "interfaces": [
            {},
            {"dhcp": {"mac": "52:54:00:10:00:03", "uefi": True, "ip": {"family": 4}}},
            {"netboot": {"allow_pxe": True}},
        ]
    }
    assert network.dump(network.Network()) == "{}"


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        '{"interfaces": 3}',
        '{"interfaces": {"0": {}}}',
        "[" * 100_000,
        '{"interfaces": [%s]}' % ("9" * 5_000),
    ],
)
def test_whatever_psql_stored_can_be_loaded(text: str) -> None:
    assert isinstance(network.load(text), network.Network)


def test_what_has_a_wrong_type_counts_as_not_given() -> None:
    stored = {
        "dhcp": {
            "mac": 5,
            "hostname": "h",
            "uefi": 1,
            "lease_time": True,
            "name_servers": ["a", 3, None],
            "time_servers": "a",
            "ip": {"family": 2**63, "address": ["x"], "netmask": "m"},
            "more": {},
        },
        "netboot": [],
    }
    [loaded] = network.load(json.dumps({"interfaces": [stored]})).interfaces
    wanted = network.Dhcp(hostname="h", name_servers=("a",), ip=network.Ip(netmask="m"))
    assert loaded == dataclasses.replace(network.Interface(), dhcp=wanted)
