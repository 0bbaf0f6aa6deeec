"""Releases, revisions, resources, and operations with nodes and steps, as calls return and events carry them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from tinkwell.client.value import shape, shaped
from tinkwell.client.value.output import LogStream
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release.kinds import (
    NodeKind,
    NodeState,
    NodeTask,
    OnFailure,
    OperationKind,
    Phase,
    ReleaseState,
    ResourceStatus,
    RevisionState,
    StepKind,
    Wait,
)
from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome
from tinkwell.core.release.record import Options


class OperationOptions(TypedDict, total=False):
    """How an operation is executed; an option that is left out has the default of `Options`."""

    timeout_seconds: int
    readiness_timeout_seconds: int
    on_failure: OnFailure | str
    parallel: int
    history_max: int
    atomic: bool
    verbose: bool
    accept_lost: bool
    move_engine: bool
    wait: Wait | str
    strict: bool


@shaped.resource(ResourceType.RELEASE)
@dataclass(frozen=True, slots=True)
class Release(Shaped):
    """A release: resources that were installed together, under a name that is unique in its namespace.

    `revision` is the last deployed one, 0 for none, and `latest_revision` the newest one. `operation_id` is the newest
    operation that changes the release, or the newest plan of a PLANNED release. `engine` is the engine that the release
    belongs to, empty for any. `drifted` says that the last `drift` found a difference. `annotations` are texts that the
    server's own functions add to lists.
    """

    id: str
    namespace: str = ""
    name: str = ""
    state: ReleaseState = ReleaseState.PENDING_INSTALL
    version: int = 0
    revision: int = 0
    latest_revision: int = 0
    operation_id: str = ""
    engine: str = field(default="", metadata=shape.OPTIONAL)
    description: str = field(default="", metadata=shape.OPTIONAL)
    chart_name: str = field(default="", metadata=shape.OPTIONAL)
    chart_version: str = field(default="", metadata=shape.OPTIONAL)
    drifted: bool = False
    annotations: dict[str, Any] = field(default_factory=dict, metadata=shape.OPTIONAL)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None


@shaped.resource(ResourceType.CHART)
@dataclass(frozen=True, slots=True)
class Chart(Shaped):
    """A chart, as it was uploaded. `digest` is that of its archive, which has `size` bytes.

    `metadata` is Chart.yaml, None in lists and events. `warnings` say what its author may correct.
    """

    id: str
    digest: str = ""
    name: str = ""
    chart_version: str = ""
    app_version: str = field(default="", metadata=shape.OPTIONAL)
    description: str = field(default="", metadata=shape.OPTIONAL)
    size: int = 0
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    warnings: tuple[str, ...] = field(default=(), metadata=shape.OPTIONAL)
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Revision(Shaped):
    """A revision of a release, which one operation installed; its documents are None in lists.

    `source` is the user's input: {"files": {NAME: TEXT}, "variables": {…}}, or for a chart {"chart": {"digest", "name",
    "version"}, "user_values": {…}, "strict": …}. `manifest` is the result of its evaluation: {"plugs": {…},
    "resources": {…}, "outputs": {…}}. `plan` has the nodes of the operation. `rollback_of` is the revision whose
    documents these are, 0 for none. `all_values` are the merged values of the chart and the user, None if they were not
    asked for.
    """

    release_id: str
    revision: int = 0
    state: RevisionState = RevisionState.PENDING
    operation_id: str = ""
    rollback_of: int = 0
    description: str = field(default="", metadata=shape.OPTIONAL)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    source: dict[str, Any] | None = None
    manifest: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None
    all_values: dict[str, Any] | None = None


@shaped.resource(ResourceType.OPERATION)
@dataclass(frozen=True, slots=True)
class Operation(Shaped):
    """An operation: one change of a release, from its request to its end.

    `revision` is the one that it installs, 0 if it installs none or before that exists. `cause` says why it ended
    without success. `follows` is the id of the operation that it undoes, and `plan_of` that of the plan that it
    applies, empty for none. `result` is the result of a PLAN or a TEST, once that has ended, or the `outputs` of an
    installation; it is None in lists and events, and `options` are None in events.

    `remaining_seconds` until its deadline, negative when past, and `lease_token` of the lease that holds it, 0 for
    none, hold for the moment of the answer and are no part of the JSON shape.
    """

    id: str
    release_id: str = ""
    namespace: str = ""
    release_name: str = ""
    revision: int = 0
    kind: OperationKind = OperationKind.INSTALL
    state: State = State.PENDING
    phase: Phase = Phase.LOAD
    version: int = 0
    cause: dict[str, Any] | None = None
    actor: str = ""
    reason: str = field(default="", metadata=shape.OPTIONAL)
    follows: str = field(default="", metadata=shape.OPTIONAL)
    plan_of: str = field(default="", metadata=shape.OPTIONAL)
    total_nodes: int = 0
    changed_nodes: int = 0
    failed_nodes: int = 0
    skipped_nodes: int = 0
    cancel_requested: bool = False
    cancel_grace_seconds: int = 0
    cancel_reason: str = field(default="", metadata=shape.OPTIONAL)
    options: Options | None = None
    result: dict[str, Any] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    remaining_seconds: float | None = field(default=None, metadata=shape.HIDDEN)
    lease_token: int = field(default=0, metadata=shape.HIDDEN)


@shaped.resource(ResourceType.STEP)
@dataclass(frozen=True, slots=True)
class Step(Shaped):
    """A step: one call of a resource's image. `ordinal` counts the steps of its node, and `attempt` its runs, from 1.

    An empty `image` means the resource's image; with `args` None the image's own arguments are used.
    """

    id: str
    node_id: str = ""
    operation_id: str = ""
    release_id: str = ""
    path: str = ""
    ordinal: int = 0
    kind: StepKind = StepKind.STATE
    name: str = ""
    description: str = field(default="", metadata=shape.OPTIONAL)
    image: str = field(default="", metadata=shape.OPTIONAL)
    entrypoint: str = field(default="", metadata=shape.OPTIONAL)
    args: tuple[str, ...] | None = None
    state: State = State.PENDING
    attempt: int = 0
    exit_code: int | None = None
    message: str = ""
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


@shaped.resource(ResourceType.NODE)
@dataclass(frozen=True, slots=True)
class Node(Shaped):
    """A node of an operation's plan: a resource, named by `path`, that is installed or removed.

    `ordinal` is its place in the plan, from 0, and `batch` its layer, from 1. `changed` says that an action has run.
    `steps` are in order; only `nodes` and `work` return them. `after` has the paths of the nodes that this one waits
    for; only `nodes` returns it.
    """

    id: str
    operation_id: str = ""
    release_id: str = ""
    path: str = ""
    kind: NodeKind = NodeKind.RESOURCE
    task: NodeTask = NodeTask.INSTALL
    ordinal: int = 0
    batch: int = 0
    state: NodeState = NodeState.PENDING
    changed: bool = False
    message: str = ""
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    after: tuple[str, ...] = field(default=(), metadata=shape.OPTIONAL)
    steps: tuple[Step, ...] = field(default=(), metadata=shape.OPTIONAL)


@shaped.resource(ResourceType.LIFECYCLE)
@dataclass(frozen=True, slots=True)
class LifecycleRun(Shaped):
    """An event in the life of a release, such as pre-install, that an operation emitted.

    `ordinal` counts the events of the operation, from 1; `chart` is the path of the chart whose event it is, empty
    without charts. `handlers` are those that were called, in order; they are left out of the log's event if they need
    more than 48 KiB. `message` says why a handler failed, and `seconds` is how long all of them took.
    """

    id: str
    operation_id: str = ""
    release_id: str = ""
    ordinal: int = 0
    event: str = ""
    chart: str = ""
    handlers: tuple[HandlerRun, ...] = ()
    outcome: Outcome = Outcome.SUCCEEDED
    message: str = ""
    seconds: float = 0.0
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resource(Shaped):
    """A resource of a release as it was last seen. `owned` says that the release created it.

    `revision` is the one whose installation saw it last. `init`, `config` and `state` are None if the resource has
    none.
    """

    release_id: str
    path: str
    type: str = ""
    revision: int = 0
    image_id: str = ""
    status: ResourceStatus = ResourceStatus.UNKNOWN
    owned: bool = False
    observed_at: datetime | None = None
    init: dict[str, Any] | None = None
    config: dict[str, Any] | None = None
    state: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StepLogLine(Shaped):
    """One output line of a step; `number` counts within the attempt, from 1.The server fills in path and name.

    An open line is not complete: a later line with the same number replaces it.
    """

    step_id: str
    attempt: int
    number: int
    text: str
    stream: LogStream = LogStream.STDOUT
    created_at: datetime | None = None
    path: str = ""
    step_name: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class UnfinishedOperation(Shaped):
    """An operation that has not ended; `is_held` says that a live owner has it."""

    id: str
    release_id: str
    namespace: str
    state: State
    engine: str = ""
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Acquired:
    """An operation that the caller has acquired. `is_first`: nobody had it before.

    `is_same_engine`: its former owner had the caller's engine, so the caller can find the runs that it left there.
    """

    operation: Operation
    is_first: bool
    is_same_engine: bool


@dataclass(frozen=True, slots=True)
class Work:
    """The input of an operation. `documents` are JSON texts by name; the properties return them.

    `secrets` are texts that must not be shown.
    """

    operation: Operation
    release: Release
    documents: Mapping[str, str] = field(repr=False)
    nodes: tuple[Node, ...] = field(default=(), repr=False)
    resources: tuple[Resource, ...] = field(default=(), repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def source(self) -> str:
        """The user's input; empty if the operation has none."""
        return self.documents.get("source", "")

    @property
    def chart(self) -> str:
        """The archive of the chart to install, in base64; empty if the operation has none."""
        return self.documents.get("chart", "")

    @property
    def manifest(self) -> str:
        """The evaluated manifest; empty until there is a plan."""
        return self.documents.get("manifest", "")

    @property
    def late(self) -> str:
        """The strings of the manifest that are evaluated late; empty until there is a plan."""
        return self.documents.get("late", "")

    @property
    def plan(self) -> str:
        """The operation's plan; empty until there is one."""
        return self.documents.get("plan", "")

    @property
    def expected(self) -> str:
        """The result of the plan that the operation applies; empty if it applies none."""
        return self.documents.get("expected", "")

    @property
    def removed_plans(self) -> Mapping[int, str]:
        """The plans of former revisions, by revision; resources are removed in the reverse order of these plans."""
        head = "removed/"
        found = {name.removeprefix(head): text for name, text in self.documents.items() if name.startswith(head)}
        return {int(revision): text for revision, text in found.items()}


@dataclass(frozen=True, slots=True)
class Submitted:
    """The answer to a stored plan: the revision that is being installed, 0 for a removal, and the nodes in order."""

    revision: int
    nodes: tuple[Node, ...]
