"""Workflows as they are stored: the workflow, its fixed actions, their reports and their output."""

import datetime
from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core.event.kinds import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A template rendered for devices.

    `devices` and `cause` are JSON text; the rendered `data` is "" in lists. `on_timeout` and `on_failure` name the
    templates of the workflows that recover it. `recovers` is the id of the workflow that it recovers itself. All three
    are "" for none.
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
    """One action with everything needed to run it.

    `remaining_seconds` is the time left to the deadline of a running action, None without a deadline. `retry_at` is
    when the next attempt of a pending action is due, and `wait_seconds` the time until then; None if the attempt need
    not wait.
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
    """A report about an attempt at an action; `seconds` is the attempt's duration."""

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
    """A report that was accepted, with the time of its acceptance."""

    created_at: datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The action of a workflow that runs, or ran last; PENDING if another attempt at it is to come."""

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

    `lease_token` is 0 if the machine is held without a lease, or under a lease that no longer exists.
    """

    worker_id: str
    action_id: str
    lease_token: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The ids of unfinished workflows, each kind oldest first."""

    running_ids: tuple[str, ...]
    pending_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a workflow; `current` is None before its first start.

    `waits_for` is one of its machines on which another workflow runs, so that this one cannot start; None otherwise.
    `holds` are its own machines, empty in lists. `actions` were read at the same moment, empty unless asked for.
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
    """The stream that a line of output was written to."""

    STDOUT = "STDOUT"
    STDERR = "STDERR"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLine:
    """A new line of output; the worker numbers an attempt's lines from 1.

    An open line is not complete: it is sent again, with the same number.
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
