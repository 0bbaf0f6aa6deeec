"""Kills all processes that a process has started, also those in sessions and groups of their own.

A supervisor is a subreaper: a descendant that loses its parent becomes the supervisor's child. So once the supervised
process is dead, its descendants become children of the supervisor one after the other, and once the supervisor has no
children, nothing is left. This needs no privileges.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator

from tinkwell.provisioner.runtime.process import identity

# A killed process that waits for a device dies only when the device answers, but it does nothing more.
END_SECONDS = 5.0
_POLL_SECONDS = 0.002
_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Make this process the new parent of descendants that lose their parent; raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def has_ended(child: int) -> bool:
    """Return whether a child has ended, without reaping it; other children that have ended are reaped."""
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
        if ended.si_pid == child:
            return True
        os.waitpid(ended.si_pid, 0)
    return False


def kill_child(child: int) -> None:
    """Kill a child and its process group. It must not be reaped yet, so that its pid is still its own."""
    for kill in (os.killpg, os.kill):
        # A process that has changed its account by a setuid program cannot be killed from here.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)


def end_all() -> None:
    """Kill all children of this process, and those that it inherits from them, until there are none.

    It waits for their deaths, for at most `END_SECONDS`.
    """
    deadline = time.monotonic() + END_SECONDS
    while _has_children() and time.monotonic() < deadline:
        for child, _ in _processes(parent=os.getpid()):
            kill_child(child)
        time.sleep(_POLL_SECONDS)


def kill_tree(name: str) -> None:
    """Kill a process by its name (see `identity`), its group, and its descendants.

    All are stopped before the first one is killed, because the children of a dead parent cannot be found.
    """
    if not identity.living(name):
        return
    found, seen, stopped = {name}, set[str](), dict[str, int]()
    while found:
        stopped |= {each: int(each.split()[1]) for each in found if _send(each, signal.SIGSTOP)}
        seen |= found
        parents = set(stopped.values())
        found = {identity.of(pid) for pid, parent in _processes() if parent in parents} - seen - {""}
    if pid := identity.living(name):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    for each in stopped:
        _send(each, signal.SIGKILL)


def _send(name: str, number: signal.Signals) -> bool:
    try:
        return identity.send_signal(name, number)
    except PermissionError:
        return False


def _has_children() -> bool:
    """Reap dead children, and return whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _processes(*, parent: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the pids of all processes, or of those with this parent, each with the pid of its parent."""
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123
                found = int(file.read().rpartition(b")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent in (None, found):
            yield int(entry), found
