"""Finds out whether the machine has rebooted since an attempt began: an action that reboots its machine ends that way.

Before the run of such an attempt is started, the id of the current boot is written to a file that outlives the boot. A
provisioner that adopts the attempt compares it with its own boot. The run itself may be gone, and its exit code means
nothing, because the reboot has killed it.

If no boot id was written, either the run was not started, or the file was kept in memory, as on a machine that boots
from the network. Then the machine has rebooted if it has been up for less time than the attempt has taken.
"""

import asyncio
import logging
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import run_spec
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)

# Allows for clocks that differ and answers that are late.
MARGIN_SECONDS = 5.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Exit codes that say nothing about an action that reboots its machine: the run has done its work, or it was killed (by
# SIGTERM or SIGKILL) with everything else on the machine.
_INCONCLUSIVE = (0, 128 + 15, 128 + 9)


class Notes(Protocol):
    """Keeps a boot id for each attempt until the files of its workflow are removed. Both methods raise `OSError`."""

    def note_boot(self, key: RunKey, boot_id: str) -> None:
        """Keep the id of the boot in which an attempt began; an id that is kept already stays."""

    def noted_boot(self, key: RunKey) -> str:
        """Return the id that was kept, empty if there is none."""


def current() -> str:
    """Return the id of the machine's current boot, which no other boot of any machine has."""
    return _BOOT_ID.read_text("ascii").strip()


async def note(notes: Notes, key: RunKey) -> None:
    """Write down the boot in which an attempt begins; raises `RunError` if that fails."""
    try:
        await asyncio.to_thread(lambda: notes.note_boot(key, current()))
    except OSError as error:
        message = f"the boot of this machine cannot be written down: {error}"
        raise port.RunError(port.Reason.UNAVAILABLE, message) from error


def uptime_seconds() -> float:
    """Return how many seconds this machine has been up."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


async def is_over(notes: Notes, work: run_spec.Work, remaining_seconds: float | None) -> bool:
    """Return whether the work reboots its machine and the machine is known to have rebooted since the attempt began."""
    if not work.reboots:
        return False
    try:
        noted = await asyncio.to_thread(lambda: notes.noted_boot(work.key))
        if noted:
            return noted != current()
        return uptime_seconds() + MARGIN_SECONDS < _elapsed_seconds(work, remaining_seconds)
    except OSError as error:
        fields = {"action": work.key.run, "cause": str(error)}
        logger.warning(
            "the boot in which an action began cannot be read; the action counts as one that has not rebooted yet",
            extra=fields,
        )
        return False


def _elapsed_seconds(work: run_spec.Work, remaining_seconds: float | None) -> float:
    """Return how many seconds the current attempt has run at least; 0 if that is not known.

    There are two estimates, and the lesser is taken: `remaining_seconds` may be the workflow's time and not the
    action's, and the clocks of the machine and the server may differ.
    """
    if remaining_seconds is None or work.started_at is None:
        return 0.0
    by_clock = (datetime.now(UTC) - work.started_at).total_seconds()
    return max(min(work.timeout_seconds - remaining_seconds, by_clock), 0.0)


async def wait(run: port.Run) -> port.Exit:
    """Wait for a run that reboots its machine, and return only if it has failed; otherwise wait for the reboot.

    Raises `RunError` as the run does, but not if the run is lost: that happens while a machine goes down.
    """
    try:
        ending = await run.wait()
    except port.RunError as error:
        if error.reason is not port.Reason.LOST:
            raise
    else:
        if ending.code not in _INCONCLUSIVE:
            return ending
    await asyncio.Event().wait()
    raise AssertionError("the machine reboots, or the deadline passes")
