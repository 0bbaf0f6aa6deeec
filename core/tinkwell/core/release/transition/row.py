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

    `operation_id` is the newest operation that changes it, or of a PLANNED one its newest plan. `engine` is the one
    that it belongs to, empty for any. `active_operation_id` is the operation of it that has not ended, empty for none.
    `drift` is a digest of what was found to differ from what was installed, empty for nothing.
    """

    id: str
    name: str
    state: ReleaseState
    revision: int = 0
    latest_revision: int = 0
    operation_id: str = ""
    engine: str = ""
    is_deleted: bool = False
    active_operation_id: str = ""
    drift: str = ""

    @property
    def is_changing(self) -> bool:
        """Whether an operation that changes it has not ended, which is its newest one."""
        settled = (ReleaseState.PLANNED, ReleaseState.DEPLOYED, ReleaseState.FAILED, ReleaseState.UNINSTALLED)
        return self.state not in settled

    @property
    def is_busy(self) -> bool:
        """Whether an operation of it has not ended, be it one that leaves it as it is."""
        return self.is_changing or bool(self.active_operation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRow:
    """A revision of a release."""

    revision: int
    state: RevisionState


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRow:
    """An operation.

    `former_state` is the release's before it, to which the release goes back if it ends before it has a plan; FAILED
    for the first that changes a release. `revision` is 0 until SubmitPlan, unless the operation resumes one, and where
    it makes none. `rollback_of` is the revision whose documents a rollback brings about, or a test or a plan of what is
    installed looks at, 0 otherwise. `plan_of` is the plan that it applies, empty for none. The counters count
    resources. `remaining_seconds` is the time left to the deadline.
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
    plan_of: str = ""
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

    @property
    def renders(self) -> bool:
        """Whether it renders its manifest, and does not take one that is stored."""
        if self.kind is OperationKind.PLAN:
            return not self.rollback_of
        return self.kind in (OperationKind.INSTALL, OperationKind.UPGRADE) and not self.revision

    @property
    def looks_for_drift(self) -> bool:
        """Whether it is a plan of what is installed."""
        return self.kind is OperationKind.PLAN and bool(self.rollback_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """A plan that is to be applied, and the release for which it was made.

    `changed_by` is an operation that had a plan of its own since then and changes its release, empty for none.
    """

    operation: OperationRow
    release_id: str
    changed_by: str = ""


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
