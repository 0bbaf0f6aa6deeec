"""Gives each process a name that no other process ever has.

A pid is not enough, because it is given to another process after the end of the first.
"""

import os
import signal


def of(pid: int) -> str:
    """Return the name of a process, made of boot id, pid and start time; empty if the process is dead."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:  # noqa: PTH123  (pathlib would double the start-up time)
            boot = file.read().decode().strip()
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    state, started = fields[0], fields[19]
    return "" if state in (b"Z", b"X") else f"{boot} {pid} {started.decode()}"


def living(name: str) -> int:
    """Return the pid of the process with this name, 0 if it is dead or the name is empty."""
    fields = name.split()
    return int(fields[1]) if fields and of(int(fields[1])) == name else 0


def open_handle(name: str) -> int | None:
    """Open a pidfd of the process with this name, which becomes readable when it dies; None if it is dead."""
    if not (pid := living(name)):
        return None
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    if living(name):
        return handle
    os.close(handle)
    return None


def send_signal(name: str, number: signal.Signals) -> bool:
    """Signal the process with this name; False if it is dead."""
    handle = open_handle(name)
    if handle is None:
        return False
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True
