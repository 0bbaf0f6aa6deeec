"""Converts releases between protobuf messages and objects."""

from collections.abc import Iterable

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.api.v1 import workflow_service_pb2
from tinkwell.client.release.model import (
    Chart,
    LifecycleRun,
    Node,
    Operation,
    OperationOptions,
    Release,
    Resource,
    Revision,
    Step,
    StepLogLine,
    UnfinishedOperation,
)
from tinkwell.client.value import field, shape
from tinkwell.client.value.enumeration import Enumeration
from tinkwell.client.value.output import LogStream
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
from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome
from tinkwell.core.release.record import Options

RELEASE_STATES = Enumeration(ReleaseState, pb.ReleaseState, "RELEASE_STATE")
REVISION_STATES = Enumeration(RevisionState, pb.RevisionState, "REVISION_STATE")
OPERATION_KINDS = Enumeration(OperationKind, pb.OperationKind, "OPERATION_KIND")
PHASES = Enumeration(Phase, pb.OperationPhase, "OPERATION_PHASE")
NODE_KINDS = Enumeration(NodeKind, pb.NodeKind, "NODE_KIND")
NODE_TASKS = Enumeration(NodeTask, pb.NodeTask, "NODE_TASK")
NODE_STATES = Enumeration(NodeState, pb.NodeState, "NODE_STATE")
STEP_KINDS = Enumeration(StepKind, pb.StepKind, "STEP_KIND")
RESOURCE_STATUSES = Enumeration(ResourceStatus, pb.ResourceStatus, "RESOURCE_STATUS")
OUTCOMES = Enumeration(Outcome, pb.LifecycleOutcome, "LIFECYCLE_OUTCOME")
STATES = Enumeration(State, workflow_service_pb2.State, "STATE")
LOG_STREAMS = Enumeration(LogStream, workflow_service_pb2.LogStream, "LOG_STREAM")
ON_FAILURE = Enumeration(OnFailure, pb.OnFailure, "ON_FAILURE")
WAITS = Enumeration(Wait, pb.WaitMode, "WAIT_MODE")


def release(source: pb.Release) -> Release:
    """Read a release."""
    return Release(
        annotations=dict(source.annotations),
        id=source.id,
        namespace=source.namespace,
        name=source.name,
        state=RELEASE_STATES.member(source.state),
        version=source.version,
        revision=source.revision,
        latest_revision=source.latest_revision,
        operation_id=source.operation_id,
        engine=source.engine,
        description=source.description,
        chart_name=source.chart_name,
        chart_version=source.chart_version,
        drifted=source.drifted,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
    )


def chart(source: pb.Chart) -> Chart:
    """Read a chart; one from a list has no metadata."""
    return Chart(
        id=source.id,
        digest=source.digest,
        name=source.name,
        chart_version=source.chart_version,
        app_version=source.app_version,
        description=source.description,
        size=source.size,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        warnings=tuple(source.warnings),
        metadata=shape.parse(source.metadata),
    )


def revision(source: pb.Revision) -> Revision:
    """Read a revision; one from a list has no documents."""
    return Revision(
        release_id=source.release_id,
        revision=source.revision,
        state=REVISION_STATES.member(source.state),
        operation_id=source.operation_id,
        rollback_of=source.rollback_of,
        description=source.description,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        source=shape.parse(source.source),
        manifest=shape.parse(source.manifest),
        plan=shape.parse(source.plan),
        all_values=shape.parse(source.all_values),
    )


def operation(source: pb.Operation) -> Operation:
    """Read an operation."""
    return Operation(
        id=source.id,
        release_id=source.release_id,
        namespace=source.namespace,
        release_name=source.release_name,
        revision=source.revision,
        kind=OPERATION_KINDS.member(source.kind),
        state=STATES.member(source.state),
        phase=PHASES.member(source.phase),
        version=source.version,
        cause=shape.parse(source.cause),
        actor=source.actor,
        reason=source.reason,
        follows=source.follows,
        plan_of=source.plan_of,
        total_nodes=source.total_nodes,
        changed_nodes=source.changed_nodes,
        failed_nodes=source.failed_nodes,
        skipped_nodes=source.skipped_nodes,
        cancel_requested=source.cancel_requested,
        cancel_grace_seconds=source.cancel_grace_seconds,
        cancel_reason=source.cancel_reason,
        options=_options(source.options),
        result=shape.parse(source.result),
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        started_at=field.time(source, "started_at"),
        finished_at=field.time(source, "finished_at"),
        remaining_seconds=field.present(source, "remaining_seconds"),
        lease_token=source.lease_token,
    )


def _options(source: pb.OperationOptions) -> Options:
    return Options(
        timeout_seconds=source.timeout_seconds,
        readiness_timeout_seconds=source.readiness_timeout_seconds,
        on_failure=ON_FAILURE.member(source.on_failure) if source.on_failure else OnFailure.STOP,
        parallel=source.parallel,
        history_max=source.history_max,
        atomic=source.atomic,
        verbose=source.verbose,
        accept_lost=source.accept_lost,
        move_engine=source.move_engine,
        wait=WAITS.member(source.wait) if source.wait else Wait.ORDERED,
        strict=source.strict,
    )


def to_options(source: OperationOptions) -> pb.OperationOptions:
    """Build the message of options; raises `errors.InvalidField`."""
    fields: dict[str, object] = {**source}
    if "on_failure" in source:
        fields["on_failure"] = ON_FAILURE.number(field.member(OnFailure, source["on_failure"], "on_failure"))
    if "wait" in source:
        fields["wait"] = WAITS.number(field.member(Wait, source["wait"], "wait"))
    return field.build(pb.OperationOptions, **fields)


def node(source: pb.Node) -> Node:
    """Read a node, with its steps if the message has them."""
    return Node(
        id=source.id,
        operation_id=source.operation_id,
        release_id=source.release_id,
        path=source.path,
        kind=NODE_KINDS.member(source.kind),
        task=NODE_TASKS.member(source.task),
        ordinal=source.ordinal,
        batch=source.batch,
        state=NODE_STATES.member(source.state),
        changed=source.changed,
        message=source.message,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        started_at=field.time(source, "started_at"),
        finished_at=field.time(source, "finished_at"),
        after=tuple(source.after),
        steps=tuple(step(found) for found in source.steps),
    )


def step(source: pb.Step) -> Step:
    """Read a step."""
    return Step(
        id=source.id,
        node_id=source.node_id,
        operation_id=source.operation_id,
        release_id=source.release_id,
        path=source.path,
        ordinal=source.ordinal,
        kind=STEP_KINDS.member(source.kind),
        name=source.name,
        description=source.description,
        image=source.image,
        entrypoint=source.entrypoint,
        args=tuple(source.args.values) if source.HasField("args") else None,
        state=STATES.member(source.state),
        attempt=source.attempt,
        exit_code=field.present(source, "exit_code"),
        message=source.message,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        started_at=field.time(source, "started_at"),
        finished_at=field.time(source, "finished_at"),
    )


def resource(source: pb.Resource) -> Resource:
    """Read a resource."""
    return Resource(
        release_id=source.release_id,
        path=source.path,
        type=source.type,
        revision=source.revision,
        image_id=source.image_id,
        status=RESOURCE_STATUSES.member(source.status),
        owned=source.owned,
        observed_at=field.time(source, "observed_at"),
        init=shape.parse(source.init),
        config=shape.parse(source.config),
        state=shape.parse(source.state),
    )


def lifecycle_run(source: pb.LifecycleRun) -> LifecycleRun:
    """Read an event in the life of a release."""
    return LifecycleRun(
        id=source.id,
        operation_id=source.operation_id,
        release_id=source.release_id,
        ordinal=source.ordinal,
        event=source.event,
        chart=source.chart,
        handlers=handlers(source.handlers),
        outcome=OUTCOMES.member(source.outcome),
        message=source.message,
        seconds=source.seconds,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
    )


def handlers(source: Iterable[pb.HandlerRun]) -> tuple[HandlerRun, ...]:
    """Read the handlers that heard an event."""
    return tuple(
        HandlerRun(
            chart=each.chart,
            file=each.file,
            line=each.line,
            weight=each.weight,
            seconds=each.seconds,
            outcome=OUTCOMES.member(each.outcome),
        )
        for each in source
    )


def log_line(source: pb.StepLogLine) -> StepLogLine:
    """Read an output line."""
    return StepLogLine(
        step_id=source.step_id,
        attempt=source.attempt,
        number=source.number,
        text=source.text,
        stream=LOG_STREAMS.member(source.stream),
        created_at=field.time(source, "created_at"),
        path=source.path,
        step_name=source.step_name,
        is_open=source.is_open,
    )


def to_log_line(source: StepLogLine) -> pb.StepLogLine:
    """Build the message of an output line; the server fills in path and name."""
    target = pb.StepLogLine(
        step_id=source.step_id,
        attempt=source.attempt,
        number=source.number,
        stream=LOG_STREAMS.number(source.stream),
        text=source.text,
        is_open=source.is_open,
    )
    if source.created_at is not None:
        target.created_at.FromDatetime(source.created_at)
    return target


def unfinished(source: pb.UnfinishedOperation) -> UnfinishedOperation:
    """Read an operation that has not ended."""
    return UnfinishedOperation(
        id=source.id,
        release_id=source.release_id,
        namespace=source.namespace,
        state=STATES.member(source.state),
        engine=source.engine,
        is_held=source.is_held,
    )
