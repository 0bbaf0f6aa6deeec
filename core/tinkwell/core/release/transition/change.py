"""The results of the rules: changes, in the order in which they must be written, because most become events.

An empty result means that the request has been carried out before.
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
    """The release gets these values; `is_deleted` sets the time of its deletion.

    A release may be written twice, and becomes an event each time.
    """

    row: ReleaseRow


@dataclass(frozen=True, slots=True)
class AddRevision:
    """A new revision, PENDING, with the documents of the submission; the operation is its `operation_id`."""

    revision: int
    rollback_of: int = 0


@dataclass(frozen=True, slots=True)
class MoveRevision:
    """A revision enters this state."""

    revision: int
    state: RevisionState


@dataclass(frozen=True, slots=True)
class AddOperation:
    """Another operation of the same release begins, PENDING.

    With `is_held` it gets the hold of the operation that ends, so that the same owner takes it next.
    """

    row: OperationRow
    is_held: bool


@dataclass(frozen=True, slots=True)
class WriteOperation:
    """The operation gets these values. RUNNING sets `started_at`, a final state `finished_at`.

    All fields except `options`, `former_state`, `rollback_of`, `follows` and `remaining_seconds` may differ from the
    stored ones.
    """

    row: OperationRow


@dataclass(frozen=True, slots=True)
class TakeHold:
    """The operation is held under the reporter's lease from now on, whatever lease held it before."""


@dataclass(frozen=True, slots=True)
class LetGo:
    """No lease holds the operation any more."""


@dataclass(frozen=True, slots=True)
class AddNodes:
    """The real nodes of a plan, PENDING; their ordinals are their places, from 0. They make no event."""

    nodes: tuple[PlanNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveNode:
    """A node enters this state. INSTALLING and REMOVING set `started_at`, a final state `finished_at`."""

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
    """A step enters this state. RUNNING sets `started_at`, a final state `finished_at`."""

    path: str
    ordinal: int
    state: State
    attempt: int
    exit_code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class StoreResource:
    """The new knowledge about a resource; None in the report, and a `revision` of None, keep the stored value."""

    report: ResourceReport
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class HearSecrets:
    """A report names secrets of a resource; of the resource itself nothing is stored."""

    report: ResourceReport


@dataclass(frozen=True, slots=True)
class StoreResult:
    """The operation has this result, JSON text."""

    result: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DropResource:
    """A resource no longer exists."""

    path: str


@dataclass(frozen=True, slots=True)
class StoreEmitted:
    """The result of an event replaces the stored result of the same event and chart; equal results change nothing."""

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
