"""Runs one program, and ends with it all that it has started, however the program ends.

Run by `supervisor.command("leash", *argv)`. The program has this process's environment and stdin, and both of its
outputs go to stderr. What stdout says is why it cannot be started; it says nothing where it could. SIGTERM kills the
program. The exit code is the program's; a killed one has 128 + the signal.
"""

import os
import select
import signal
from collections.abc import Sequence

from tinkwell.provisioner.runtime.process import offspring, spawn

NOT_STARTED = 127


def main(argv: Sequence[str]) -> int:
    """Run the program to its end, and return its exit code."""
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
    """Return the environment as it was given: the interpreter adds a locale to its own."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123
        entries = (os.fsdecode(entry).partition("=") for entry in file.read().split(b"\0") if entry)
        return {name: value for name, _, value in entries}
