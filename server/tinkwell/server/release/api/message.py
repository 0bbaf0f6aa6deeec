"""Converts releases and all that belongs to them into protobuf messages, and requests from messages."""

import datetime
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Generic, TypeVar

from google.protobuf import timestamp_pb2

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.api.v1 import workflow_service_pb2 as workflow_pb
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release import record
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
from tinkwell.core.release.lifecycle_event.run import LifecycleRun, Outcome
from tinkwell.core.value import parse
from tinkwell.core.workflow.record import LogStream
from tinkwell.server.rpc import timestamp

K = TypeVar("K", bound=StrEnum)


class Enumeration(Generic[K]):
    """An enumeration of the domain, and its numbers in protobuf."""

    def __init__(self, kind: type[K], enum: Any, prefix: str) -> None:
        self._kind = kind
        self._numbers = {member: enum.Value(f"{prefix}_{member.name}") for member in kind}
        self._members = {number: member for member, number in self._numbers.items()}

    def number(self, member: K) -> Any:
        """Return the number of a member. The stubs have a type of their own for each enumeration, hence `Any`."""
        return self._numbers[member]

    def read(self, field: str, number: int) -> K:
        """Return the member with a number. Raises `errors.InvalidField` for an unknown number."""
        if number not in self._members:
            raise errors.InvalidField.of(field, f"give one of {', '.join(member.name for member in self._kind)}")
        return self._members[number]


STATES = Enumeration(State, workflow_pb.State, "STATE")
STREAMS = Enumeration(LogStream, workflow_pb.LogStream, "LOG_STREAM")
RELEASE_STATES = Enumeration(ReleaseState, pb.ReleaseState, "RELEASE_STATE")
REVISION_STATES = Enumeration(RevisionState, pb.RevisionState, "REVISION_STATE")
OPERATION_KINDS = Enumeration(OperationKind, pb.OperationKind, "OPERATION_KIND")
PHASES = Enumeration(Phase, pb.OperationPhase, "OPERATION_PHASE")
NODE_KINDS = Enumeration(NodeKind, pb.NodeKind, "NODE_KIND")
NODE_TASKS = Enumeration(NodeTask, pb.NodeTask, "NODE_TASK")
NODE_STATES = Enumeration(NodeState, pb.NodeState, "NODE_STATE")
STEP_KINDS = Enumeration(StepKind, pb.StepKind, "STEP_KIND")
STATUSES = Enumeration(ResourceStatus, pb.ResourceStatus, "RESOURCE_STATUS")
OUTCOMES = Enumeration(Outcome, pb.LifecycleOutcome, "LIFECYCLE_OUTCOME")
ON_FAILURE = Enumeration(OnFailure, pb.OnFailure, "ON_FAILURE")
WAITS = Enumeration(Wait, pb.WaitMode, "WAIT_MODE")


def release(found: record.Release, annotations: Mapping[str, str] | None = None) -> pb.Release:
    """Build the message of a release with its annotations."""
    return pb.Release(
        annotations=annotations,
        id=found.id,
        namespace=found.namespace,
        name=found.name,
        state=RELEASE_STATES.number(found.state),
        version=found.version,
        revision=found.revision,
        latest_revision=found.latest_revision,
        operation_id=found.operation_id,
        engine=found.engine,
        description=found.description,
        chart_name=found.chart_name,
        chart_version=found.chart_version,
        drifted=found.is_drifted,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
    )


def chart(found: record.Chart) -> pb.Chart:
    """Build the message of a chart."""
    return pb.Chart(
        id=found.id,
        version=found.version,
        digest=found.digest,
        name=found.name,
        chart_version=found.chart_version,
        app_version=found.app_version,
        description=found.description,
        metadata=found.metadata,
        size=found.size,
        warnings=found.warnings,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
    )


def revision(found: record.Revision) -> pb.Revision:
    """Build the message of a revision."""
    return pb.Revision(
        release_id=found.release_id,
        revision=found.revision,
        state=REVISION_STATES.number(found.state),
        source=found.source,
        manifest=found.manifest,
        plan=found.plan,
        all_values=found.all_values,
        rollback_of=found.rollback_of,
        operation_id=found.operation_id,
        description=found.description,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
    )


def operation(found: record.Operation) -> pb.Operation:
    """Build the message of an operation."""
    return pb.Operation(
        id=found.id,
        release_id=found.release_id,
        namespace=found.namespace,
        release_name=found.release_name,
        revision=found.revision,
        kind=OPERATION_KINDS.number(found.kind),
        state=STATES.number(found.state),
        phase=PHASES.number(found.phase),
        version=found.version,
        options=_options(found.options),
        cause=found.cause,
        actor=found.actor,
        reason=found.reason,
        follows=found.follows,
        total_nodes=found.total_nodes,
        changed_nodes=found.changed_nodes,
        failed_nodes=found.failed_nodes,
        skipped_nodes=found.skipped_nodes,
        cancel_requested=found.is_cancel_requested,
        cancel_grace_seconds=found.cancel_grace_seconds,
        remaining_seconds=found.remaining_seconds,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
        started_at=_moment(found.started_at),
        finished_at=_moment(found.finished_at),
        lease_token=found.lease_token,
        cancel_reason=found.cancel_reason,
        result=found.result,
        plan_of=found.plan_of,
    )


def node(found: record.Node, steps: Iterable[record.Step] = (), after: Iterable[str] = ()) -> pb.Node:
    """Build the message of a node with its steps and the paths of the nodes that it waits for."""
    return pb.Node(
        id=found.id,
        operation_id=found.operation_id,
        release_id=found.release_id,
        path=found.path,
        kind=NODE_KINDS.number(found.kind),
        task=NODE_TASKS.number(found.task),
        ordinal=found.ordinal,
        batch=found.batch,
        state=NODE_STATES.number(found.state),
        changed=found.changed,
        message=found.message,
        version=found.version,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
        started_at=_moment(found.started_at),
        finished_at=_moment(found.finished_at),
        steps=[step(each) for each in steps],
        after=after,
    )


def step(found: record.Step) -> pb.Step:
    """Build the message of a step."""
    return pb.Step(
        id=found.id,
        node_id=found.node_id,
        operation_id=found.operation_id,
        release_id=found.release_id,
        path=found.path,
        ordinal=found.ordinal,
        kind=STEP_KINDS.number(found.kind),
        name=found.name,
        description=found.description,
        image=found.image,
        entrypoint=found.entrypoint,
        args=None if found.args is None else pb.Args(values=found.args),
        state=STATES.number(found.state),
        attempt=found.attempt,
        exit_code=found.exit_code,
        message=found.message,
        version=found.version,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
        started_at=_moment(found.started_at),
        finished_at=_moment(found.finished_at),
    )


def resource(found: record.Resource) -> pb.Resource:
    """Build the message of a resource."""
    return pb.Resource(
        release_id=found.release_id,
        path=found.path,
        type=found.type,
        revision=found.revision,
        image_id=found.image_id,
        init=found.init,
        config=found.config,
        state=found.state,
        status=STATUSES.number(found.status),
        owned=found.owned,
        observed_at=_moment(found.observed_at),
    )


def lifecycle_run(found: LifecycleRun) -> pb.LifecycleRun:
    """Build the message of a lifecycle event that was emitted."""
    return pb.LifecycleRun(
        id=found.id,
        operation_id=found.operation_id,
        release_id=found.release_id,
        ordinal=found.ordinal,
        event=found.event,
        chart=found.chart,
        handlers=[
            pb.HandlerRun(
                chart=each.chart,
                file=each.file,
                line=each.line,
                weight=each.weight,
                seconds=each.seconds,
                outcome=OUTCOMES.number(each.outcome),
            )
            for each in found.handlers
        ],
        outcome=OUTCOMES.number(found.outcome),
        message=found.message,
        seconds=found.seconds,
        version=found.version,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
    )


def unfinished(found: record.UnfinishedOperation) -> pb.UnfinishedOperation:
    """Build the message of an operation that has not ended."""
    return pb.UnfinishedOperation(
        id=found.id,
        release_id=found.release_id,
        namespace=found.namespace,
        state=STATES.number(found.state),
        engine=found.engine,
        is_held=found.is_held,
    )


def log_line(found: record.StepLine) -> pb.StepLogLine:
    """Build the message of a line of output."""
    return pb.StepLogLine(
        step_id=found.step_id,
        attempt=found.attempt,
        number=found.number,
        stream=STREAMS.number(found.stream),
        text=found.text,
        created_at=_moment(found.created_at),
        path=found.path,
        step_name=found.step_name,
        is_open=found.is_open,
    )


def new_lines(lines: Iterable[pb.StepLogLine]) -> list[record.NewStepLine]:
    """Read lines of output. The server fills in their names and time."""
    return [
        record.NewStepLine(
            step_id=line.step_id,
            attempt=line.attempt,
            number=line.number,
            stream=STREAMS.read(f"{parse.child('lines', index)}.stream", line.stream),
            text=line.text,
            is_open=line.is_open,
        )
        for index, line in enumerate(lines)
    ]


def release_states(numbers: Iterable[int]) -> list[ReleaseState]:
    """Read a filter of states."""
    return [RELEASE_STATES.read(parse.child("states", index), number) for index, number in enumerate(numbers)]


def to_options(source: pb.OperationOptions) -> record.Options:
    """Read the options of a request. The number 0 stands for the default."""
    return record.Options(
        timeout_seconds=source.timeout_seconds,
        readiness_timeout_seconds=source.readiness_timeout_seconds,
        on_failure=ON_FAILURE.read("options.on_failure", source.on_failure or pb.ON_FAILURE_STOP),
        parallel=source.parallel,
        history_max=source.history_max,
        atomic=source.atomic,
        verbose=source.verbose,
        accept_lost=source.accept_lost,
        move_engine=source.move_engine,
        wait=WAITS.read("options.wait", source.wait or pb.WAIT_MODE_ORDERED),
        strict=source.strict,
    )


def _options(found: record.Options) -> pb.OperationOptions:
    return pb.OperationOptions(
        timeout_seconds=found.timeout_seconds,
        readiness_timeout_seconds=found.readiness_timeout_seconds,
        on_failure=ON_FAILURE.number(found.on_failure),
        parallel=found.parallel,
        history_max=found.history_max,
        atomic=found.atomic,
        verbose=found.verbose,
        accept_lost=found.accept_lost,
        move_engine=found.move_engine,
        wait=WAITS.number(found.wait),
        strict=found.strict,
    )


def _moment(moment: datetime.datetime | None) -> timestamp_pb2.Timestamp | None:
    return None if moment is None else timestamp.of(moment)
