"""What the rules need of what is stored: columns of one table each, so that a store reads no more than these."""

from dataclasses import dataclass, field

from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import (
    NodeKind,
    NodeState,
    NodeTask,
    OperationKind,
    Phase,
    ReleaseState,
    RevisionState,
    StepKind,
)
from tinkwell.core.release.record import Options

PLANNED_PHASES = (Phase.APPLY, Phase.CLEANUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """A release. `revision` is the last that was DEPLOYED, 0 for none, `latest_revision` the newest that exists.

    `operation_id` is its newest operation. `engine` is the one that it belongs to, empty for any.
    """

    id: str
    name: str
    state: ReleaseState
    revision: int = 0
    latest_revision: int = 0
    operation_id: str = ""
    engine: str = ""
    is_deleted: bool = False

    @property
    def is_changing(self) -> bool:
        """Whether an operation of it has not ended, which is its newest one."""
        return self.state not in (ReleaseState.DEPLOYED, ReleaseState.FAILED, ReleaseState.UNINSTALLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRow:
    """A revision of a release."""

    revision: int
    state: RevisionState


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRow:
    """An operation.

    `former_state` is the release's before it, DEPLOYED or FAILED, to which the release goes back if it ends before it
    has a plan; FAILED for the first of a release. `revision` is 0 until SubmitPlan, unless the operation resumes one,
    and at an uninstall. `rollback_of` is the revision whose documents a rollback brings about, 0 otherwise.
    The counters count resources. `remaining_seconds` is the time left to the deadline.
    """

    id: str
    kind: OperationKind
    state: State = State.PENDING
    phase: Phase = Phase.LOAD
    options: Options = field(default_factory=Options)
    former_state: ReleaseState = ReleaseState.FAILED
    revision: int = 0
    rollback_of: int = 0
    cause: str = ""
    follows: str = ""
    total_nodes: int = 0
    changed_nodes: int = 0
    failed_nodes: int = 0
    skipped_nodes: int = 0
    is_cancel_requested: bool = False
    cancel_grace_seconds: int = 0
    remaining_seconds: float

    @property
    def has_plan(self) -> bool:
        """Whether SubmitPlan has happened; until then the operation has changed nothing."""
        return self.phase in PLANNED_PHASES


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node of an operation's plan."""

    path: str
    task: NodeTask
    kind: NodeKind = NodeKind.RESOURCE
    state: NodeState = NodeState.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A step of a node; `ordinal` counts from 1, and so does `attempt`, which is 0 before the first."""

    path: str
    ordinal: int
    kind: StepKind
    state: State
    attempt: int
