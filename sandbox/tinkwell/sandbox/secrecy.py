"""Keeps what a process knows from other processes of its account."""

import ctypes
import os

_PR_SET_DUMPABLE = 4


def hide() -> None:
    """Let nobody but root read this process's environment and memory, or trace it, from now on; raises `OSError`.

    Whoever runs programs of others as its own account calls it before the first one begins. A program that is started
    from here can be read again, so nothing secret may be in its environment. There are no core dumps any more.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
