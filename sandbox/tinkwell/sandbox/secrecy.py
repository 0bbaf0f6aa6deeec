"""Hides a process's environment and memory from other processes of its account."""

import ctypes
import os

_PR_SET_DUMPABLE = 4


def hide() -> None:
    """Let only root read this process's environment and memory, or trace it, from now on; raises `OSError`.

    A process that runs programs of others under its own account calls this before the first one begins. It does not
    hold for programs that are started from here, so their environment must have no secrets. There are no core dumps
    after this call.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
