"""Releases as they are stored: the release, its revisions and resources, its operations with nodes and steps."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from tinkwell.core.event.kinds import State
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
from tinkwell.core.workflow.record import LogStream

DEFAULT_TIMEOUT_SECONDS = 300
DEFAULT_PARALLEL = 8
DEFAULT_HISTORY_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an operation is carried out.

    `readiness_timeout_seconds` is 0 if only the operation's deadline counts. `wait` and `strict` are about charts: in
    which order their parts are installed, and whether a dependency on a disabled chart is an error.
    """

    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS
    readiness_timeout_seconds: int = 0
    on_failure: OnFailure = OnFailure.STOP
    parallel: int = DEFAULT_PARALLEL
    history_max: int = DEFAULT_HISTORY_MAX
    atomic: bool = False
    verbose: bool = False
    accept_lost: bool = False
    move_engine: bool = False
    wait: Wait = Wait.ORDERED
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a user gave: manifests by the name of their file, in order, and variables.

    `variable_files`, by name, may hold expressions: each sees `variables` and the files before it. At the end
    `variables` win over the files.
    """

    files: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, object]
    variable_files: tuple[tuple[str, Mapping[str, object]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release.

    `revision` is the last that was DEPLOYED, 0 for none, and `latest_revision` the newest that exists. `operation_id`
    is the newest operation that changes it, or the newest plan of a PLANNED one; `engine` names the engine that it
    belongs to, "" for any. The chart is that of `revision`, or of the newest revision if none was DEPLOYED, "" without
    charts. `is_drifted`: the last plan of the installed revision found differences.
    """

    id: str
    version: int
    namespace: str
    name: str
    state: ReleaseState
    revision: int
    latest_revision: int
    operation_id: str
    engine: str
    description: str
    chart_name: str
    chart_version: str
    is_drifted: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime
    deleted_at: datetime.datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A stored chart.

    `digest` is the digest of its archive, which has `size` bytes. `metadata` is JSON text of Chart.yaml, "" in lists;
    `warnings` are hints to the chart's author.
    """

    id: str
    version: int
    digest: str
    name: str
    chart_version: str
    app_version: str
    description: str
    metadata: str
    size: int
    warnings: tuple[str, ...]
    created_at: datetime.datetime
    updated_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One revision of a release. The documents are JSON text, "" in lists; see `plan` and `manifest`.

    `all_values` is JSON text as well: the merged values of the chart and the user, "" unless asked for.
    """

    release_id: str
    revision: int
    state: RevisionState
    source: str
    manifest: str
    late: str
    plan: str
    rollback_of: int
    operation_id: str
    description: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    all_values: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One change of a release, or one look at it, from its request to its end.

    `revision` is the one that it installs, 0 before SubmitPlan and if it installs none. `cause` is JSON text that says
    why it ended without success, "" otherwise. `follows` is the id of the failed operation that it undoes, and
    `plan_of` the id of the plan that it applies, "" for none. `result` is JSON text too: the document of a PLAN or a
    TEST, or the `outputs` of an installation, "" for none and if it was not asked for. `remaining_seconds` is the time
    left to its deadline, negative when past, and None once it has ended. The counters count resources.
    """

    id: str
    version: int
    release_id: str
    release_name: str
    namespace: str
    revision: int
    kind: OperationKind
    state: State
    phase: Phase
    options: Options
    cause: str
    actor: str
    reason: str
    follows: str
    total_nodes: int
    changed_nodes: int
    failed_nodes: int
    skipped_nodes: int
    lease_token: int
    is_cancel_requested: bool
    cancel_grace_seconds: int
    cancel_reason: str = ""
    remaining_seconds: float | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    plan_of: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node in an operation's plan: a resource, or a chart with all in it, that is installed or removed.

    `path` is the path of the resource or the chart.
    """

    id: str
    version: int
    operation_id: str
    release_id: str
    path: str
    kind: NodeKind
    task: NodeTask
    ordinal: int
    batch: int
    state: NodeState
    changed: bool
    message: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of the resource protocol for a node.

    `ordinal` counts the steps of the node from 1. `image` is "" for the resource's own; `args` None means the image's
    own.
    """

    id: str
    version: int
    node_id: str
    operation_id: str
    release_id: str
    path: str
    ordinal: int
    kind: StepKind
    name: str
    description: str
    image: str
    entrypoint: str
    args: tuple[str, ...] | None
    state: State
    attempt: int
    exit_code: int | None
    message: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource of a release as it was last seen.

    `init`, `config` and `state` are JSON text, "" for none. `owned` says that the release created it: the first `state`
    of it in this release found nothing.
    """

    release_id: str
    path: str
    type: str
    revision: int
    image_id: str
    init: str
    config: str
    state: str
    status: ResourceStatus
    owned: bool
    observed_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedOperation:
    """An operation that has not ended. `is_held`: a living provisioner has it; `engine` is its release's or ""."""

    id: str
    release_id: str
    namespace: str
    state: State
    engine: str
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStepLine:
    """A new line of a step's output; the provisioner numbers an attempt's lines from 1.

    An open line is not complete: it is sent again, with the same number.
    """

    step_id: str
    attempt: int
    number: int
    stream: LogStream
    text: str
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine(NewStepLine):
    """A line of a step's output, with its node's path and its step's name; `id` orders the lines of the operation."""

    id: int
    path: str
    step_name: str
    created_at: datetime.datetime
