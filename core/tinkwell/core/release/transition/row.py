"""The stored fields that the rules need: columns of one table each, so that a store reads no more than these."""

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
    """A release.

    `revision` is the last that was DEPLOYED, 0 for none, `latest_revision` the newest that exists. `operation_id` is
    the newest operation that changes it, or the newest plan of a PLANNED one. `engine` is the one that it belongs to,
    "" for any. `active_operation_id` is its operation that has not ended, "" for none. `drift` is a digest of the
    differences from the installed revision, "" for none.
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
        """Whether its newest operation, which changes it, has not ended."""
        settled = (ReleaseState.PLANNED, ReleaseState.DEPLOYED, ReleaseState.FAILED, ReleaseState.UNINSTALLED)
        return self.state not in settled

    @property
    def is_busy(self) -> bool:
        """Whether an operation of it has not ended, also one that leaves it as it is."""
        return self.is_changing or bool(self.active_operation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRow:
    """A revision of a release."""

    revision: int
    state: RevisionState


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRow:
    """An operation.

    `former_state` is the state of the release before it, to which the release goes back if the operation ends without a
    plan; FAILED for the first operation that changes a release. `revision` is 0 until SubmitPlan unless the operation
    resumes a revision, and if it makes none. `rollback_of` is the revision that a rollback installs again, or that a
    test or a plan looks at, 0 otherwise. `plan_of` is the plan that it applies, "" for none. The counters count
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
        """Whether it renders its manifest, and does not use a stored one."""
        if self.kind is OperationKind.PLAN:
            return not self.rollback_of
        return self.kind in (OperationKind.INSTALL, OperationKind.UPGRADE) and not self.revision

    @property
    def looks_for_drift(self) -> bool:
        """Whether it is a plan of the installed revision."""
        return self.kind is OperationKind.PLAN and bool(self.rollback_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """A plan that is to be applied, and the release for which it was made.

    `changed_by` is an operation with a plan that has changed the release since, "" for none.
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
    """A step of a node; `ordinal` counts from 1, and so does `attempt`, which is 0 before the first attempt."""

    path: str
    ordinal: int
    kind: StepKind
    state: State
    attempt: int
