"""Which other accounts of this machine people, or programs of theirs, may act as, and so reach what listens here."""

import pwd
from collections.abc import Iterable

_ROOT, _NOBODY = 0, 65_534
# Numbers from here on are for people; those below are for the system's own services.
_FIRST_OF_PEOPLE = 1000
_NO_SHELLS = frozenset(("nologin", "false", "true", "sync", "shutdown", "halt"))


def find(entries: Iterable[pwd.struct_passwd], *, own: int) -> list[str]:
    """Return the names of accounts that somebody may act as, besides root, who may do everything, and our own."""
    return [
        entry.pw_name
        for entry in entries
        if entry.pw_uid not in (_ROOT, _NOBODY, own) and (entry.pw_uid >= _FIRST_OF_PEOPLE or _has_shell(entry))
    ]


def _has_shell(entry: pwd.struct_passwd) -> bool:
    """Say whether one can log in; without a shell in its entry, the system takes /bin/sh."""
    return entry.pw_shell.rpartition("/")[2] not in _NO_SHELLS
