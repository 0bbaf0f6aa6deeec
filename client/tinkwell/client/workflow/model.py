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
    """A workflow: a template rendered for devices. `hardware` is the device map.

    `data` is the rendered text, which only `get` returns; otherwise it is None. `on_timeout` and `on_failure` name the
    templates of the workflows that recover this one, and `recovers` is the id of the workflow that this one recovers;
    each is empty for none. `cause` has the result of a recovery.
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
    """The ids of some unfinished workflows, those that run and those that are PENDING, each oldest first."""

    running_ids: tuple[str, ...] = ()
    pending_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many of each kind were deleted, or would be; `reports` are entries of journals, as `events` returns them."""

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

    `retries` is how often a failed attempt is repeated, `retry_delay_seconds` the pause before the second attempt.
    `retry_at` is when a PENDING action's next attempt is due, None for the first attempt. An action that `reboots` has
    succeeded when its machine has rebooted.

    `remaining_seconds` until the deadline of a running action, and `wait_seconds` until `retry_at`, hold for the moment
    of the answer and are no part of the JSON shape.
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
    """One entry of a workflow's journal: a report about an action."""

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
    """A machine that a workflow holds, also after its end while an action may still run there.

    `action_id` is the action that may still run there, empty for none. `lease_token` is the lease under which the
    machine is held, 0 for none or an unknown one. `is_live` says that the lease is not over.
    """

    worker_id: str
    action_id: str = ""
    lease_token: int = 0
    is_live: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowContext(Shaped):
    """The progress of a workflow; `current_*` describe the action that runs or ran last, empty before the first.

    `waits_for_workflow` runs on `waits_for_worker`, one of its machines, and must end before this one can start; both
    are empty when no machine keeps it waiting. `holds` are its own machines; only `context` returns them, and `actions`
    only if it was asked for them. Both hold for the moment of the answer and are no part of the JSON shape.
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
    """One output line of an action; `number` counts within the attempt, from 1.The server fills in the names.

    An open line is not complete: a later line with the same number replaces it.
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
    """A report about an action, which is named by `action_id`, or by `task_name` and `action_name`."""

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
    """The answer to a report: revision 0 if it was a repetition; no remaining seconds if there is no deadline.

    `state` is the action's state after the report: PENDING after a failure means that the action will be repeated, None
    that the server is too old to say. `data_version` is the latest version of the document that the workflow's workers
    share, 0 without a document.
    """

    revision: int
    attempt: int
    remaining_seconds: float | None = None
    state: State | None = None
    data_version: int = 0


@dataclass(frozen=True, slots=True)
class Expired(Shaped):
    """The result of an expiry check. `revision` is that of the workflow's end, 0 if nothing ended.

    `remaining_seconds` says when another check would end something; None if the passing of time alone ends nothing.
    """

    revision: int
    remaining_seconds: float | None = None


class Document(NamedTuple):
    """A version of the JSON document that a workflow's workers share, as text; empty if there is none."""

    data: bytes
    version: int
