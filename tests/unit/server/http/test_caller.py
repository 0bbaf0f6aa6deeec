"""Whose address counts, and that nobody can choose his own."""

import ipaddress

import pytest

from tinkwell.core import errors
from tinkwell.server.http import caller

PROXIES = [ipaddress.ip_network("10.0.0.0/24"), ipaddress.ip_network("fd00::7")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["198.51.100.9"], "192.0.2.1"),
        ("192.0.2.1", ["nonsense"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.9"], "198.51.100.9"),
        ("10.0.0.1", ["198.51.100.9, 192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.9", "192.0.2.1, 10.0.0.2"], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.9", "10.0.0.2"], "198.51.100.9"),
        ("10.0.0.1", ["10.0.0.3", "10.0.0.2"], "10.0.0.3"),
        ("fd00::7", ["nonsense, 2001:DB8::1"], "2001:db8::1"),
        ("::ffff:10.0.0.1", ["::ffff:192.0.2.1"], "192.0.2.1"),
        ("::ffff:192.0.2.1", [], "192.0.2.1"),
        ("fe80::1%eth0", [], "fe80::1"),
    ],
)
def test_only_what_trusted_proxies_have_added_counts(peer: str, forwarded: list[str], expected: str) -> None:
    assert caller.locate(peer, forwarded, PROXIES) == expected


@pytest.mark.parametrize("line", ["nonsense", "192.0.2.1,", "192.0.2.1:80", "unknown", "\0"])
def test_what_a_proxy_adds_must_be_an_address(line: str) -> None:
    with pytest.raises(errors.InvalidField, match=r"X-Forwarded-For: .* is not an IP address"):
        caller.locate("10.0.0.1", [line], PROXIES)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.1", "192.0.2.1/32"),
        ("::ffff:192.0.2.1", "192.0.2.1/32"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("::1", "::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_whole_network_of_ipv6_is_one_neighbourhood(address: str, expected: str) -> None:
    assert str(caller.neighbourhood(caller.parse_address("address", address))) == expected
