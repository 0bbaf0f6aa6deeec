"""Workflows as they are stored: the workflow, its frozen actions, what was reported about them, and their output."""

import datetime
from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core.event.kinds import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A template rendered for devices. `devices` and `cause` are JSON text; the rendered `data` is empty in lists.

    `on_timeout` and `on_failure` name the templates that are to recover it, and `recovers` is the id of the workflow
    that it recovers itself; all are empty for none.
    """

    id: str
    version: int
    template_id: str
    template_name: str
    devices: str
    data: str
    state: State
    total_actions: int
    completed_actions: int
    global_timeout_seconds: int
    cause: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    on_timeout: str
    on_failure: str
    recovers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One step with everything needed to run it.

    `remaining_seconds` is the time left to the deadline of a running action, None where there is none. `retry_at` is
    when the next attempt of a pending one is due, and `wait_seconds` the time until then; None where none is to pass.
    """

    id: str
    version: int
    workflow_id: str
    index: int
    task_name: str
    name: str
    image: str
    timeout_seconds: int
    command: tuple[str, ...]
    on_timeout: tuple[str, ...]
    on_failure: tuple[str, ...]
    worker_id: str
    volumes: tuple[str, ...]
    environment: tuple[str, ...]
    pid: str
    state: State
    attempt: int
    message: str
    exit_code: int | None
    remaining_seconds: float | None
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    retries: int
    retry_delay_seconds: int
    reboots: bool
    retry_at: datetime.datetime | None
    wait_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStatus:
    """What is said about an attempt at an action; `seconds` is how long it took."""

    workflow_id: str
    action_id: str
    task_name: str
    action_name: str
    worker_id: str
    state: State
    attempt: int
    seconds: float
    message: str
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry(ActionStatus):
    """The same once it was accepted, and when that was."""

    created_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The action of a workflow that runs, or ran last; PENDING when another attempt at it is to come."""

    worker_id: str
    task_name: str
    action_name: str
    index: int
    state: State
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A machine, and the workflow that runs on it."""

    worker_id: str
    workflow_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnHold:
    """A machine that belongs to a workflow, also after its end while a run of `action_id` may still be there.

    `lease_token` is 0 where it is held under no lease, or under one that is not known any more.
    """

    worker_id: str
    action_id: str
    lease_token: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The ids of some workflows that are not finished, each kind oldest first."""

    running_ids: tuple[str, ...]
    pending_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a workflow is; nothing is current before its first start.

    `waits_for` is a machine of it on which another workflow runs, so that this one cannot start; None otherwise.
    `holds` are its own machines, empty in lists. `actions` are those of the same moment, empty unless asked for.
    """

    workflow_id: str
    state: State
    total_actions: int
    completed_actions: int
    current: Current | None
    waits_for: Hold | None
    created_at: datetime.datetime
    holds: tuple[OwnHold, ...] = ()
    actions: tuple[Action, ...] = ()


class LogStream(StrEnum):
    """Where a line of output was written to."""

    STDOUT = "STDOUT"
    STDERR = "STDERR"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLine:
    """A line of output as it comes in; whoever runs the attempt numbers its lines from 1.

    An open line is not complete: it comes again, by the same number.
    """

    action_id: str
    attempt: int
    number: int
    stream: LogStream
    text: str
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of an action's output."""

    action_id: str
    action_index: int
    task_name: str
    action_name: str
    attempt: int
    number: int
    stream: LogStream
    text: str
    is_open: bool
    created_at: datetime.datetime
