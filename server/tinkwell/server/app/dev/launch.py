"""Replaces itself by another program that runs under a given account and ends with its parent.

It runs as a file of its own (`python -I -S launch.py …`) between fork and exec, so that no Python code runs in the fork
of a process with threads. The kernel forgets the death signal when the account changes, hence the order below.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Become `arguments[4:]`; before them come a uid and a gid (-1 keeps them), a death signal and the parent's pid."""
    uid, gid, death_signal, parent = (int(argument) for argument in arguments[:4])
    if uid >= 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        os.umask(0o077)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
        if os.getppid() != parent:
            sys.exit("the parent ended while this program was being started")
    os.execv(arguments[4], arguments[4:])  # noqa: S606 the caller names a program by its full path


if __name__ == "__main__":
    main(sys.argv[1:])
