"""Converts workflows between protobuf messages and objects."""

from collections.abc import Mapping

from google.rpc import status_pb2

from tinkwell.api.v1 import (
    workflow_service_pb2,
)
from tinkwell.client import errors
from tinkwell.client.value import field, shape
from tinkwell.client.workflow.model import (
    Action,
    ActionStatus,
    LogLine,
    LogStream,
    MachineHold,
    Pruned,
    Report,
    Reported,
    Unfinished,
    Workflow,
    WorkflowContext,
)
from tinkwell.core.event.kinds import State

STATES = {state: workflow_service_pb2.State.Value(f"STATE_{state}") for state in State}


LOG_STREAMS = {stream: workflow_service_pb2.LogStream.Value(f"LOG_STREAM_{stream}") for stream in LogStream}


_STATE_OF: Mapping[int, State] = {number: state for state, number in STATES.items()}


_LOG_STREAM_OF: Mapping[int, LogStream] = {number: stream for stream, number in LOG_STREAMS.items()}


def workflow(source: workflow_service_pb2.Workflow) -> Workflow:
    """Read a workflow; one from a list has no data."""
    return Workflow(
        id=source.id,
        template_id=source.template_id,
        template_name=source.template_name,
        hardware=shape.parse(source.hardware) or {},
        state=read_state(source.state),
        version=source.version,
        total_actions=source.total_actions,
        completed_actions=source.completed_actions,
        global_timeout_seconds=source.global_timeout_seconds,
        cause=shape.parse(source.cause),
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        started_at=field.time(source, "started_at"),
        finished_at=field.time(source, "finished_at"),
        on_timeout=source.on_timeout,
        on_failure=source.on_failure,
        recovers=source.recovers,
        data=source.data or None,
    )


def unfinished(source: workflow_service_pb2.ListUnfinishedWorkflowsResponse) -> Unfinished:
    """Read the ids of workflows that are not finished."""
    return Unfinished(tuple(source.running_ids), tuple(source.pending_ids))


def pruned(source: workflow_service_pb2.PruneWorkflowsResponse) -> Pruned:
    """Read the counts of what was or would be deleted."""
    return Pruned(**{name: getattr(source, name) for name in Pruned.__slots__})


def action(source: workflow_service_pb2.WorkflowAction) -> Action:
    """Read an action."""
    return Action(
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
        state=read_state(source.state),
        attempt=source.attempt,
        version=source.version,
        message=source.message,
        exit_code=field.present(source, "exit_code"),
        started_at=field.time(source, "started_at"),
        finished_at=field.time(source, "finished_at"),
        retries=source.retries,
        retry_delay_seconds=source.retry_delay_seconds,
        reboots=source.reboots,
        retry_at=field.time(source, "retry_at"),
        remaining_seconds=field.present(source, "remaining_seconds"),
        wait_seconds=field.present(source, "wait_seconds"),
    )


def action_status(source: workflow_service_pb2.WorkflowActionStatus) -> ActionStatus:
    """Read an entry of a workflow's journal."""
    return ActionStatus(
        workflow_id=source.workflow_id,
        action_id=source.action_id,
        task_name=source.task_name,
        action_name=source.action_name,
        worker_id=source.worker_id,
        state=read_state(source.state),
        attempt=source.attempt,
        seconds=source.seconds,
        message=source.message,
        exit_code=field.present(source, "exit_code"),
        created_at=field.time(source, "created_at"),
    )


def report(source: workflow_service_pb2.ReportActionStatusRequest) -> ActionStatus:
    """Read a report as the journal keeps it."""
    return ActionStatus(
        workflow_id=source.workflow_id,
        action_id=source.action_id,
        task_name=source.task_name,
        action_name=source.action_name,
        worker_id=source.worker_id,
        state=read_state(source.state),
        attempt=source.attempt,
        seconds=source.seconds,
        message=source.message,
        exit_code=field.present(source, "exit_code"),
    )


def workflow_context(source: workflow_service_pb2.WorkflowContext) -> WorkflowContext:
    """Read the progress of a workflow."""
    return WorkflowContext(
        workflow_id=source.workflow_id,
        current_worker=source.current_worker,
        current_task=source.current_task,
        current_action=source.current_action,
        current_action_index=source.current_action_index,
        current_action_state=read_state(source.current_action_state) if source.current_action_state else None,
        total_number_of_actions=source.total_number_of_actions,
        workflow_state=read_state(source.workflow_state),
        completed_actions=source.completed_actions,
        waits_for_workflow=source.waits_for_workflow,
        waits_for_worker=source.waits_for_worker,
        created_at=field.time(source, "created_at"),
        holds=tuple(
            MachineHold(hold.worker_id, hold.action_id, hold.lease_token, hold.is_live) for hold in source.holds
        ),
        actions=tuple(action(found) for found in source.actions),
    )


def reported(source: workflow_service_pb2.ReportActionStatusResponse) -> Reported:
    """Read the answer to a report."""
    state = read_state(source.state) if source.state else None
    left = field.present(source, "remaining_seconds")
    return Reported(source.revision, source.attempt, left, state, source.data_version)


def to_report(source: Report) -> workflow_service_pb2.ReportActionStatusRequest:
    """Build a report; raises `errors.InvalidField`."""
    return field.build(
        workflow_service_pb2.ReportActionStatusRequest,
        workflow_id=source.workflow_id,
        action_id=source.action_id,
        task_name=source.task_name,
        action_name=source.action_name,
        worker_id=source.worker_id,
        state=STATES[field.member(State, source.state, "state")],
        attempt=source.attempt,
        seconds=source.seconds,
        message=source.message,
        exit_code=source.exit_code,
        lease_token=source.lease_token,
    )


def outcome(source: workflow_service_pb2.ReportOutcome) -> Reported | errors.Error:
    """Read the answer to one of several reports."""
    if source.HasField("reported"):
        return reported(source.reported)
    status = status_pb2.Status()
    if not source.error.Unpack(status):
        return errors.Internal("the server says nothing about a report")
    return errors.from_status(status)


def log_line(source: workflow_service_pb2.LogLine) -> LogLine:
    """Read an output line."""
    return LogLine(
        action_id=source.action_id,
        attempt=source.attempt,
        number=source.number,
        text=source.text,
        stream=_LOG_STREAM_OF.get(source.stream, LogStream.STDOUT),
        created_at=field.time(source, "created_at"),
        task_name=source.task_name,
        action_name=source.action_name,
        is_open=source.is_open,
    )


def to_log_line(source: LogLine) -> workflow_service_pb2.LogLine:
    """Build the message of an output line; the server fills in the names."""
    target = workflow_service_pb2.LogLine(
        action_id=source.action_id,
        attempt=source.attempt,
        number=source.number,
        stream=LOG_STREAMS[source.stream],
        text=source.text,
        is_open=source.is_open,
    )
    if source.created_at is not None:
        target.created_at.FromDatetime(source.created_at)
    return target


def read_state(number: int) -> State:
    try:
        return _STATE_OF[number]
    except KeyError:
        raise errors.Error(f"the server sent state {number}, which this release does not know; upgrade it") from None
