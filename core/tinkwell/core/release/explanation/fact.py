"""What is known of an operation when somebody asks why it is as it is. All times are seconds, by the server's clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, OperationKind, StepKind
from tinkwell.core.release.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioner:
    """Who carries operations out, under a lease of its own. It is over since `silent_seconds`, 0 if it lives."""

    owner: str
    engine: str
    silent_seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.owner} (engine {self.engine})"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFact:
    """The step of a node that was begun last. It may have `attempts`, each of `timeout_seconds`."""

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
    """A node. `seconds` is since when it is as it is, None where nobody can tell."""

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
    """An operation. `engine` is the one that its release belongs to, empty for any.

    `holder` has taken it, and `alive` are all provisioners that live. `cause` says why it ended without success.
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
    """An operation with its nodes, by their paths; there are none before it has a plan."""

    operation: OperationFact
    nodes: Mapping[str, NodeFact] = field(default_factory=dict)
    plan: Plan = field(default_factory=lambda: Plan(()))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeExplanation:
    """Why a node is as it is; `waits_for` are the nodes that keep it from its start."""

    node: NodeFact
    sentence: str
    waits_for: tuple[str, ...] = ()
