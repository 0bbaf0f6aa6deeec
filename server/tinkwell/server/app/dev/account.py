"""Chooses the account of the operating system that runs PostgreSQL, which refuses to run as root."""

import os
import pwd
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tinkwell.server.app.dev import launch

# Debian's and most other packages of PostgreSQL create the first; the second exists everywhere.
_UNPRIVILEGED = ("postgres", "nobody")
_ACCESS_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Account:
    """An account by number, with its name for PostgreSQL."""

    uid: int
    gid: int
    name: str

    def can_enter(self, path: Path) -> bool:
        """Whether the account may enter a directory or execute a file. The system decides, so ACLs count."""
        if self.uid == os.geteuid():
            return os.access(path, os.X_OK)
        # Python would change the account in a forked child, which gRPC's threads may not survive.
        numbers = (self.uid, self.gid, int(signal.SIGKILL), os.getpid())
        test = subprocess.run(  # noqa: S603 no shell and no foreign input
            [sys.executable, "-I", "-S", launch.__file__, *map(str, numbers), "/usr/bin/env", "test", "-x", str(path)],
            cwd="/",
            check=False,
            timeout=_ACCESS_SECONDS,
        )
        return test.returncode == 0


def own() -> Account:
    """Return the account of this process. Raises `LookupError` if it has no name."""
    return _named(pwd.getpwuid(os.geteuid()))


def unprivileged(*, owner: int | None) -> Account:
    """Return the account to run PostgreSQL as. Existing data stays with its owner.

    Raises `LookupError` if the system has no such account.
    """
    if os.geteuid() != 0:
        return own()
    if owner:
        return _named(pwd.getpwuid(owner))
    for name in _UNPRIVILEGED:
        try:
            return _named(pwd.getpwnam(name))
        except KeyError:
            continue
    raise LookupError(f"PostgreSQL does not run as root, and there is no account named {' or '.join(_UNPRIVILEGED)}")


def _named(entry: pwd.struct_passwd) -> Account:
    return Account(uid=entry.pw_uid, gid=entry.pw_gid, name=entry.pw_name)
