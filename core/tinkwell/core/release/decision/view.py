"""What whoever carries an operation out knows of it: what `decide` is asked with.

The owner of an operation is the only one who reports about it, so it keeps the view in memory: `build` makes one of
what is stored, `outcome` says how it goes on with each thing that happens, and `after` lets time pass.
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
    """Return the key by which an event is among what runs; it has no steps."""
    return StepKey(path, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often an action is tried, and how long after a failure again: `delay_seconds`, doubled with each attempt.

    With `exit_codes` only those are repeated, and nothing that took too long.
    """

    attempts: int = 1
    delay_seconds: int = 5
    exit_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The seconds that calls may take, and a resource to become ready after its actions; None where nothing is said."""

    state: int | None = None
    action: int | None = None
    ready: int | None = None
    destroy: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What manifests and images may both say; nothing is said by None, nor by an empty key."""

    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: Retry | None = None
    concurrency_key: str = ""

    def over(self, other: "Settings") -> "Settings":
        """Return these settings, and where nothing is said the other ones."""
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
    """What the answer to `init` says: how to ask for the state, how to destroy, and every how many seconds to ask
    whether the resource is ready; None where it can't be destroyed, and where it is asked once.

    `reads_state_only`: to ask for the state changes nothing.
    """

    state_call: Call
    destroy_call: Call | None = None
    poll_seconds: int | None = None
    settings: Settings = field(default_factory=Settings)
    reads_state_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """What manifest and stored resource say of a node: `status` is that of the resource, UNKNOWN for a new one.

    `owned` is None where no `state` of the resource was answered in this release yet. `moved_to` is the node to which a
    removed resource has moved, empty for none.
    """

    type: str
    settings: Settings = field(default_factory=Settings)
    readonly: bool = False
    keep: bool = False
    status: ResourceStatus = ResourceStatus.UNKNOWN
    owned: bool | None = None
    moved_to: str = ""


# That of a chart or an event.
NO_SPEC = NodeSpec(type="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What `state` answers: VALID or STALE. `has_state`: the resource exists, if only in another shape."""

    status: ResourceStatus
    has_state: bool
    actions: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """A step. One that `is_former` belongs to an earlier round, and says nothing of the resource as it is now.

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
        """Whether nobody can tell how it ended."""
        return report.is_lost(state=self.state, message=self.message)

    @property
    def has_run(self) -> bool:
        """Whether anything of it has run, as far as one can tell."""
        return self.exit_code is not None or self.state in (State.SUCCEEDED, State.FAILED, State.TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node, with all of its steps in order. That of a chart or an event has none, and nothing but kind and state.

    `init` is None until it is known. `problem` is what was found to be wrong with the node before anything changed,
    empty for nothing. `answer` is the last one of `state` in this round. `ready_seconds` is the time left for the
    resource to become ready, None where only the operation's deadline counts. `is_begun`: it has been INSTALLING or
    REMOVING.
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
        """Whether its image is called: it is a resource, or a hook."""
        return self.kind in (NodeKind.RESOURCE, NodeKind.HOOK)

    @property
    def settings(self) -> Settings:
        """What manifest and image say together; the manifest wins."""
        return self.spec.settings.over(self.init.settings) if self.init else self.spec.settings

    @property
    def round(self) -> tuple[StepView, ...]:
        """The steps of the present round."""
        return tuple(s for s in self.steps if not s.is_former and s.kind is not StepKind.INIT)

    @property
    def is_changed(self) -> bool:
        """Whether something with effects has run in this operation."""
        return any(step.kind.has_effects and step.has_run for step in self.steps)

    @property
    def is_lost(self) -> bool:
        """Whether nobody can tell how something with effects ended in this operation."""
        return any(step.is_lost for step in self.steps)

    def key(self, step: StepView) -> StepKey:
        """Return the key of one of its steps."""
        return StepKey(self.path, step.ordinal)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView:
    """An operation whose plan is stored, and all of its nodes by path.

    `remaining_seconds` is the time left to its deadline. `cancel_seconds` is what is left for running actions since a
    cancellation was asked for, None where it was not. `busy_keys` are the concurrency keys that other operations use
    here.
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
        """Return the view with this node in place of its former self."""
        return replace(self, nodes={**self.nodes, node.path: node})

    def step(self, key: StepKey) -> StepView:
        """Return one step."""
        return self.nodes[key.path].steps[key.ordinal - 1]

    def after(self, seconds: float) -> "OperationView":
        """Return the view so many seconds later."""
        cancel_seconds = None if self.cancel_seconds is None else self.cancel_seconds - seconds
        return replace(
            self,
            remaining_seconds=self.remaining_seconds - seconds,
            cancel_seconds=cancel_seconds,
            nodes={path: _age(node, seconds) for path, node in self.nodes.items()},
        )


def begun_state(node: NodeView) -> NodeState:
    """Return the state in which a node is while it is worked on."""
    return NodeState.INSTALLING if node.task is NodeTask.INSTALL else NodeState.REMOVING


def done_state(node: NodeView) -> NodeState:
    """Return the state in which a node is once all is done that was to be done."""
    return NodeState.READY if node.task is NodeTask.INSTALL else NodeState.REMOVED


class StoredStep(Protocol):
    """What a view needs of a step that is stored; `record.Step` is one."""

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
    """What a view needs of a node that is stored; `record.Node` is one."""

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
    """Make a view of what is stored: all steps belong to earlier rounds.

    `specs` has all resources and hooks, and `inits` those whose answer is known, among them all resources that have
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
    """Return a node later; one that waits for no time is the same."""
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
