"""Whether a machine has rebooted since an attempt at an action began, which is how an action ends that reboots it.

Before the run of such an attempt is started, the boot that this machine is in is written down, in a file that outlives
it. Who takes the attempt up finds there whether that boot is over. Such a run need not be there any more, and how it
ended means nothing: the reboot has killed it. Where nothing was written down, the run was not started either.
"""

import asyncio
import logging
from pathlib import Path
from typing import Protocol

from tinkwell.core.decide import RunKey
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)

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


async def is_over(notes: Notes, key: RunKey) -> bool:
    """Return whether the boot in which an attempt began is known to be over."""
    try:
        return await asyncio.to_thread(lambda: notes.noted_boot(key) not in ("", current()))
    except OSError as error:
        logger.warning(
            "the boot in which an action began cannot be read", extra={"action": key.action_id, "cause": str(error)}
        )
        return False


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
