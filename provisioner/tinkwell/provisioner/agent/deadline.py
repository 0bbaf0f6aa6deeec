"""The deadline of an attempt: when it passes, how the attempt is ended then, and what is reported.

Everything that this process does about an action's timeout is here. The server measures the time: its answer to the
report RUNNING says how many seconds remain of the action's timeout or of its workflow's, whichever ends sooner. If the
process that should enforce a deadline is dead, the server ends the action when it is asked; see `expiry`.

    the deadline passes         what is done                          what is reported
    before the run is there     starting is interrupted               TIMEOUT, "before it ran"
    while it runs               it is killed                          TIMEOUT, "and was killed"
    before it is adopted        it gets `ADOPTION_SECONDS` to show    how it ended; TIMEOUT if it was killed when
                                that it has ended, and is killed      its time had passed

The time to pull an image counts, because it is a part of starting. In the last case a predecessor may have killed the
run at its deadline and died before it could report that; the run's duration tells this from another kill.
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

# How long an adopted run that is past its deadline has to show that it ended while nobody watched.
ADOPTION_SECONDS = 1.0
# How much shorter than its limit a killed run may be and still count as killed at its deadline: it begins after its
# action, and clocks may differ. For short limits the margin is half of the limit.
MARGIN_SECONDS = 5.0
_KILLED = 128 + 9
T = TypeVar("T")


class Deadline:
    """The deadline of an attempt, `remaining_seconds` after this object is made; None for no deadline."""

    def __init__(self, remaining_seconds: float | None, *, passed_limit_seconds: float | None = None) -> None:
        now = _now()
        self._ends_at = None if remaining_seconds is None else now + remaining_seconds
        self._passed_limit_seconds = passed_limit_seconds
        # The outcome's `seconds` are counted from here, unless the runtime tells how long the run took.
        self._began = now

    @classmethod
    def of_adopted(cls, work: run_spec.Work, remaining_seconds: float | None) -> "Deadline":
        """Make the deadline of an adopted run, which may have passed already."""
        patience = None if remaining_seconds is None else max(remaining_seconds, ADOPTION_SECONDS)
        return cls(patience, passed_limit_seconds=passed_limit(work, remaining_seconds))

    async def obtain(self, obtaining: Awaitable[T]) -> T | Outcome:
        """Await the start or the search of the run; returns the attempt's outcome if there is no run in time."""
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
        """Wait for the end of a run, and kill it at the deadline."""
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
    """Return how many seconds the current attempt was allowed to take, None if that time has not passed yet."""
    if remaining_seconds is None or remaining_seconds > 0 or work.started_at is None or work.reboots:
        return None
    return (datetime.now(UTC) - work.started_at).total_seconds() + remaining_seconds


def was_kept(ending: port.Exit, limit_seconds: float | None) -> bool:
    """Return whether a run was killed because its time had passed, and not earlier for another reason."""
    if limit_seconds is None or ending.code != _KILLED or ending.seconds is None or ending.note:
        return False
    return ending.seconds >= max(limit_seconds - MARGIN_SECONDS, limit_seconds / 2)


def _now() -> float:
    return asyncio.get_running_loop().time()
