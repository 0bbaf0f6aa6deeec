"""Tasks: actions of charms, or commands, that units are asked to run."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.client.value import field as fields
from tinkwell.client.value import shape, shaped
from tinkwell.client.value.enumeration import Enumeration
from tinkwell.client.value.shape import OPTIONAL
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.kinds import TaskKind, TaskState

KINDS = Enumeration(TaskKind, pb.TaskKind, "TASK_KIND")
STATES = Enumeration(TaskState, pb.TaskState, "TASK_STATE")
# The message of a running task that is being cancelled.
CANCELLED = "cancelled"


@shaped.resource(ResourceType.TASK)
@dataclass(frozen=True, slots=True)
class Task(Shaped):
    """A task of a unit: an action of its charm, or a command.

    `name` is the action's, empty for a command. `parameters` are those of an action, with the charm's defaults;
    `arguments` are those of a command. `result` is what it returned, `message` why it has not SUCCEEDED, and `log` its
    newest 1,000 log lines.
    """

    id: str
    application_id: str = ""
    namespace: str = ""
    unit: str = ""
    kind: TaskKind = TaskKind.ACTION
    name: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    state: TaskState = TaskState.PENDING
    result: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    log: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    timeout_seconds: int = 0
    actor: str = ""
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether it is being cancelled, and runs until its agent ends it."""
        return self.state is TaskState.RUNNING and self.message == CANCELLED


def read(source: pb.Task) -> Task:
    """Read a task."""
    return Task(
        id=source.id,
        application_id=source.application_id,
        namespace=source.namespace,
        unit=source.unit,
        kind=KINDS.member(source.kind),
        name=source.name,
        parameters=shape.parse(source.parameters) or {},
        arguments=tuple(source.arguments),
        state=STATES.member(source.state),
        result=shape.parse(source.result) or {},
        message=source.message,
        log=tuple(source.log),
        timeout_seconds=source.timeout_seconds,
        actor=source.actor,
        version=source.version,
        created_at=fields.time(source, "created_at"),
        started_at=fields.time(source, "started_at"),
        finished_at=fields.time(source, "finished_at"),
    )
