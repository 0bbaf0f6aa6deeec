"""How many streams may be open, in all and from one host."""

import contextlib

import pytest

from tinkwell.core import errors
from tinkwell.server.rpc.quota import Quota, host_of


@pytest.mark.parametrize(
    "peer, host",
    [
        ("ipv4:192.0.2.1:50000", "192.0.2.1"),
        ("ipv6:%5B2001:db8::1%5D:50000", "2001:db8::/64"),
        ("ipv6:[2001:db8:0:0:ffff::1]:50001", "2001:db8::/64"),
        ("ipv6:[2001:db8:0:1::1]:50001", "2001:db8:0:1::/64"),
        ("ipv6:[::ffff:192.0.2.1]:50000", "192.0.2.1"),
        ("ipv6:[fe80::1%25eth0]:50000", "fe80::/64"),
        ("unix:", "unix"),
        ("unix:/run/tinkwell.sock", "unix"),
        ("", ""),
    ],
)
def test_the_host_of_a_peer_has_no_port(peer: str, host: str) -> None:
    assert host_of(peer) == host


def test_one_host_may_have_a_part_and_gives_it_back() -> None:
    quota = Quota("streams", total=10, each_host=2)
    with contextlib.ExitStack() as first:
        first.enter_context(quota.one("ipv4:192.0.2.1:1"))
        first.enter_context(quota.one("ipv4:192.0.2.1:2"))
        with (
            pytest.raises(errors.LimitReached, match="this host has its limit of 2 streams"),
            quota.one("ipv4:192.0.2.1:3"),
        ):
            pass
        with quota.one("ipv4:192.0.2.2:1"):
            assert quota.taken == 3
    assert quota.taken == 0
    with quota.one("ipv4:192.0.2.1:3"):
        assert quota.taken == 1


def test_all_hosts_share_the_total() -> None:
    quota = Quota("streams", total=3, each_host=2)
    with contextlib.ExitStack() as taken:
        for number in range(3):
            taken.enter_context(quota.one(f"ipv4:192.0.2.{number}:1"))
        with pytest.raises(errors.LimitReached, match="this server has its limit of 3 streams"), quota.one("unix:"):
            pass
    with quota.one("unix:"):
        assert quota.taken == 1
