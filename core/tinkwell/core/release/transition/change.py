"""What the rules answer: changes, in the order in which they must be written, since most become events.

No changes at all mean that what was asked has happened before.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, RevisionState
from tinkwell.core.release.plan import PlanNode
from tinkwell.core.release.report import LifecycleReport, ResourceReport, StepReport
from tinkwell.core.release.transition.row import OperationRow, ReleaseRow


@dataclass(frozen=True, slots=True)
class WriteRelease:
    """The release has these values from now on; `is_deleted` sets the time of its deletion.

    A release may be written twice, and becomes an event each time.
    """

    row: ReleaseRow


@dataclass(frozen=True, slots=True)
class AddRevision:
    """A revision is born, PENDING, with the documents of the submission; the operation is its `operation_id`."""

    revision: int
    rollback_of: int = 0


@dataclass(frozen=True, slots=True)
class MoveRevision:
    """A revision is in this state from now on."""

    revision: int
    state: RevisionState


@dataclass(frozen=True, slots=True)
class AddOperation:
    """Another operation of the same release begins, PENDING.

    With `is_held` the hold of the operation that ends goes on to it, so that its owner takes it next.
    """

    row: OperationRow
    is_held: bool


@dataclass(frozen=True, slots=True)
class WriteOperation:
    """The operation has these values from now on. RUNNING sets `started_at`, a final state `finished_at`.

    All but `options`, `former_state`, `rollback_of`, `follows` and `remaining_seconds` may differ from what is stored.
    """

    row: OperationRow


@dataclass(frozen=True, slots=True)
class TakeHold:
    """The operation is held under the reporter's lease from now on, whoever held it before."""


@dataclass(frozen=True, slots=True)
class LetGo:
    """The operation is held by nobody any more."""


@dataclass(frozen=True, slots=True)
class AddNodes:
    """The real nodes of a plan, PENDING; their ordinals are their places, from 0. They make no event."""

    nodes: tuple[PlanNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveNode:
    """A node is in this state from now on. INSTALLING and REMOVING set `started_at`, a final state `finished_at`."""

    path: str
    state: NodeState
    changed: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class AddStep:
    """A step is inserted as its report says."""

    report: StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStep:
    """A step is in this state from now on. RUNNING sets `started_at`, a final state `finished_at`."""

    path: str
    ordinal: int
    state: State
    attempt: int
    exit_code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class StoreResource:
    """What is known of a resource; None in the report, and a `revision` of None, leave what is stored."""

    report: ResourceReport
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class HearSecrets:
    """What a report says of a resource is secret; of the resource itself nothing is stored."""

    report: ResourceReport


@dataclass(frozen=True, slots=True)
class StoreResult:
    """The operation has come to this, JSON text."""

    result: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DropResource:
    """A resource is no more."""

    path: str


@dataclass(frozen=True, slots=True)
class StoreEmitted:
    """What was emitted is kept, in the place of what is stored of the same event and chart; what is the same stays."""

    report: LifecycleReport


Change: TypeAlias = (
    WriteRelease
    | AddRevision
    | MoveRevision
    | AddOperation
    | WriteOperation
    | TakeHold
    | LetGo
    | AddNodes
    | MoveNode
    | AddStep
    | MoveStep
    | StoreResource
    | HearSecrets
    | DropResource
    | StoreEmitted
    | StoreResult
)
Changes: TypeAlias = tuple[Change, ...]
