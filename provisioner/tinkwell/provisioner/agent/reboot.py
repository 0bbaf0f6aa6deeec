"""Whether a machine has rebooted since an attempt at an action began, which is how an action ends that reboots it.

Before the run of such an attempt is started, the boot that this machine is in is written down, in a file that outlives
it. Who takes the attempt up finds there whether that boot is over. Such a run need not be there any more, and how it
ended means nothing: the reboot has killed it.

Where nothing is written, either the run was not started, or the file was kept in memory, as on a machine that boots
from the network. Then the reboot shows in that the machine has been up for less time than the attempt has taken.
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

# By so much clocks may differ, and answers be late.
MARGIN_SECONDS = 5.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Exit codes that say nothing about the action where its machine is about to reboot: the run has done its work, or
# was killed (by SIGTERM, SIGKILL) with everything else on the machine.
_INCONCLUSIVE = (0, 128 + 15, 128 + 9)


class Notes(Protocol):
    """Keeps a text for each attempt, until its workflow is forgotten; raises `OSError` where that fails."""

    def note_boot(self, key: RunKey, boot_id: str) -> None:
        """Keep the boot in which an attempt began; what was kept before stays."""

    def noted_boot(self, key: RunKey) -> str:
        """Return what was kept, empty for nothing."""


def current() -> str:
    """Return what names the boot that this machine is in, and no other boot of any machine."""
    return _BOOT_ID.read_text("ascii").strip()


async def note(notes: Notes, key: RunKey) -> None:
    """Write down in which boot an attempt begins; raises `RunError` where that cannot be done."""
    try:
        await asyncio.to_thread(lambda: notes.note_boot(key, current()))
    except OSError as error:
        message = f"the boot of this machine cannot be written down: {error}"
        raise port.RunError(port.Reason.UNAVAILABLE, message) from error


def uptime_seconds() -> float:
    """Return for how long this machine has been up."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


async def is_over(notes: Notes, work: run_spec.Work, remaining_seconds: float | None) -> bool:
    """Return whether work reboots its machine, and the boot in which the attempt began is known to be over."""
    if not work.reboots:
        return False
    try:
        noted = await asyncio.to_thread(lambda: notes.noted_boot(work.key))
        if noted:
            return noted != current()
        return uptime_seconds() + MARGIN_SECONDS < _elapsed_seconds(work, remaining_seconds)
    except OSError as error:
        fields = {"action": work.key.run, "cause": str(error)}
        logger.warning("the boot in which an action began cannot be read", extra=fields)
        return False


def _elapsed_seconds(work: run_spec.Work, remaining_seconds: float | None) -> float:
    """Return for how long the current attempt has run at the least; 0 where that is not known.

    What remains may be the workflow's time and not the action's, and clocks may differ; the lesser of two is taken.
    """
    if remaining_seconds is None or work.started_at is None:
        return 0.0
    by_clock = (datetime.now(UTC) - work.started_at).total_seconds()
    return max(min(work.timeout_seconds - remaining_seconds, by_clock), 0.0)


async def wait(run: port.Run) -> port.Exit:
    """Wait for the end of a run that reboots its machine; only one that says that it failed is an end, others wait on.

    Raises `RunError` as the run does, but not for one that is lost, as those of a machine are that goes down.
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
