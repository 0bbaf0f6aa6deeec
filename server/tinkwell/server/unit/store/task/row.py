"""A task as it is stored."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinkwell.core.unit.kinds import TaskKind, TaskState

COLUMNS = """
    CAST(t.id AS text) AS id, CAST(t.application_id AS text) AS application_id, CAST(t.unit_id AS text) AS unit_id,
    t.namespace, t.unit, t.kind, t.name, CAST(t.parameters AS text) AS parameters, t.arguments, t.state,
    CAST(t.result AS text) AS result, t.message, t.timeout_seconds, t.actor, t.charm, t.lease_token, t.is_cancelled,
    t.version, t.created_at, t.started_at, t.finished_at,
    CAST(extract(epoch FROM t.deadline_at - clock_timestamp()) AS double precision) AS remaining_seconds
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task.

    `parameters` and `result` are JSON objects as text. `charm` is the digest of the charm that runs it, empty before
    the start. `is_cancelled`: it runs, and its agent has to end it. `remaining_seconds` is the time until its deadline,
    None before the start.
    """

    id: str
    application_id: str
    unit_id: str
    namespace: str
    unit: str
    kind: TaskKind
    name: str
    parameters: str
    arguments: Sequence[str]
    state: TaskState
    result: str
    message: str
    timeout_seconds: int
    actor: str
    charm: str
    lease_token: int
    is_cancelled: bool
    version: int
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    remaining_seconds: float | None


def read(found: Mapping[Any, Any]) -> Task:
    """Read a task from a row with `COLUMNS`."""
    values = dict(found) | {"kind": TaskKind(found["kind"]), "state": TaskState(found["state"])}
    return Task(**values | {"arguments": tuple(found["arguments"])})
