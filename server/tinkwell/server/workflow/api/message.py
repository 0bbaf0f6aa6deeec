"""Workflows, their actions, journal, progress and output as protobuf messages, and requests back from them."""

import dataclasses
import datetime
from collections.abc import Iterable

from google.protobuf import timestamp_pb2

from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.value import parse
from tinkwell.core.workflow.record import Action, JournalEntry, LogLine, LogStream, NewLine, Progress, Workflow
from tinkwell.server.rpc import status
from tinkwell.server.workflow.service.pruning import Pruned
from tinkwell.server.workflow.service.report import ActionReport, Reported

_STATES = {state: pb.State.Value(f"STATE_{state}") for state in State}
_STATES_BACK: dict[int, State] = {number: state for state, number in _STATES.items()}
_STREAMS = {stream: pb.LogStream.Value(f"LOG_STREAM_{stream}") for stream in LogStream}
_STREAMS_BACK: dict[int, LogStream] = {number: stream for stream, number in _STREAMS.items()}


def workflow(found: Workflow) -> pb.Workflow:
    """Build the message of a workflow."""
    return pb.Workflow(
        id=found.id,
        template_id=found.template_id,
        template_name=found.template_name,
        hardware=found.devices,
        state=_STATES[found.state],
        version=found.version,
        data=found.data,
        total_actions=found.total_actions,
        completed_actions=found.completed_actions,
        global_timeout_seconds=found.global_timeout_seconds,
        cause=found.cause,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
        started_at=_moment(found.started_at),
        finished_at=_moment(found.finished_at),
        on_timeout=found.on_timeout,
        on_failure=found.on_failure,
        recovers=found.recovers,
    )


def action(found: Action) -> pb.WorkflowAction:
    """Build the message of an action."""
    return pb.WorkflowAction(
        id=found.id,
        workflow_id=found.workflow_id,
        index=found.index,
        task_name=found.task_name,
        name=found.name,
        image=found.image,
        timeout_seconds=found.timeout_seconds,
        command=found.command,
        on_timeout=found.on_timeout,
        on_failure=found.on_failure,
        worker_id=found.worker_id,
        volumes=found.volumes,
        environment=found.environment,
        pid=found.pid,
        state=_STATES[found.state],
        attempt=found.attempt,
        version=found.version,
        message=found.message,
        exit_code=found.exit_code,
        remaining_seconds=found.remaining_seconds,
        started_at=_moment(found.started_at),
        finished_at=_moment(found.finished_at),
        retries=found.retries,
        retry_delay_seconds=found.retry_delay_seconds,
        reboots=found.reboots,
        retry_at=_moment(found.retry_at),
        wait_seconds=found.wait_seconds,
    )


def action_status(entry: JournalEntry) -> pb.WorkflowActionStatus:
    """Build the message of a journal entry."""
    return pb.WorkflowActionStatus(
        workflow_id=entry.workflow_id,
        action_id=entry.action_id,
        task_name=entry.task_name,
        action_name=entry.action_name,
        worker_id=entry.worker_id,
        state=_STATES[entry.state],
        attempt=entry.attempt,
        seconds=entry.seconds,
        message=entry.message,
        exit_code=entry.exit_code,
        created_at=_moment(entry.created_at),
    )


def context(progress: Progress) -> pb.WorkflowContext:
    """Build the message of a workflow's progress."""
    message = pb.WorkflowContext(
        workflow_id=progress.workflow_id,
        total_number_of_actions=progress.total_actions,
        workflow_state=_STATES[progress.state],
        completed_actions=progress.completed_actions,
        created_at=_moment(progress.created_at),
    )
    if (current := progress.current) is not None:
        message.current_worker = current.worker_id
        message.current_task = current.task_name
        message.current_action = current.action_name
        message.current_action_index = current.index
        message.current_action_state = _STATES[current.state]
    if (waits_for := progress.waits_for) is not None:
        message.waits_for_workflow = waits_for.workflow_id
        message.waits_for_worker = waits_for.worker_id
    for hold in progress.holds:
        message.holds.add(
            worker_id=hold.worker_id,
            action_id=hold.action_id,
            lease_token=hold.lease_token,
            is_live=hold.is_live,
        )
    message.actions.extend(action(found) for found in progress.actions)
    return message


def log_line(line: LogLine) -> pb.LogLine:
    """Build the message of a line of output."""
    return pb.LogLine(
        action_id=line.action_id,
        attempt=line.attempt,
        number=line.number,
        stream=_STREAMS[line.stream],
        text=line.text,
        created_at=_moment(line.created_at),
        task_name=line.task_name,
        action_name=line.action_name,
        is_open=line.is_open,
    )


def new_lines(lines: Iterable[pb.LogLine]) -> list[NewLine]:
    """Read lines of output. The server fills in their names and time."""
    return [_new_line(index, line) for index, line in enumerate(lines)]


def states(numbers: Iterable[int]) -> list[State]:
    """Read a filter of states."""
    return [_state(parse.child("states", index), number) for index, number in enumerate(numbers)]


def report(request: pb.ReportActionStatusRequest) -> ActionReport:
    """Read a worker's report."""
    return ActionReport(
        workflow_id=request.workflow_id,
        action_id=request.action_id,
        task_name=request.task_name,
        action_name=request.action_name,
        worker_id=request.worker_id,
        state=_state("state", request.state),
        attempt=request.attempt,
        seconds=request.seconds,
        message=request.message,
        exit_code=request.exit_code if request.HasField("exit_code") else None,
        lease_token=request.lease_token,
    )


def reported(answer: Reported) -> pb.ReportActionStatusResponse:
    """Build the response to a worker's report."""
    return pb.ReportActionStatusResponse(
        revision=answer.revision,
        attempt=answer.attempt,
        remaining_seconds=answer.remaining_seconds,
        state=_STATES[answer.state],
        data_version=answer.data_version,
    )


def pruned(counts: Pruned) -> pb.PruneWorkflowsResponse:
    """Build the message of the counts of pruned rows."""
    return pb.PruneWorkflowsResponse(**dataclasses.asdict(counts))


def outcome(found: Reported | errors.TinkwellError) -> pb.ReportOutcome:
    """Build the message of the outcome of one of several reports."""
    if isinstance(found, errors.TinkwellError):
        built = pb.ReportOutcome()
        built.error.Pack(status.of_error(found))
        return built
    return pb.ReportOutcome(reported=reported(found))


def _new_line(index: int, line: pb.LogLine) -> NewLine:
    if line.stream not in _STREAMS_BACK:
        raise errors.InvalidField.of(f"{parse.child('lines', index)}.stream", f"give one of {', '.join(LogStream)}")
    return NewLine(
        action_id=line.action_id,
        attempt=line.attempt,
        number=line.number,
        stream=_STREAMS_BACK[line.stream],
        text=line.text,
        is_open=line.is_open,
    )


def _state(field: str, number: int) -> State:
    if number not in _STATES_BACK:
        raise errors.InvalidField.of(field, f"give one of {', '.join(State)}")
    return _STATES_BACK[number]


def _moment(moment: datetime.datetime | None) -> timestamp_pb2.Timestamp | None:
    if moment is None:
        return None
    message = timestamp_pb2.Timestamp()
    message.FromDatetime(moment)
    return message
