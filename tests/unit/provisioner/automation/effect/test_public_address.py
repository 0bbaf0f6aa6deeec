"""Which addresses are public."""

import ipaddress

import pytest

from tinkwell.provisioner.automation.effect.public_address import is_public


@pytest.mark.parametrize("text", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"])
def test_addresses_of_the_internet_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.1.2.3",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.170",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "2001:db8::1",
        "2001:0:a00:1::",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
    ],
)
def test_all_others_are_not_in_any_disguise(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))
