"""Between the generated messages and the objects of `model`."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from google.protobuf import message as protobuf_message
from google.protobuf import timestamp_pb2
from google.rpc import status_pb2

from tinkwell.api.v1 import (
    event_service_pb2,
    hardware_service_pb2,
    template_service_pb2,
    workflow_service_pb2,
)
from tinkwell.client import errors
from tinkwell.client.value import message, model, shape
from tinkwell.core.errors import Violation
from tinkwell.core.event.kinds import EventType, ResourceType, State

E = TypeVar("E", bound=StrEnum)
M = TypeVar("M", bound=protobuf_message.Message)

STATES = {state: workflow_service_pb2.State.Value(f"STATE_{state}") for state in State}
RESOURCE_TYPES = {kind: event_service_pb2.ResourceType.Value(f"RESOURCE_TYPE_{kind}") for kind in ResourceType}
EVENT_TYPES = {kind: event_service_pb2.EventType.Value(f"EVENT_TYPE_{kind}") for kind in EventType}
LOG_STREAMS = {stream: workflow_service_pb2.LogStream.Value(f"LOG_STREAM_{stream}") for stream in model.LogStream}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_STATE_OF: Mapping[int, State] = {number: state for state, number in STATES.items()}
_RESOURCE_TYPE_OF: Mapping[int, ResourceType] = {number: kind for kind, number in RESOURCE_TYPES.items()}
_EVENT_TYPE_OF: Mapping[int, EventType] = {number: kind for kind, number in EVENT_TYPES.items()}
_LOG_STREAM_OF: Mapping[int, model.LogStream] = {number: stream for stream, number in LOG_STREAMS.items()}

# A pushed machine may be one that was read before: what the server counts is accepted there, and ignored.
_PUSHED_KEYS = ("id", "version", "metadata", "network", "created_at", "updated_at", "deleted_at")


def member(kind: type[E], value: str, field: str) -> E:
    """Find an enum member by itself or its name; raises `InvalidField` with the choices."""
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(item.value for item in kind)
        raise errors.InvalidField.of(field, f"{value!r} is none of {choices}") from None


def to_json_text(value: Mapping[str, Any] | str | None, field: str) -> str:
    """Give the text of a JSON object; text is checked and sent as it is. None is empty text."""
    if value is None:
        return ""
    try:
        if isinstance(value, str):
            return _object_text(value, field)
        if isinstance(value, Mapping):
            text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
            text.encode()
            return text
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InvalidField.of(field, f"is not JSON: {error}") from error
    raise errors.InvalidField.of(field, f"must be an object, not {type(value).__name__}")


def _object_text(text: str, field: str) -> str:
    if not isinstance(json.loads(text), dict):
        raise errors.InvalidField.of(field, "must be a JSON object")
    return text


def to_hardware(data: "model.Hardware | Mapping[str, Any]") -> hardware_service_pb2.Hardware:
    """Build the message of a push; raises `InvalidField` naming every key that is unknown or of a wrong type."""
    content: Mapping[str, Any] = data.to_json() if isinstance(data, model.Hardware) else data
    if not isinstance(content, Mapping):
        raise errors.InvalidField.of("", f"hardware must be an object, not {type(content).__name__}")
    target = hardware_service_pb2.Hardware()
    violations = [message.unknown_key(str(key), key, _PUSHED_KEYS) for key in content if key not in _PUSHED_KEYS]
    violations += message.fill(target, {key: content[key] for key in ("id", "version") if key in content}, "")
    if content.get("network") is not None:
        violations += message.fill(target.network, content["network"], "network")
    try:
        target.metadata = to_json_text(content.get("metadata"), "metadata")
    except errors.InvalidField as error:
        violations += error.violations
    if violations:
        raise errors.InvalidField.of_all(violations)
    return target


def hardware(source: hardware_service_pb2.Hardware) -> model.Hardware:
    """Read a machine."""
    return model.Hardware(
        id=source.id,
        version=source.version,
        metadata=shape.parse(source.metadata) or {},
        network=message.to_json(source.network),
        created_at=_time(source, "created_at"),
        updated_at=_time(source, "updated_at"),
    )


def template(source: template_service_pb2.Template) -> model.Template:
    """Read a template; one from a list has no data."""
    return model.Template(
        id=source.id,
        name=source.name,
        version=source.version,
        data=source.data or None,
        created_at=_time(source, "created_at"),
        updated_at=_time(source, "updated_at"),
    )


def workflow(source: workflow_service_pb2.Workflow) -> model.Workflow:
    """Read a workflow; one from a list has no data."""
    return model.Workflow(
        id=source.id,
        template_id=source.template_id,
        template_name=source.template_name,
        hardware=shape.parse(source.hardware) or {},
        state=_state(source.state),
        version=source.version,
        total_actions=source.total_actions,
        completed_actions=source.completed_actions,
        global_timeout_seconds=source.global_timeout_seconds,
        cause=shape.parse(source.cause),
        created_at=_time(source, "created_at"),
        updated_at=_time(source, "updated_at"),
        started_at=_time(source, "started_at"),
        finished_at=_time(source, "finished_at"),
        on_timeout=source.on_timeout,
        on_failure=source.on_failure,
        recovers=source.recovers,
        data=source.data or None,
    )


def unfinished(source: workflow_service_pb2.ListUnfinishedWorkflowsResponse) -> model.Unfinished:
    """Read the ids of workflows that are not finished."""
    return model.Unfinished(tuple(source.running_ids), tuple(source.pending_ids))


def action(source: workflow_service_pb2.WorkflowAction) -> model.Action:
    """Read an action."""
    return model.Action(
        id=source.id,
        workflow_id=source.workflow_id,
        index=source.index,
        task_name=source.task_name,
        name=source.name,
        image=source.image,
        timeout_seconds=source.timeout_seconds,
        command=tuple(source.command),
        on_timeout=tuple(source.on_timeout),
        on_failure=tuple(source.on_failure),
        worker_id=source.worker_id,
        volumes=tuple(source.volumes),
        environment=tuple(source.environment),
        pid=source.pid,
        state=_state(source.state),
        attempt=source.attempt,
        version=source.version,
        message=source.message,
        exit_code=_present(source, "exit_code"),
        started_at=_time(source, "started_at"),
        finished_at=_time(source, "finished_at"),
        retries=source.retries,
        retry_delay_seconds=source.retry_delay_seconds,
        reboots=source.reboots,
        retry_at=_time(source, "retry_at"),
        remaining_seconds=_present(source, "remaining_seconds"),
        wait_seconds=_present(source, "wait_seconds"),
    )


def action_status(source: workflow_service_pb2.WorkflowActionStatus) -> model.ActionStatus:
    """Read an entry of a workflow's journal."""
    return model.ActionStatus(
        workflow_id=source.workflow_id,
        action_id=source.action_id,
        task_name=source.task_name,
        action_name=source.action_name,
        worker_id=source.worker_id,
        state=_state(source.state),
        attempt=source.attempt,
        seconds=source.seconds,
        message=source.message,
        exit_code=_present(source, "exit_code"),
        created_at=_time(source, "created_at"),
    )


def report(source: workflow_service_pb2.ReportActionStatusRequest) -> model.ActionStatus:
    """Read a report as the journal keeps it."""
    return model.ActionStatus(
        workflow_id=source.workflow_id,
        action_id=source.action_id,
        task_name=source.task_name,
        action_name=source.action_name,
        worker_id=source.worker_id,
        state=_state(source.state),
        attempt=source.attempt,
        seconds=source.seconds,
        message=source.message,
        exit_code=_present(source, "exit_code"),
    )


def workflow_context(source: workflow_service_pb2.WorkflowContext) -> model.WorkflowContext:
    """Read how far a workflow is."""
    return model.WorkflowContext(
        workflow_id=source.workflow_id,
        current_worker=source.current_worker,
        current_task=source.current_task,
        current_action=source.current_action,
        current_action_index=source.current_action_index,
        current_action_state=_state(source.current_action_state) if source.current_action_state else None,
        total_number_of_actions=source.total_number_of_actions,
        workflow_state=_state(source.workflow_state),
        completed_actions=source.completed_actions,
        waits_for_workflow=source.waits_for_workflow,
        waits_for_worker=source.waits_for_worker,
        created_at=_time(source, "created_at"),
        holds=tuple(
            model.MachineHold(hold.worker_id, hold.action_id, hold.lease_token, hold.is_live) for hold in source.holds
        ),
        actions=tuple(action(found) for found in source.actions),
    )


def reported(source: workflow_service_pb2.ReportActionStatusResponse) -> model.Reported:
    """Read what a report has come to."""
    state = _state(source.state) if source.state else None
    return model.Reported(source.revision, source.attempt, _present(source, "remaining_seconds"), state)


def to_report(source: model.Report) -> workflow_service_pb2.ReportActionStatusRequest:
    """Build a report; raises `errors.InvalidField`."""
    return build(
        workflow_service_pb2.ReportActionStatusRequest,
        workflow_id=source.workflow_id,
        action_id=source.action_id,
        task_name=source.task_name,
        action_name=source.action_name,
        worker_id=source.worker_id,
        state=STATES[member(State, source.state, "state")],
        attempt=source.attempt,
        seconds=source.seconds,
        message=source.message,
        exit_code=source.exit_code,
        lease_token=source.lease_token,
    )


def outcome(source: workflow_service_pb2.ReportOutcome) -> model.Reported | errors.Error:
    """Read what one of several reports has come to."""
    if source.HasField("reported"):
        return reported(source.reported)
    status = status_pb2.Status()
    if not source.error.Unpack(status):
        return errors.Internal("the server says nothing about a report")
    return errors.from_status(status)


def log_line(source: workflow_service_pb2.LogLine) -> model.LogLine:
    """Read an output line."""
    return model.LogLine(
        action_id=source.action_id,
        attempt=source.attempt,
        number=source.number,
        text=source.text,
        stream=_LOG_STREAM_OF.get(source.stream, model.LogStream.STDOUT),
        created_at=_time(source, "created_at"),
        task_name=source.task_name,
        action_name=source.action_name,
    )


def to_log_line(source: model.LogLine) -> workflow_service_pb2.LogLine:
    """Build the message of an output line; the names are the server's to fill in."""
    target = workflow_service_pb2.LogLine(
        action_id=source.action_id,
        attempt=source.attempt,
        number=source.number,
        stream=LOG_STREAMS[source.stream],
        text=source.text,
    )
    if source.created_at is not None:
        target.created_at.FromDatetime(source.created_at)
    return target


def event(source: event_service_pb2.Event) -> model.Event:
    """Read an event, but for its data."""
    return model.Event.unread(
        source.data,
        source.id,
        source.revision,
        _RESOURCE_TYPE_OF.get(source.resource_type, ResourceType.CUSTOM),
        _EVENT_TYPE_OF.get(source.event_type, EventType.UPDATED),
        source.name,
        source.resource_id,
        source.parent_id,
        source.version,
        _time(source, "created_at"),
        source.actor,
    )


def position(source: event_service_pb2.Position) -> model.Position:
    """Read a named position."""
    return model.Position(
        name=source.name,
        revision=source.revision,
        history_id=source.history_id,
        token=source.token,
        updated_at=_time(source, "updated_at"),
    )


def build(make: type[M], **fields: object) -> M:
    """Build a request; raises `InvalidField` for values that do not fit. None leaves out what is optional."""
    violations = [Violation(name, why) for name, value in fields.items() if (why := _mistaken(make, name, value))]
    if violations:
        raise errors.InvalidField.of_all(violations)
    try:
        return make(**fields)
    except (TypeError, ValueError) as error:
        misfits = [Violation(name, why) for name, value in fields.items() if (why := _misfit(make, name, value))]
        raise errors.InvalidField.of_all(misfits) from error


def _mistaken(make: type[protobuf_message.Message], name: str, value: object) -> str:
    """Say what is wrong with a value that protobuf would take for something else."""
    if value is None and not make.DESCRIPTOR.fields_by_name[name].has_presence:
        return "is needed"
    if isinstance(value, bytes) and (field := make.DESCRIPTOR.fields_by_name[name]).type == field.TYPE_STRING:
        return "must be a string, not bytes"
    return ""


def _misfit(make: type[protobuf_message.Message], name: str, value: object) -> str:
    """Say what protobuf has against a value."""
    if mistaken := _mistaken(make, name, value):
        return mistaken
    try:
        make(**{name: value})
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def exactly_one(**choices: str | None) -> dict[str, Any]:
    """Give the one choice that is set; raises `InvalidField` where none is, or several are."""
    given = {name: value for name, value in choices.items() if value is not None}
    if len(given) != 1:
        raise errors.InvalidField.of(" or ".join(choices), f"exactly one is needed, not {len(given)}")
    return given


def _state(number: int) -> State:
    try:
        return _STATE_OF[number]
    except KeyError:
        raise errors.Error(f"the server sent state {number}, which this release does not know; upgrade it") from None


def _time(source: Any, field: str) -> datetime | None:
    if not source.HasField(field):
        return None
    moment: timestamp_pb2.Timestamp = getattr(source, field)
    try:
        # The same as its own method, in half of the time.
        return _EPOCH + timedelta(0, moment.seconds, moment.nanos // 1_000)
    except OverflowError as error:
        raise errors.Error(f"the server sent a time that no calendar has: {moment.seconds} seconds") from error


def _present(source: Any, field: str) -> Any:
    return getattr(source, field) if source.HasField(field) else None
