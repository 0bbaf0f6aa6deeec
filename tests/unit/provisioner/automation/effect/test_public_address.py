"""Which addresses are public."""

import ipaddress

import pytest

from tinkwell.provisioner.automation.effect.public_address import SPECIAL_IPV4, SPECIAL_IPV6, is_public

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "192.0.1.1",
    "192.88.98.255",
    "192.88.100.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2400:cb00:2048:1::6810:1",
    "2606:4700::1111",
    "2a00:1450:4001:81b::200e",
    "3ffd:ffff::1",
    # What carries a public one.
    "64:ff9b::101:101",
    "::ffff:1.1.1.1",
    "2002:101:101::1",
    "2606:4700::5efe:1.1.1.1",
    "2606:4700::200:5efe:1.1.1.1",
    # Not ISATAP, whatever its end may look like.
    "2606:4700::5eff:127.0.0.1",
]

# Addresses of each range that IANA lists, by what it is for.
SPECIAL = {
    "this network": ["0.0.0.0", "0.255.255.255"],
    "private use": ["10.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    "shared": ["100.64.0.1", "100.127.255.255"],
    "loopback": ["127.0.0.1", "127.255.255.255", "::1"],
    "link-local": ["169.254.169.254", "fe80::1", "fe80::1%eth0", "febf::1"],
    "protocol assignments": ["192.0.0.0", "192.0.0.7", "192.0.0.255", "2001::1", "2001:1ff:ffff::1"],
    "dummy": ["192.0.0.8", "100:0:0:1::1"],
    "anycast of the own network": ["192.0.0.9", "192.0.0.10", "2001:1::1", "2001:1::2", "2001:1::3"],
    "discovery of NAT64": ["192.0.0.170", "192.0.0.171"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1", "3fff:fff:ffff::1"],
    "AS112": ["192.31.196.1", "192.175.48.1", "2001:4:112::1", "2620:4f:8000::1"],
    "AMT": ["192.52.193.1", "2001:3::1"],
    "relays of 6to4": ["192.88.99.0", "192.88.99.1", "192.88.99.2", "192.88.99.255"],
    "benchmarks": ["198.18.0.1", "198.19.255.255", "2001:2::1"],
    "multicast": ["224.0.0.1", "239.1.1.1", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.254", "4000::1", "8000::1", "e000::1", "fe00::1", "200::1"],
    "broadcast": ["255.255.255.255"],
    "unspecified": ["::"],
    "discarded": ["100::1", "100::ffff:ffff:ffff:ffff"],
    "Teredo": ["2001:0:a00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "ORCHID": ["2001:10::1", "2001:20::1", "2001:2f:ffff::1"],
    "DRIP": ["2001:30::1"],
    "6bone": ["3ffe::1"],
    "segment routing": ["5f00::1", "5f00:ffff::1"],
    "unique local": ["fc00::1", "fd12::1"],
    "site-local": ["fec0::1"],
    "translation of one's own": ["64:ff9b:1::1", "64:ff9b:1::a00:1", "64:ff9b:1:ffff::1.1.1.1", "64:ff9b:2::1"],
    "translated": ["::ffff:0:127.0.0.1", "::ffff:0:10.0.0.1", "::ffff:0:1.1.1.1"],
    "compatible": ["::127.0.0.1", "::10.0.0.1", "::1.1.1.1"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:192.0.0.8", "::ffff:192.88.99.1"],
    "NAT64 of what is special": ["64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b::192.0.0.8"],
    "6to4 of what is special": ["2002:7f00:1::", "2002:a00:1::1", "2002:c058:6301::1", "2002:c000:8::1"],
    "ISATAP of what is special": [
        "2606:4700::5efe:10.0.0.1",
        "2606:4700::5efe:127.0.0.1",
        "2606:4700::200:5efe:169.254.169.254",
        "2606:4700::100:5efe:10.0.0.1",
        "2606:4700::300:5efe:10.0.0.1",
        "fe80::5efe:1.1.1.1",
        "2002:101:101::5efe:10.0.0.1",
    ],
}


@pytest.mark.parametrize("text", PUBLIC)
def test_addresses_of_the_internet_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in SPECIAL.items() for text in texts])
def test_all_others_are_not_in_any_disguise(kind: str, text: str) -> None:
    assert not is_public(ipaddress.ip_address(text)), kind


@pytest.mark.parametrize("network", [*SPECIAL_IPV4, *SPECIAL_IPV6], ids=str)
def test_a_special_range_is_so_from_its_first_address_to_its_last(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> None:
    assert not is_public(network[0])
    assert not is_public(network[-1])
