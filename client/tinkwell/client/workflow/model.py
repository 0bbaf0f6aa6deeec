"""Workflows, their actions, reports and output, as calls return and events carry them."""

from dataclasses import astuple, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from tinkwell.client.value import shape, shaped
from tinkwell.client.value.output import LogStream as LogStream
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import ResourceType, State


@shaped.resource(ResourceType.WORKFLOW)
@dataclass(frozen=True, slots=True)
class Workflow(Shaped):
    """A template rendered for devices; `hardware` is the device map, `data` the rendered text, None but in `get`.

    `on_timeout` and `on_failure` name the templates of the workflows that are to recover it, and `recovers` is the id
    of the one that it recovers itself; all are empty for none. What came of a recovery is in `cause`.
    """

    id: str
    template_id: str = ""
    template_name: str = ""
    hardware: dict[str, Any] = field(default_factory=dict)
    state: State = State.PENDING
    version: int = 0
    total_actions: int = 0
    completed_actions: int = 0
    global_timeout_seconds: int = 0
    cause: dict[str, Any] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    deleted_at: datetime | None = None
    on_timeout: str = field(default="", metadata=shape.OPTIONAL)
    on_failure: str = field(default="", metadata=shape.OPTIONAL)
    recovers: str = field(default="", metadata=shape.OPTIONAL)
    data: str | None = None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The ids of some workflows that are not finished, each kind oldest first. What is PENDING has not started."""

    running_ids: tuple[str, ...] = ()
    pending_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many of each are gone, or would be; `reports` are entries of journals, as `events` gives them."""

    workflows: int = 0
    actions: int = 0
    log_lines: int = 0
    reports: int = 0
    hardware: int = 0
    templates: int = 0

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))


@shaped.resource(ResourceType.ACTION)
@dataclass(frozen=True, slots=True)
class Action(Shaped):
    """One step of a workflow, with everything needed to run it.

    `retries` is how often an attempt that ends without success is repeated, `retry_delay_seconds` the pause before the
    second one. `retry_at` is when a PENDING action's next attempt is due, None for the first one. An action that
    `reboots` has succeeded when its machine has rebooted.

    `remaining_seconds` until the deadline of a running action, and `wait_seconds` until `retry_at`, are a moment's
    answers and no part of the JSON shape.
    """

    id: str
    workflow_id: str = ""
    index: int = 0
    task_name: str = ""
    name: str = ""
    image: str = ""
    timeout_seconds: int = 0
    command: tuple[str, ...] = ()
    on_timeout: tuple[str, ...] = ()
    on_failure: tuple[str, ...] = ()
    worker_id: str = ""
    volumes: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    pid: str = ""
    state: State = State.PENDING
    attempt: int = 0
    version: int = 0
    message: str = ""
    exit_code: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    retries: int = 0
    retry_delay_seconds: int = 0
    reboots: bool = False
    retry_at: datetime | None = None
    remaining_seconds: float | None = field(default=None, metadata=shape.HIDDEN)
    wait_seconds: float | None = field(default=None, metadata=shape.HIDDEN)


@dataclass(frozen=True, slots=True)
class ActionStatus(Shaped):
    """One entry of a workflow's journal: what was reported about an action."""

    workflow_id: str
    action_id: str
    task_name: str
    action_name: str
    worker_id: str
    state: State
    attempt: int = 0
    seconds: float = 0.0
    message: str = ""
    exit_code: int | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MachineHold(Shaped):
    """A machine that belongs to a workflow, also after its end while something of it may still be there.

    `action_id` is the action whose run may still be there, empty when nothing is. `lease_token` says under which lease,
    0 for none or one that is not known any more, and `is_live` that the lease is not over.
    """

    worker_id: str
    action_id: str = ""
    lease_token: int = 0
    is_live: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowContext(Shaped):
    """How far a workflow is; `current_*` describe the action that runs or ran last, empty before the first.

    `waits_for_workflow` runs on `waits_for_worker`, one of its machines, and must end before this one can start; both
    are empty when no machine keeps it waiting. `holds` are its own machines; they come with `context` alone, and
    `actions` where `context` is asked for them. Both are a moment's answer and no part of the JSON shape.
    """

    workflow_id: str
    current_worker: str = ""
    current_task: str = ""
    current_action: str = ""
    current_action_index: int = 0
    current_action_state: State | None = None
    total_number_of_actions: int = 0
    workflow_state: State = State.PENDING
    completed_actions: int = 0
    waits_for_workflow: str = ""
    waits_for_worker: str = ""
    created_at: datetime | None = None
    holds: tuple[MachineHold, ...] = field(default=(), metadata=shape.HIDDEN)
    actions: tuple[Action, ...] = field(default=(), metadata=shape.HIDDEN)


@dataclass(frozen=True, slots=True)
class LogLine(Shaped):
    """One output line of an action; `number` counts within the attempt, from 1. The server fills in the names.

    An open line is not complete: it comes again, by the same number, and stands in place of this one.
    """

    action_id: str
    attempt: int
    number: int
    text: str
    stream: LogStream = LogStream.STDOUT
    created_at: datetime | None = None
    task_name: str = ""
    action_name: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is said about an action, which is named by its id or by the names of its task and itself."""

    workflow_id: str
    worker_id: str
    state: State | str
    action_id: str = ""
    task_name: str = ""
    action_name: str = ""
    attempt: int = 0
    seconds: float = 0.0
    message: str = ""
    exit_code: int | None = None
    lease_token: int = 0


@dataclass(frozen=True, slots=True)
class Reported(Shaped):
    """A report that was taken: revision 0 when it was a repetition; no remaining seconds where there is no deadline.

    `state` is the action's after the report: PENDING after a failure means that it will be repeated, None that an older
    server did not say. `data_version` is the latest of the document that the workflow's workers share, 0 without one.
    """

    revision: int
    attempt: int
    remaining_seconds: float | None = None
    state: State | None = None
    data_version: int = 0


@dataclass(frozen=True, slots=True)
class Expired(Shaped):
    """Whether a deadline was past: the revision of the end it brought, 0 where there was nothing to end.

    `remaining_seconds` until asking again would end something; None where the passing of time alone will not.
    """

    revision: int
    remaining_seconds: float | None = None


class Document(NamedTuple):
    """A version of the JSON document that a workflow's workers share, as text; empty when there is none."""

    data: bytes
    version: int
