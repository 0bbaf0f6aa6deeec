"""Records of a run of releases: what was meant, what was stored, and what the resources' images themselves wrote down.

They are plain data, so that judging them needs nothing that was running. Moments are in seconds since the epoch, by the
one clock of the machine.
"""

import dataclasses
import enum
from collections.abc import Collection, Mapping, Sequence

from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import NodeState, NodeTask, OperationKind, StepKind, Wait
from tinkwell.core.release.lifecycle_event.run import Outcome
from tinkwell.core.release.report import STEP_LOST

# How the names of hooks begin.
HOOK = "hook"
# What stands in edges for the resources of the chart itself.
OWN = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Charts:
    """The charts of a release, by their paths: the names of the subcharts of each, and which of them wait for which.

    An edge is (before, after), both of them names of subcharts; the latter may be OWN. `heard` says which events of a
    chart something hears, be it a hook.
    """

    wait: Wait
    children: Mapping[str, Sequence[str]]
    edges: Mapping[str, Collection[tuple[str, str]]]
    heard: Mapping[str, Collection[str]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is meant to become of an operation: how it may end.

    Where it ends as FAILED the node `culprit` must be why, unless an action of it was lost; of what is emitted before
    there is a plan, that event. What it installs has `charts`, None for manifests, and where it installs nothing.
    """

    operation_id: str
    release: str
    ends: frozenset[State]
    culprit: str = ""
    charts: Charts | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event about a release, an operation, a node or a step, with what its data says.

    `state` is as the data has it. `operation_id` of a release is its newest operation's. `path` is a node's or a
    step's; `task` a node's; `kind`, `attempt` and `exit_code` a step's; `reason` and `culprit` are of an operation's
    cause.
    """

    revision: int
    at: float
    resource_type: ResourceType
    resource_id: str
    release_id: str
    event_type: EventType
    version: int
    state: str
    operation_id: str = ""
    path: str = ""
    task: NodeTask = NodeTask.INSTALL
    kind: StepKind = StepKind.ACTION
    attempt: int = 0
    exit_code: int | None = None
    message: str = ""
    reason: str = ""
    culprit: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step as it is stored in the end."""

    id: str
    ordinal: int
    kind: StepKind
    state: State
    message: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether nobody can tell how it ended."""
        return self.state is State.FAILED and self.message.startswith(STEP_LOST)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as it is stored in the end, with its steps in order; `after` are the nodes that the plan names."""

    id: str
    operation_id: str
    path: str
    task: NodeTask
    state: NodeState
    message: str = ""
    after: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """An event in the life of a chart was emitted in an operation, or again where its `version` is not the first."""

    revision: int
    operation_id: str
    event: str
    chart: str
    version: int
    outcome: Outcome
    message: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Hold:
    """Somebody on this engine has taken an operation."""

    operation_id: str
    engine: str
    at: float


class Mark(enum.StrEnum):
    """What a call of an image writes down about itself."""

    BEGIN = "begin"
    END = "end"
    # It began while another call that may change the resource was alive.
    SAME_RESOURCE = "same resource"
    # It was asked for the state of its resource, and answers.
    SAID = "said"


class Answer(enum.StrEnum):
    """What a resource says of its state: ABSENT is STALE without a state."""

    VALID = "VALID"
    STALE = "STALE"
    ABSENT = "ABSENT"


@dataclasses.dataclass(frozen=True, slots=True)
class Effect:
    """A line of the journal that all calls write to, in the order in which they wrote; one that is killed has no END.

    `engine` is where it ran. `said` is an answer, or the step that was alive already, and empty otherwise.
    """

    mark: Mark
    release: str
    path: str
    operation_id: str
    step_id: str
    attempt: int
    call: str
    engine: str
    at: float
    exit_code: int | None = None
    said: str = ""

    @property
    def resource(self) -> tuple[str, str]:
        """Which resource it is about."""
        return self.release, self.path


@dataclasses.dataclass(slots=True)
class History:
    """Everything that is known in the end.

    `holds` are in order. `accepting` are the operations that go on where an action was lost. `wanted` has what
    resources are to hold of those releases whose last operation succeeded, and `found` what they hold. `leftovers`
    tells what should not be there any more, a sentence each. `emissions` are in the order of the log, and `kinds` says
    what each operation does.
    """

    plans: Sequence[Plan]
    events: Sequence[Event]
    nodes: Sequence[Node]
    effects: Sequence[Effect]
    holds: Sequence[Hold] = ()
    accepting: frozenset[str] = frozenset()
    wanted: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    found: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    leftovers: Sequence[str] = ()
    emissions: Sequence[Emission] = ()
    kinds: Mapping[str, OperationKind] = dataclasses.field(default_factory=dict)


def is_of_hook(path: str) -> bool:
    """Whether a resource is a hook, by its path without its event; its name says so."""
    return path.rpartition(":")[2].startswith(HOOK)


def written_path(path: str) -> str:
    """Return the path of the resource of a node, which for a hook has its event behind it."""
    return path.partition("@")[0]
