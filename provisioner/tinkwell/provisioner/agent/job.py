"""The handle of a run that is seen to here, and the values that tell what became of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum

from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import run_state
from tinkwell.provisioner.agent.run_state import RunState

# A moment that is past by any clock of the loop.
_AT_ONCE = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended, as it is reported."""

    state: State
    message: str
    seconds: float
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Permit:
    """The server lets a run begin, or go on here; without `remaining_seconds` it may take for ever."""

    remaining_seconds: float | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server does not let a run begin; `is_blocked` where that is because of another one on its machines."""

    is_blocked: bool


class Fate(Enum):
    """What becomes of a run once the server has answered the report of its end."""

    REMOVED = "nobody needs it"
    DISCARDED = "its end was known before, so somebody else may watch it, and is left alone"
    NEEDED = "its hook, or the next look, needs it"
    TAKEN = "it is somebody else's, and so is its output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What the answer to the report of an end means here; `hook` is to be run at once, empty for none."""

    fate: Fate
    hook: str = ""
    has_succeeded: bool = False


class Job:
    """A run that is seen to here. Whoever made the job may ask it to stop; whoever carries it out makes its moves."""

    def __init__(
        self, key: RunKey, state: RunState = RunState.BEGINNING, *, may_repeat: bool = False, reason: str = ""
    ) -> None:
        self.key = key
        # Another attempt may begin elsewhere once the lease is over.
        self.may_repeat = may_repeat
        # The server's answers to the reports of the beginning and of the end.
        self.refusal: Refusal | None = None
        self.receipt: Receipt | None = None
        # Why it is to stop.
        self.reason = reason
        self._state = state
        # Interrupts whoever carries out the run.
        self._scope: asyncio.Timeout | None = None

    @property
    def state(self) -> RunState:
        """Where the run is in its life."""
        return self._state

    def move(self, to: RunState) -> None:
        """Take note of a fact; raises `run_state.IllegalMove` for one that cannot be."""
        self._state = run_state.after(self._state, to)

    def stop(self, reason: str) -> None:
        """Ask for the run to be killed and removed, without another report."""
        self._request(RunState.STOPPING, reason)

    def leave(self, reason: str) -> None:
        """Ask for the run to be left to its hook, because the action has ended."""
        self._request(RunState.LEAVING, reason)

    def _request(self, to: RunState, reason: str) -> None:
        before = self._state
        self.move(to)
        if self._state is not before:
            self.reason = reason
            if self._scope is not None:
                self._scope.reschedule(_AT_ONCE)

    @contextlib.asynccontextmanager
    async def until_stopped(self) -> AsyncIterator[None]:
        """Do what is in the block, unless a request interrupts it; `agent.clear` then does what is left to do."""
        has_request = self._state in (RunState.STOPPING, RunState.LEAVING)
        scope = asyncio.timeout_at(_AT_ONCE if has_request else None)
        try:
            async with scope:
                self._scope = scope
                yield
        except TimeoutError:
            if not scope.expired():
                raise  # the block's own
        finally:
            self._scope = None
