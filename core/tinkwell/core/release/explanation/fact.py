"""The facts from which the sentences are made. All times are seconds, by the server's clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, OperationKind, StepKind
from tinkwell.core.release.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioner:
    """A provisioner that carries operations out, with its lease.

    The lease is over since `silent_seconds`; 0 if it lives.
    """

    owner: str
    engine: str
    silent_seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.owner} (engine {self.engine})"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFact:
    """The step of a node that began last. It may have `attempts`, each of `timeout_seconds`."""

    kind: StepKind
    state: State
    attempt: int
    name: str = ""
    exit_code: int | None = None
    message: str = ""
    seconds: float | None = None
    attempts: int = 1
    timeout_seconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact:
    """A node. `seconds` is the time since its last change, None if it is not known."""

    path: str
    state: NodeState
    kind: NodeKind = NodeKind.RESOURCE
    task: NodeTask = NodeTask.INSTALL
    batch: int = 1
    message: str = ""
    is_changed: bool = False
    seconds: float | None = None
    step: StepFact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFact:
    """An operation. `engine` is the engine of its release, "" for any.

    `holder` has taken the operation, and `alive` are all living provisioners. `cause` says why it ended without
    success.
    """

    kind: OperationKind
    state: State
    release_name: str
    namespace: str
    parallel: int = 8
    engine: str = ""
    cause: str = ""
    remaining_seconds: float | None = None
    is_cancel_requested: bool = False
    holder: Provisioner | None = None
    alive: Sequence[Provisioner] = ()


@dataclass(frozen=True, kw_only=True)
class Facts:
    """An operation with its nodes by path; there are no nodes before it has a plan."""

    operation: OperationFact
    nodes: Mapping[str, NodeFact] = field(default_factory=dict)
    plan: Plan = field(default_factory=lambda: Plan(()))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeExplanation:
    """Why a node is in its state; `waits_for` are the nodes that must end before it starts."""

    node: NodeFact
    sentence: str
    waits_for: tuple[str, ...] = ()
