"""The view of an operation, from which `decide` decides.

Only the owner of an operation reports about it, so the owner keeps the view in memory: `build` makes it from the stored
rows, `outcome` applies results, and `after` lets time pass.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from tinkwell.core.event.kinds import State
from tinkwell.core.release import report
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, Phase, ResourceStatus, StepKind
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import Call

STATE_SECONDS = 30
ACTION_SECONDS = 300
DESTROY_SECONDS = 300


@dataclass(frozen=True, slots=True, order=True)
class StepKey:
    """A step within its operation."""

    path: str
    ordinal: int


def event_key(path: str) -> StepKey:
    """Return the key for an event in `running`; an event has no steps."""
    return StepKey(path, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often an action is tried, and the delay after a failure: `delay_seconds`, doubled with each attempt.

    With `exit_codes` only failures with these codes are repeated, and no timeouts.
    """

    attempts: int = 1
    delay_seconds: int = 5
    exit_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The seconds that calls may take, and a resource to become ready after its actions; None if not given."""

    state: int | None = None
    action: int | None = None
    ready: int | None = None
    destroy: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that manifests and images may both give; None, or an empty key, means not given."""

    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: Retry | None = None
    concurrency_key: str = ""

    def over(self, other: "Settings") -> "Settings":
        """Return these settings, completed by the other ones."""
        ours, theirs = self.timeouts, other.timeouts
        timeouts = Timeouts(
            state=_first(ours.state, theirs.state),
            action=_first(ours.action, theirs.action),
            ready=_first(ours.ready, theirs.ready),
            destroy=_first(ours.destroy, theirs.destroy),
        )
        key = self.concurrency_key or other.concurrency_key
        return Settings(timeouts=timeouts, retry=self.retry or other.retry, concurrency_key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitFacts:
    """The answer to `init`: how to ask for the state and to destroy, and the interval of questions for readiness.

    None means that the resource cannot be destroyed, or is asked only once. `reads_state_only`: asking for the state
    changes nothing.
    """

    state_call: Call
    destroy_call: Call | None = None
    poll_seconds: int | None = None
    settings: Settings = field(default_factory=Settings)
    reads_state_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """The facts about a node from the manifest and the stored resource: `status` is UNKNOWN for a new resource.

    `owned` is None if no `state` of the resource was answered in this release yet. `moved_to` is the node to which a
    removed resource has moved, "" for none.
    """

    type: str
    settings: Settings = field(default_factory=Settings)
    readonly: bool = False
    keep: bool = False
    status: ResourceStatus = ResourceStatus.UNKNOWN
    owned: bool | None = None
    moved_to: str = ""


# For charts and events.
NO_SPEC = NodeSpec(type="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of `state`: VALID or STALE. `has_state`: the resource exists, perhaps in another shape."""

    status: ResourceStatus
    has_state: bool
    actions: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """A step. If it `is_former`, it belongs to an earlier round, and says nothing about the resource's current state.

    `wait_seconds` is the time until the next attempt is due.
    """

    ordinal: int
    kind: StepKind
    state: State
    attempt: int
    call: Call
    exit_code: int | None = None
    message: str = ""
    is_former: bool = False
    wait_seconds: float = 0.0

    @property
    def is_lost(self) -> bool:
        """Whether the step's result was lost."""
        return report.is_lost(state=self.state, message=self.message)

    @property
    def has_run(self) -> bool:
        """Whether the step may have run."""
        return self.exit_code is not None or self.state in (State.SUCCEEDED, State.FAILED, State.TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node, with all of its steps in order; a chart or an event has no steps, and only a kind and a state.

    `init` is None until it is known. `problem` was found before anything changed, "" for none. `answer` is the last
    answer of `state` in this round. `ready_seconds` is the time left for the resource to become ready, None if only the
    operation's deadline counts. `is_begun`: it has been INSTALLING or REMOVING.
    """

    path: str
    kind: NodeKind = NodeKind.RESOURCE
    task: NodeTask = NodeTask.INSTALL
    state: NodeState = NodeState.PENDING
    message: str = ""
    spec: NodeSpec = NO_SPEC
    init: InitFacts | None = None
    problem: str = ""
    steps: tuple[StepView, ...] = ()
    answer: Answer | None = None
    ready_seconds: float | None = None
    is_begun: bool = False

    @property
    def has_calls(self) -> bool:
        """Whether the node's image is called, because it is a resource or a hook."""
        return self.kind in (NodeKind.RESOURCE, NodeKind.HOOK)

    @property
    def settings(self) -> Settings:
        """The settings of manifest and image together; the manifest wins."""
        return self.spec.settings.over(self.init.settings) if self.init else self.spec.settings

    @property
    def round(self) -> tuple[StepView, ...]:
        """The steps of the current round."""
        return tuple(s for s in self.steps if not s.is_former and s.kind is not StepKind.INIT)

    @property
    def is_changed(self) -> bool:
        """Whether a step with effects has run in this operation."""
        return any(step.kind.has_effects and step.has_run for step in self.steps)

    @property
    def is_lost(self) -> bool:
        """Whether the result of a step with effects was lost in this operation."""
        return any(step.is_lost for step in self.steps)

    def key(self, step: StepView) -> StepKey:
        """Return the key of one of its steps."""
        return StepKey(self.path, step.ordinal)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView:
    """An operation whose plan is stored, and all of its nodes by path.

    `remaining_seconds` is the time left to its deadline. `cancel_seconds` is the time left for running actions after a
    cancellation was asked for, None if none was. `busy_keys` are the concurrency keys that other operations use on this
    engine.
    """

    id: str
    plan: Plan
    nodes: Mapping[str, NodeView]
    options: Options = field(default_factory=Options)
    phase: Phase = Phase.APPLY
    remaining_seconds: float
    cancel_seconds: float | None = None
    busy_keys: frozenset[str] = frozenset()

    def with_node(self, node: NodeView) -> "OperationView":
        """Return the view with this node instead of the one with the same path."""
        return replace(self, nodes={**self.nodes, node.path: node})

    def step(self, key: StepKey) -> StepView:
        """Return one step."""
        return self.nodes[key.path].steps[key.ordinal - 1]

    def after(self, seconds: float) -> "OperationView":
        """Return the view `seconds` later."""
        cancel_seconds = None if self.cancel_seconds is None else self.cancel_seconds - seconds
        return replace(
            self,
            remaining_seconds=self.remaining_seconds - seconds,
            cancel_seconds=cancel_seconds,
            nodes={path: _age(node, seconds) for path, node in self.nodes.items()},
        )


def begun_state(node: NodeView) -> NodeState:
    """Return the state of a node while it is worked on."""
    return NodeState.INSTALLING if node.task is NodeTask.INSTALL else NodeState.REMOVING


def done_state(node: NodeView) -> NodeState:
    """Return the state of a node after all its work succeeded."""
    return NodeState.READY if node.task is NodeTask.INSTALL else NodeState.REMOVED


class StoredStep(Protocol):
    """The fields of a stored step that a view needs; `record.Step` has them."""

    @property
    def ordinal(self) -> int: ...
    @property
    def kind(self) -> StepKind: ...
    @property
    def state(self) -> State: ...
    @property
    def attempt(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def image(self) -> str: ...
    @property
    def entrypoint(self) -> str: ...
    @property
    def args(self) -> tuple[str, ...] | None: ...
    @property
    def exit_code(self) -> int | None: ...
    @property
    def message(self) -> str: ...


class StoredNode(Protocol):
    """The fields of a stored node that a view needs; `record.Node` has them."""

    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> NodeKind: ...
    @property
    def task(self) -> NodeTask: ...
    @property
    def state(self) -> NodeState: ...
    @property
    def message(self) -> str: ...
    @property
    def started_at(self) -> datetime.datetime | None: ...


def build(
    *,
    operation_id: str,
    plan: Plan,
    options: Options,
    phase: Phase,
    nodes: Iterable[tuple[StoredNode, Iterable[StoredStep]]],
    specs: Mapping[str, NodeSpec],
    inits: Mapping[str, InitFacts],
    remaining_seconds: float,
    cancel_seconds: float | None = None,
) -> OperationView:
    """Return the view of stored rows: all steps belong to earlier rounds.

    `specs` has all resources and hooks, and `inits` the known answers, including those of all resources that have
    begun.
    """
    views = (
        NodeView(
            path=node.path,
            kind=node.kind,
            task=node.task,
            state=node.state,
            message=node.message,
            spec=specs[node.path] if node.kind in (NodeKind.RESOURCE, NodeKind.HOOK) else NO_SPEC,
            init=inits.get(node.path),
            steps=tuple(_former(step) for step in sorted(steps, key=lambda step: step.ordinal)),
            is_begun=node.started_at is not None,
        )
        for node, steps in nodes
    )
    return OperationView(
        id=operation_id,
        plan=plan,
        nodes={view.path: view for view in views},
        options=options,
        phase=phase,
        remaining_seconds=remaining_seconds,
        cancel_seconds=cancel_seconds,
    )


def _former(step: StoredStep) -> StepView:
    call = Call(
        name=step.name,
        description=step.description,
        image=step.image,
        entrypoint=step.entrypoint,
        args=step.args,
    )
    return StepView(
        ordinal=step.ordinal,
        kind=step.kind,
        state=step.state,
        attempt=step.attempt,
        call=call,
        exit_code=step.exit_code,
        message=step.message,
        is_former=True,
    )


def _age(node: NodeView, seconds: float) -> NodeView:
    """Return a node after some seconds; a node that waits for no time is returned as it is."""
    is_waiting = any(step.wait_seconds > 0 for step in node.steps)
    if node.ready_seconds is None and not is_waiting:
        return node
    steps = node.steps
    if is_waiting:
        steps = tuple(replace(step, wait_seconds=max(step.wait_seconds - seconds, 0.0)) for step in steps)
    ready_seconds = None if node.ready_seconds is None else node.ready_seconds - seconds
    return replace(node, steps=steps, ready_seconds=ready_seconds)


def _first(ours: int | None, theirs: int | None) -> int | None:
    return theirs if ours is None else ours
