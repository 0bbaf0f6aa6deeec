"""The commands that `decide` gives the owner of an operation."""

from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision.view import StepKey
from tinkwell.core.release.kinds import NodeState, Phase, StepKind
from tinkwell.core.release.report import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class StartStep:
    """Report that this attempt is RUNNING (`outcome.start`), and make the call once the report was accepted."""

    step: StepKey
    kind: StepKind
    attempt: int
    call: Call
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptStep:
    """The server says that the step runs: find its run and wait for its end.

    If there is no run, the step never ran: its outcome is CANCELLED.
    """

    step: StepKey
    kind: StepKind
    attempt: int
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopStep:
    """Kill the run of this step if there is one, and report this state for the step, with the reason as message."""

    step: StepKey
    reason: str
    state: State = State.CANCELLED


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveNode:
    """Report that a node is in this state (`outcome.move`)."""

    path: str
    state: NodeState
    changed: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class Emit:
    """Emit an event to its handlers, and report the result (`outcome.emitted`); it counts as running meanwhile."""

    path: str


@dataclass(frozen=True, slots=True)
class StopEmit:
    """Start no further handlers of an event, and report no result."""

    path: str


@dataclass(frozen=True, slots=True)
class MovePhase:
    """Report that the operation is in this phase."""

    phase: Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Report that the operation has ended; `cause` is JSON text. It is the last command."""

    state: State
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A node waits for this reason: ask again after the next change, or when `seconds` have passed."""

    path: str
    reason: str
    seconds: float | None = None


Command: TypeAlias = StartStep | AdoptStep | StopStep | MoveNode | Emit | StopEmit | MovePhase | Finish | Wait
