"""Converts reports about operations between objects and protobuf messages."""

from typing import assert_never

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.release.message import NODE_STATES, OUTCOMES, PHASES, RESOURCE_STATUSES, STATES, STEP_KINDS
from tinkwell.client.release.message import handlers as read_handlers
from tinkwell.client.value import field
from tinkwell.core.release.report import (
    Call,
    FinishReport,
    LifecycleReport,
    NodeReport,
    PhaseReport,
    RemovedReport,
    Report,
    ResourceReport,
    StepReport,
    step_id,
)


def to_report(operation_id: str, source: Report) -> pb.OperationReport:
    """Build the message of a report; raises `errors.InvalidField`."""
    match source:
        case PhaseReport():
            return pb.OperationReport(phase=PHASES.number(source.phase))
        case NodeReport():
            return pb.OperationReport(node=_to_node(source))
        case StepReport():
            return pb.OperationReport(step=_to_step(operation_id, source))
        case ResourceReport():
            return pb.OperationReport(resource=_to_resource(source))
        case RemovedReport():
            return field.build(pb.OperationReport, removed=source.path)
        case LifecycleReport():
            return pb.OperationReport(lifecycle=_to_lifecycle(source))
        case FinishReport():
            finish = field.build(
                pb.FinishReport, state=STATES.number(source.state), cause=source.cause, result=source.result
            )
            return pb.OperationReport(finish=finish)
        case _:
            assert_never(source)


def report(source: pb.OperationReport) -> Report:
    """Read a report."""
    match source.WhichOneof("report"):
        case "phase":
            return PhaseReport(PHASES.member(source.phase))
        case "node":
            node = source.node
            return NodeReport(
                path=node.path, state=NODE_STATES.member(node.state), changed=node.changed, message=node.message
            )
        case "step":
            return _step(source.step)
        case "resource":
            return _resource(source.resource)
        case "removed":
            return RemovedReport(source.removed)
        case "lifecycle":
            return _lifecycle(source.lifecycle)
        case "finish":
            finish = source.finish
            return FinishReport(state=STATES.member(finish.state), cause=finish.cause, result=finish.result)
        case _:
            raise errors.Error("a report says nothing")


def _to_node(source: NodeReport) -> pb.NodeReport:
    return field.build(
        pb.NodeReport,
        path=source.path,
        state=NODE_STATES.number(source.state),
        changed=source.changed,
        message=source.message,
    )


def _to_step(operation_id: str, source: StepReport) -> pb.StepReport:
    call = source.call
    return field.build(
        pb.StepReport,
        id=step_id(operation_id, source.path, source.ordinal),
        path=source.path,
        ordinal=source.ordinal,
        kind=STEP_KINDS.number(source.kind),
        name=call.name,
        description=call.description,
        image=call.image,
        entrypoint=call.entrypoint,
        args=None if call.args is None else field.build(pb.Args, values=call.args),
        state=STATES.number(source.state),
        attempt=source.attempt,
        exit_code=source.exit_code,
        message=source.message,
    )


def _to_resource(source: ResourceReport) -> pb.ResourceReport:
    return field.build(
        pb.ResourceReport,
        path=source.path,
        type=source.type,
        status=RESOURCE_STATUSES.number(source.status),
        image_id=source.image_id,
        init=source.init,
        config=source.config,
        state=source.state,
        owned=source.owned,
        sensitive=source.sensitive,
        secrets=source.secrets,
    )


def _to_lifecycle(source: LifecycleReport) -> pb.LifecycleReport:
    handlers = [
        field.build(
            pb.HandlerRun,
            chart=handler.chart,
            file=handler.file,
            line=handler.line,
            weight=handler.weight,
            seconds=handler.seconds,
            outcome=OUTCOMES.number(handler.outcome),
        )
        for handler in source.handlers
    ]
    return field.build(
        pb.LifecycleReport,
        event=source.event,
        chart=source.chart,
        handlers=handlers,
        outcome=OUTCOMES.number(source.outcome),
        message=source.message,
        seconds=source.seconds,
    )


def _lifecycle(source: pb.LifecycleReport) -> LifecycleReport:
    return LifecycleReport(
        event=source.event,
        chart=source.chart,
        handlers=read_handlers(source.handlers),
        outcome=OUTCOMES.member(source.outcome),
        message=source.message,
        seconds=source.seconds,
    )


def _step(source: pb.StepReport) -> StepReport:
    return StepReport(
        path=source.path,
        ordinal=source.ordinal,
        kind=STEP_KINDS.member(source.kind),
        state=STATES.member(source.state),
        attempt=source.attempt,
        call=Call(
            name=source.name,
            description=source.description,
            image=source.image,
            entrypoint=source.entrypoint,
            args=tuple(source.args.values) if source.HasField("args") else None,
        ),
        exit_code=field.present(source, "exit_code"),
        message=source.message,
    )


def _resource(source: pb.ResourceReport) -> ResourceReport:
    return ResourceReport(
        path=source.path,
        type=source.type,
        status=RESOURCE_STATUSES.member(source.status),
        image_id=field.present(source, "image_id"),
        init=field.present(source, "init"),
        config=field.present(source, "config"),
        state=field.present(source, "state"),
        owned=field.present(source, "owned"),
        sensitive=tuple(source.sensitive),
        secrets=tuple(source.secrets),
    )
