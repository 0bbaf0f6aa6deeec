"""The deadline of an attempt: until when it may take, how it is ended then, and what is said about that.

Everything that this process does about an action's timeout is here. The server counts: it says with its answer to the
report RUNNING how many seconds remain, of the action's timeout or of its workflow's, whichever ends sooner. Where
nobody enforces a deadline because its process is dead, the server ends the action when it is asked; see `expiry`.

    the deadline passes         what is done                          what is reported
    before the run is there     starting is interrupted               TIMEOUT, "before it ran"
    while it runs               it is killed                          TIMEOUT, "and was killed"
    before it is adopted        it gets `ADOPTION_SECONDS` to show    how it ended; TIMEOUT where it was killed
                                that it has ended, and is killed      when its time had passed

Pulling an image counts, since it is a part of starting. The last line tells a kill at the deadline, by a predecessor
that could not say so any more, from another one.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import TypeVar

from tinkwell.core.event.kinds import State
from tinkwell.provisioner.agent import run_spec
from tinkwell.provisioner.agent.job import Outcome
from tinkwell.provisioner.runtime import port

# An adopted run that is past its deadline gets so long to show that it ended while nobody watched.
ADOPTION_SECONDS = 1.0
# A run begins after its action, and ends a moment after it was told to; clocks may differ. Of short limits it is half.
MARGIN_SECONDS = 5.0
_KILLED = 128 + 9
T = TypeVar("T")


class Deadline:
    """Until when an attempt may take, from the moment when this is made; `None` seconds mean for ever."""

    def __init__(self, remaining_seconds: float | None, *, passed_limit_seconds: float | None = None) -> None:
        now = _now()
        self._ends_at = None if remaining_seconds is None else now + remaining_seconds
        self._passed_limit_seconds = passed_limit_seconds
        # The outcome tells the time from here on, unless the runtime tells it.
        self._began = now

    @classmethod
    def of_adopted(cls, work: run_spec.Work, remaining_seconds: float | None) -> "Deadline":
        """Make the deadline of a run that is found, which may have passed already."""
        patience = None if remaining_seconds is None else max(remaining_seconds, ADOPTION_SECONDS)
        return cls(patience, passed_limit_seconds=passed_limit(work, remaining_seconds))

    async def obtain(self, obtaining: Awaitable[T]) -> T | Outcome:
        """Start or find the run; returns how the attempt ended where there is none in time."""
        try:
            async with asyncio.timeout_at(self._ends_at):
                run = await obtaining
        except TimeoutError:
            return self._timed_out("before it ran")
        except port.RunError as error:
            return self._failed(error)
        self._began = _now()
        return run

    async def enforce(self, run: port.Run, ending: Awaitable[port.Exit]) -> Outcome:
        """Wait for the end of a run, or kill it when its time is over."""
        try:
            async with asyncio.timeout_at(self._ends_at):
                exit_ = await ending
        except TimeoutError:
            return await self._kill(run)
        except port.RunError as error:
            return self._failed(error)
        if was_kept(exit_, self._passed_limit_seconds):
            return dataclasses.replace(self._timed_out("and was killed"), seconds=exit_.seconds or 0.0)
        note = f" ({exit_.note})" if exit_.note else ""
        return Outcome(
            state=State.FAILED if exit_.code else State.SUCCEEDED,
            message=f"exited with code {exit_.code}{note}",
            seconds=self._elapsed() if exit_.seconds is None else exit_.seconds,
            exit_code=exit_.code,
        )

    async def _kill(self, run: port.Run) -> Outcome:
        try:
            await run.kill()
        except port.RunError as error:
            return self._timed_out(f"and cannot be killed: {error}")
        return self._timed_out("and was killed")

    def _timed_out(self, what: str) -> Outcome:
        return Outcome(state=State.TIMEOUT, message=f"its deadline passed {what}", seconds=self._elapsed())

    def _failed(self, error: port.RunError) -> Outcome:
        return Outcome(state=State.FAILED, message=str(error), seconds=self._elapsed())

    def _elapsed(self) -> float:
        return round(_now() - self._began, 3)


def passed_limit(work: run_spec.Work, remaining_seconds: float | None) -> float | None:
    """Return for how long the current attempt was allowed to take, once that has passed; None where it has not."""
    if remaining_seconds is None or remaining_seconds > 0 or work.started_at is None or work.reboots:
        return None
    return (datetime.now(UTC) - work.started_at).total_seconds() + remaining_seconds


def was_kept(ending: port.Exit, limit_seconds: float | None) -> bool:
    """Return whether a run was killed when the time it was allowed had passed, and not before, for another reason."""
    if limit_seconds is None or ending.code != _KILLED or ending.seconds is None or ending.note:
        return False
    return ending.seconds >= max(limit_seconds - MARGIN_SECONDS, limit_seconds / 2)


def _now() -> float:
    return asyncio.get_running_loop().time()
