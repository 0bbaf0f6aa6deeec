"""Finds the other accounts of this machine that people or their programs may use, and that can reach local ports."""

import pwd
from collections.abc import Iterable

_ROOT, _NOBODY = 0, 65_534
# Numbers from here on are for people; smaller ones are for the system's services.
_FIRST_OF_PEOPLE = 1000
_NO_SHELLS = frozenset(("nologin", "false", "true", "sync", "shutdown", "halt"))


def find(entries: Iterable[pwd.struct_passwd], *, own: int) -> list[str]:
    """Return the names of accounts that people may use, except root, which may do everything, and the own account."""
    return [
        entry.pw_name
        for entry in entries
        if entry.pw_uid not in (_ROOT, _NOBODY, own) and (entry.pw_uid >= _FIRST_OF_PEOPLE or _has_shell(entry))
    ]


def _has_shell(entry: pwd.struct_passwd) -> bool:
    """Return whether an account can log in. If its entry names no shell, the system takes /bin/sh."""
    return entry.pw_shell.rpartition("/")[2] not in _NO_SHELLS
