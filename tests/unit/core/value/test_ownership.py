"""Which folders are safe for an account's files."""

import stat

import pytest

from tinkwell.core.value import ownership


@pytest.mark.parametrize(
    ("owner", "mode", "account", "fault"),
    [
        (1000, 0o700, 1000, ""),
        (1000, 0o755, 1000, ""),
        (0, 0o711, 0, ""),
        (0, 0o755, 1000, ""),
        (1000, 0o700, 0, "it belongs to another account, 1000: choose one of your own"),
        (1001, 0o700, 1000, "it belongs to another account, 1001"),
        (1000, 0o770, 1000, "its mode is 0770: take that from them"),
        (1000, 0o702, 1000, "its mode is 0702"),
        (0, 0o1777, 0, "its mode is 1777"),
        (0, 0o2775, 1000, "its mode is 2775"),
    ],
)
def test_a_folder_is_safe_where_nobody_else_but_root_may_change_it(
    owner: int, mode: int, account: int, fault: str
) -> None:
    told = ownership.fault(owner=owner, mode=stat.S_IFDIR | mode, account=account)
    assert fault in told
    assert bool(fault) == bool(told)
