"""Runs one program, and when it has ended, kills all processes that it has started.

Run by `supervisor.command("leash", *argv)`. The program gets this process's environment and stdin, and its stdout and
stderr both go to this process's stderr. If the program cannot be started, this process's stdout says why; otherwise
stdout stays empty. SIGTERM kills the program. The exit code is the program's, or 128 + the signal if it was killed.
"""

import os
import select
import signal
from collections.abc import Sequence

from tinkwell.provisioner.runtime.process import offspring, spawn

NOT_STARTED = 127


def main(argv: Sequence[str]) -> int:
    """Run the program to its end, and return the exit code."""
    offspring.adopt()
    wakeup = spawn.catch_signals()
    try:
        pid = spawn.spawn(argv, _given_environment(), out=spawn.STDERR, err=spawn.STDERR, is_bound=True)
    except (OSError, ValueError) as error:
        os.write(spawn.STDOUT, str(error).encode(errors="replace"))
        return NOT_STARTED
    while not offspring.has_ended(pid):
        select.select([wakeup], [], [])
        if signal.SIGTERM in os.read(wakeup, spawn.CHUNK_BYTES):
            offspring.kill_child(pid)
    offspring.kill_child(pid)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    offspring.end_all()
    return 128 - code if code < 0 else code


def _given_environment() -> dict[str, str]:
    """Return the environment that this process was given; the interpreter may have added a locale to `os.environ`."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123
        entries = (os.fsdecode(entry).partition("=") for entry in file.read().split(b"\0") if entry)
        return {name: value for name, _, value in entries}
