"""The account of this machine that runs are started as, if it is not the provisioner's own."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tinkwell.provisioner.runtime import port

_ACCESS_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Account:
    """An account: its name, its user and group ids, and the ids of its other groups."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    @property
    def numbers(self) -> tuple[int, int, list[int]]:
        """The user id, group id and other group ids, in the form that supervisors take."""
        return self.uid, self.gid, list(self.groups)

    def give(self, folder: Path) -> None:
        """Make the account the owner of a folder that this process has created, and the only one to enter it.

        Only this process may be able to replace the folder in its parent, for example by a link. Raises `OSError`.
        """
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(handle).st_uid != self.uid:
                os.fchown(handle, self.uid, self.gid)
                os.fchmod(handle, 0o700)
        finally:
            os.close(handle)

    def can_enter(self, folder: Path) -> bool:
        """Return whether the account can enter a folder; a process of that account tries it, so all rules count."""
        test = subprocess.run(  # noqa: S603  (no shell and no foreign input)
            ["/usr/bin/env", "test", "-x", str(folder)],
            cwd="/",
            env={},
            user=self.uid,
            group=self.gid,
            extra_groups=self.groups,
            timeout=_ACCESS_SECONDS,
            check=False,
        )
        return test.returncode == 0

    def check_reach(self, what: str, folder: Path) -> None:
        """Raise `port.RunError` if the account cannot enter a folder that it needs."""
        if not self.can_enter(folder):
            message = f"the account {self.name} of --process-user cannot enter {what}, {folder}: choose one elsewhere"
            raise port.RunError(port.Reason.UNAVAILABLE, message)


def find(name: str) -> Account:
    """Find an account by its name or number. Raises `ValueError` if it is unknown, or if this process is not root."""
    try:
        entry = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except (KeyError, OverflowError):
        raise ValueError(f"{name!r} is no account of this machine") from None
    if os.geteuid() != 0:
        raise ValueError(f"only root can start processes as {entry.pw_name}: run this as that account instead")
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, groups)
