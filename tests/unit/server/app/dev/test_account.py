"""The account that runs PostgreSQL is asked what it may reach, by the system."""

import os
from pathlib import Path

import pytest

from tinkwell.server.app.dev import account


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another account run PostgreSQL")
def test_an_account_is_asked_without_a_fork_of_this_process(tmp_path: Path) -> None:
    forks: list[str] = []
    os.register_at_fork(before=lambda: forks.append("a fork"))
    other = account.unprivileged(owner=None)
    assert other.can_enter(Path("/tmp"))
    tmp_path.chmod(0o700)
    assert not other.can_enter(tmp_path)
    assert forks == []


def test_this_account_may_enter_what_it_owns(tmp_path: Path) -> None:
    own = account.own()
    assert own.can_enter(tmp_path)
    assert not own.can_enter(tmp_path / "missing")
