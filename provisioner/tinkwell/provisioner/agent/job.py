"""An action that is being carried out here, as those see it who began it and those who carry it out."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tinkwell.client.workflow.model import Action, Reported
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import hook
from tinkwell.core.workflow.decide import RunKey

# A moment that is past by any clock of the loop.
_AT_ONCE = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is reported about an ended attempt."""

    state: State
    message: str
    seconds: float
    exit_code: int | None = None


class Job:
    """An action that is being carried out. Whoever made it may stop it."""

    def __init__(self, key: RunKey, action: Action) -> None:
        self.key = key
        self.action = action
        # Once the server knows the end, or wants to know none, what is left is clearing up.
        self.is_settled = False
        # The server did not let it begin.
        self.was_refused = False
        # That was because another workflow runs on one of its machines.
        self.was_blocked = False
        # Somebody else has the action by now.
        self.was_taken = False
        # What there is of its run is left where it is: for its hook, or for the next look to decide upon.
        self.leaves_run = False
        # The report of this job ended the action, and this is to follow.
        self.hook: hook.Hook | None = None
        # What is to happen when the action has succeeded here, while the server is told.
        self.on_success: Callable[[], None] | None = None
        # It was begun because the action before it had succeeded, without a look.
        self.is_follower = False
        # The job of the next action, which was begun without a look.
        self.follower: Job | None = None
        # No action follows it.
        self.is_last = False
        # Nor is anything else to be done: by its success the workflow has succeeded.
        self.has_finished = False
        # Events of its workflow were left aside because of it.
        self.has_missed = False
        # A hook, or clearing up, that could not be brought to its end; it is not tried again at once.
        self.is_unfinished = False
        self.stop_reason = ""
        self.is_reporting_end = False
        self._is_stopped = False
        # Interrupts whoever carries it out.
        self._limit: asyncio.Timeout | None = None

    @property
    def has_follower(self) -> bool:
        """Whether the next action has begun, or is about to."""
        return self.follower is not None and not self.follower.was_refused

    def stop(self, reason: str) -> None:
        """Ask for the run to be killed and removed, without another report."""
        if not self._is_stopped:
            self.stop_reason = reason
            self._is_stopped = True
            if self._limit is not None:
                self._limit.reschedule(_AT_ONCE)

    def leave(self, reason: str) -> None:
        """Ask for the run to be left to its hook, as the action has ended; nothing follows where that is known here."""
        if not self.is_reporting_end and not self._is_stopped:
            self.leaves_run = True
            self.stop(reason)

    def report_end(self, outcome: Outcome) -> None:
        """Note that the end is being reported; the answer says what follows, but for the action after a success."""
        self.is_reporting_end = True
        if outcome.state is State.SUCCEEDED and self.on_success is not None and not self._is_stopped:
            self.on_success()

    def settle(self, outcome: Outcome, reported: Reported | None) -> None:
        """Note what the answer to the report of the end was, None for a refusal, which does not say what follows."""
        self.is_settled = True
        action = self.action
        if reported is None:
            self.leaves_run = self.was_taken or bool(action.on_failure or action.on_timeout)
            return
        # An attempt that is followed by another one leaves its action PENDING, and has no hook.
        ended = reported.state or outcome.state
        due = hook.due(ended, on_failure=action.on_failure, on_timeout=action.on_timeout)
        self.leaves_run = due is not None
        # Of a repetition nobody knows how long ago the end was, and whether its hook is done: a look will tell.
        self.hook = due if reported.revision else None
        self.has_finished = self.is_last and ended is State.SUCCEEDED and bool(reported.revision)

    async def until_stopped(self, work: Awaitable[None]) -> bool:
        """Do the work, which `stop` interrupts at its next await; False where it did."""
        limit = asyncio.timeout_at(_AT_ONCE if self._is_stopped else None)
        try:
            async with limit:
                self._limit = limit
                await work
        except TimeoutError:
            if not limit.expired():
                raise  # the work's own
        finally:
            self._limit = None
        return not limit.expired()
