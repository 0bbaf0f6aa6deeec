"""Which other accounts may use what listens on this machine."""

import pwd

import pytest

from tinkwell.server.app.dev import neighbor


def entry(name: str, uid: int, shell: str) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, uid, "", "/", shell))


@pytest.mark.parametrize(
    ("uid", "shell", "is_told"),
    [
        (0, "/bin/bash", False),
        (1000, "/bin/bash", False),  # our own
        (1001, "/bin/bash", True),
        (1001, "/usr/sbin/nologin", True),
        (101, "/bin/sh", True),
        (101, "", True),
        (33, "/usr/sbin/nologin", False),
        (4, "/bin/sync", False),
        (65_534, "/usr/sbin/nologin", False),
    ],
)
def test_accounts_that_somebody_may_act_as_are_told(uid: int, shell: str, is_told: bool) -> None:
    assert neighbor.find([entry("other", uid, shell)], own=1000) == (["other"] if is_told else [])
