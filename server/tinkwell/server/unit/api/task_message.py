"""Tasks as protobuf messages."""

from collections.abc import Sequence

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.core import errors
from tinkwell.core.unit.effect import TaskOutcome
from tinkwell.core.unit.kinds import TaskKind, TaskState
from tinkwell.server.rpc import timestamp
from tinkwell.server.unit.service.delivery.record import Task
from tinkwell.server.unit.service.task.asking import Asked

CANCELLED = "cancelled"

_KINDS = {kind: pb.TaskKind.Value(f"TASK_KIND_{kind.name}") for kind in TaskKind}
_STATES = {state: pb.TaskState.Value(f"TASK_STATE_{state.name}") for state in TaskState}
_ENDS = {number: state for state, number in _STATES.items() if state.is_final}


def task(found: Task, *, log: Sequence[str] = ()) -> pb.Task:
    """Build the message of a task. If it runs and has been cancelled, its message says so."""
    is_ending = found.state is TaskState.RUNNING and found.is_cancelled
    return pb.Task(
        id=found.id,
        application_id=found.application_id,
        namespace=found.namespace,
        unit=found.unit,
        kind=_KINDS[found.kind],
        name=found.name,
        parameters=found.parameters,
        arguments=found.arguments,
        state=_STATES[found.state],
        result=found.result,
        message=CANCELLED if is_ending else found.message,
        log=log,
        timeout_seconds=found.timeout_seconds,
        actor=found.actor,
        version=found.version,
        created_at=timestamp.of(found.created_at),
        started_at=timestamp.of(found.started_at) if found.started_at is not None else None,
        finished_at=timestamp.of(found.finished_at) if found.finished_at is not None else None,
    )


def to_asked(source: pb.RunTaskRequest) -> Asked:
    """Read the request for a task."""
    return Asked(
        id=source.id,
        namespace=source.namespace,
        unit=source.unit,
        action=source.action,
        parameters=source.parameters,
        arguments=tuple(source.arguments),
        timeout_seconds=source.timeout_seconds,
    )


def to_outcome(source: unit_pb.TaskOutcome) -> TaskOutcome:
    """Read the outcome of a task. Raises `errors.InvalidField`."""
    if source.state not in _ENDS:
        named = ", ".join(state.name for state in _ENDS.values())
        raise errors.InvalidField.of("task.state", f"give one of {named}")
    return TaskOutcome(state=_ENDS[source.state], result=source.result, message=source.message)
