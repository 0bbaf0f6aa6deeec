"""What `decide` tells the owner of an operation to do."""

from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision.view import StepKey
from tinkwell.core.release.kinds import NodeState, Phase, StepKind
from tinkwell.core.release.report import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class StartStep:
    """Report that this attempt is RUNNING (`outcome.start`), and once that was accepted make the call."""

    step: StepKey
    kind: StepKind
    attempt: int
    call: Call
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptStep:
    """The step runs by the server's account: find its run and wait for its end.

    Where it has left no run it never ran: its outcome is CANCELLED.
    """

    step: StepKey
    kind: StepKind
    attempt: int
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopStep:
    """Kill what runs of this step here, if anything does, and report this state for it, with the reason as message."""

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
    """Have an event heard by its handlers, and report what came of it (`outcome.emitted`); meanwhile it is running."""

    path: str


@dataclass(frozen=True, slots=True)
class StopEmit:
    """Let no more handlers of an event run, and report nothing of it."""

    path: str


@dataclass(frozen=True, slots=True)
class MovePhase:
    """Report that the operation is in this phase."""

    phase: Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Report that the operation has ended; `cause` is JSON text. There is nothing more to do."""

    state: State
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A node could go on but for this reason: ask again after the next change, or when `seconds` have passed."""

    path: str
    reason: str
    seconds: float | None = None


Command: TypeAlias = StartStep | AdoptStep | StopStep | MoveNode | Emit | StopEmit | MovePhase | Finish | Wait
