"""All that a process has started, whatever sessions and groups of its own that has, and the end of it.

A supervisor adopts: what loses its parent becomes the supervisor's child, and not that of the system's first process.
So where its child is dead, all that has come of it are children of the supervisor, and once it has none, nothing of it
is left. It needs no right for that.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator

from tinkwell.provisioner.runtime.process import identity

# Whoever is killed in the midst of a call to a device that does not answer dies later, but does nothing more.
END_SECONDS = 5.0
_POLL_SECONDS = 0.002
_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Make this process the parent of those of its descendants that lose theirs; raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def has_ended(child: int) -> bool:
    """Say whether a child has ended, which stays a zombie, and reap whatever else has until then."""
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
        if ended.si_pid == child:
            return True
        os.waitpid(ended.si_pid, 0)
    return False


def kill_child(child: int) -> None:
    """Kill a child that was not reaped, so that its number is nobody else's, and its group where it leads one."""
    for kill in (os.killpg, os.kill):
        # What has become another account by a program that may do that is beyond us.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)


def end_all() -> None:
    """Kill all children of this process, and those that come to it by that, until there are none.

    It waits for their deaths, but not for ever.
    """
    deadline = time.monotonic() + END_SECONDS
    while _has_children() and time.monotonic() < deadline:
        for child, _ in _processes(parent=os.getpid()):
            kill_child(child)
        time.sleep(_POLL_SECONDS)


def kill_tree(name: str) -> None:
    """Kill a process by its name (see `identity`), its group, and all that still descends from it.

    Each of them is stopped before the first one dies, since no child of a dead parent can be found any more.
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
    """Reap what is dead, and say whether something lives."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _processes(*, parent: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the numbers of all processes, or of those with a parent, and of their parents."""
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
