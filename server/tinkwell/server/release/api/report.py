"""Reads the reports of provisioners from protobuf."""

from collections.abc import Iterable

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event.run import HandlerRun
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
from tinkwell.core.value import parse
from tinkwell.server.release.api import message


def read_all(operation_id: str, reports: Iterable[pb.OperationReport]) -> list[Report]:
    """Read a group of reports about an operation. Raises `errors.InvalidField` with paths such as `reports[2].node`."""
    operation_id = parse.parse_uuid("operation_id", operation_id)
    return [_read(operation_id, parse.child("reports", index), report) for index, report in enumerate(reports)]


def _read(operation_id: str, field: str, source: pb.OperationReport) -> Report:
    kind = source.WhichOneof("report")
    match kind:
        case "phase":
            return PhaseReport(message.PHASES.read(f"{field}.phase", source.phase))
        case "node":
            told = source.node
            node = message.NODE_STATES.read(f"{field}.node.state", told.state)
            return NodeReport(path=told.path, state=node, changed=told.changed, message=told.message)
        case "step":
            return _step(operation_id, f"{field}.step", source.step)
        case "resource":
            return _resource(f"{field}.resource", source.resource)
        case "removed":
            return RemovedReport(source.removed)
        case "lifecycle":
            return _lifecycle(f"{field}.lifecycle", source.lifecycle)
        case "finish":
            finish = source.finish
            state = message.STATES.read(f"{field}.finish.state", finish.state)
            return FinishReport(state=state, cause=finish.cause, result=finish.result)
        case _:
            known = ", ".join(each.name for each in pb.OperationReport.DESCRIPTOR.fields)
            raise errors.InvalidField.of(field, f"says nothing; give one of {known}")


def _step(operation_id: str, field: str, told: pb.StepReport) -> StepReport:
    known = step_id(operation_id, told.path, told.ordinal)
    if told.id not in ("", known):
        description = f"is not the id of step {told.ordinal} of {parse.show(told.path)}, which is {known}"
        raise errors.InvalidField.of(f"{field}.id", description)
    return StepReport(
        path=told.path,
        ordinal=told.ordinal,
        kind=message.STEP_KINDS.read(f"{field}.kind", told.kind),
        state=message.STATES.read(f"{field}.state", told.state),
        attempt=told.attempt,
        call=Call(
            name=told.name,
            description=told.description,
            image=told.image,
            entrypoint=told.entrypoint,
            args=tuple(told.args.values) if told.HasField("args") else None,
        ),
        exit_code=told.exit_code if told.HasField("exit_code") else None,
        message=told.message,
    )


def _lifecycle(field: str, told: pb.LifecycleReport) -> LifecycleReport:
    return LifecycleReport(
        event=told.event,
        chart=told.chart,
        handlers=tuple(
            HandlerRun(
                chart=each.chart,
                file=each.file,
                line=each.line,
                weight=each.weight,
                seconds=each.seconds,
                outcome=message.OUTCOMES.read(f"{parse.child(f'{field}.handlers', index)}.outcome", each.outcome),
            )
            for index, each in enumerate(told.handlers)
        ),
        outcome=message.OUTCOMES.read(f"{field}.outcome", told.outcome),
        message=told.message,
        seconds=told.seconds,
    )


def _resource(field: str, told: pb.ResourceReport) -> ResourceReport:
    return ResourceReport(
        path=told.path,
        type=told.type,
        status=message.STATUSES.read(f"{field}.status", told.status),
        image_id=told.image_id if told.HasField("image_id") else None,
        init=told.init if told.HasField("init") else None,
        config=told.config if told.HasField("config") else None,
        state=told.state if told.HasField("state") else None,
        owned=told.owned if told.HasField("owned") else None,
        sensitive=tuple(told.sensitive),
        secrets=tuple(told.secrets),
    )
