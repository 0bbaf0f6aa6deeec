"""The handle of a run that this process carries out, and the values that describe its beginning and its end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum

from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import run_state
from tinkwell.provisioner.agent.run_state import RunState

# A time that has passed already by the loop's clock.
_AT_ONCE = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended, as it is reported to the server."""

    state: State
    message: str
    seconds: float
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Permit:
    """The server lets a run begin, or go on here. `remaining_seconds` is None if the run has no deadline."""

    remaining_seconds: float | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server does not let a run begin. `is_blocked`: because another workflow runs on its machines."""

    is_blocked: bool


class Fate(Enum):
    """What is done with a run once the server has answered the report of its end."""

    REMOVED = "it is removed, since nobody needs it"
    DISCARDED = "its end was known before; it is killed and removed, unless another provisioner claims it"
    NEEDED = "it stays for its hook, or for the next look"
    TAKEN = "it stays, since another provisioner owns it and sends its output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What the server's answer to the report of an end means here. `hook` is to be run at once, empty for none."""

    fate: Fate
    hook: str = ""
    has_succeeded: bool = False


class Job:
    """The handle of a run that this process carries out.

    The runner makes it and may ask it to stop; the agent, which carries out the run, moves it from state to state.
    """

    def __init__(
        self, key: RunKey, state: RunState = RunState.BEGINNING, *, may_repeat: bool = False, reason: str = ""
    ) -> None:
        self.key = key
        # Whether another provisioner may begin another attempt once the lease is over.
        self.may_repeat = may_repeat
        # What the server answered to the reports of the beginning and of the end.
        self.refusal: Refusal | None = None
        self.receipt: Receipt | None = None
        # Why the run is to stop.
        self.reason = reason
        self._state = state
        # The scope of `until_stopped`, which a request interrupts.
        self._scope: asyncio.Timeout | None = None

    @property
    def state(self) -> RunState:
        """The state of the run."""
        return self._state

    def move(self, to: RunState) -> None:
        """Move the run to a state; raises `run_state.IllegalMove` if it cannot follow the current one."""
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
        """Run the block until a request interrupts it; call `agent.clear` after the block in either case."""
        has_request = self._state in (RunState.STOPPING, RunState.LEAVING)
        scope = asyncio.timeout_at(_AT_ONCE if has_request else None)
        try:
            async with scope:
                self._scope = scope
                yield
        except TimeoutError:
            if not scope.expired():
                raise  # It comes from the block itself.
        finally:
            self._scope = None
