"""Workflows, their progress, actions and reports in Tinkerbell's messages."""

from collections.abc import Mapping

from tinkwell.api.tink import workflow_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow.record import Action, JournalEntry, Progress, Workflow
from tinkwell.server.rpc import timestamp
from tinkwell.server.workflow.service.report import ActionReport

# Tinkerbell has no cancelled workflows. Its tools need only know that this one will not go on.
_STATES: Mapping[State, pb.State.ValueType] = {
    State.PENDING: pb.STATE_PENDING,
    State.RUNNING: pb.STATE_RUNNING,
    State.SUCCEEDED: pb.STATE_SUCCESS,
    State.FAILED: pb.STATE_FAILED,
    State.TIMEOUT: pb.STATE_TIMEOUT,
    State.CANCELLED: pb.STATE_FAILED,
}
_STATES_BACK: Mapping[int, State] = {number: state for state, number in _STATES.items() if state is not State.CANCELLED}


def workflow(found: Workflow) -> pb.Workflow:
    """Write a workflow. The command line requires both times."""
    return pb.Workflow(
        id=found.id,
        template=found.template_id,
        hardware=found.devices,
        state=_STATES[found.state],
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
        data=found.data,
    )


def context(progress: Progress) -> pb.WorkflowContext:
    """Write a workflow's progress. If it ended before its first action began, its own state is the current one."""
    written = pb.WorkflowContext(workflow_id=progress.workflow_id, total_number_of_actions=progress.total_actions)
    if (current := progress.current) is not None:
        written.current_worker = current.worker_id
        written.current_task = current.task_name
        written.current_action = current.action_name
        written.current_action_index = current.index
        written.current_action_state = _STATES[current.state]
    elif progress.state.is_final:
        written.current_action_state = _STATES[progress.state]
    return written


def work(progress: Progress) -> pb.WorkflowContext:
    """Write a workflow's progress for the worker that has to act on it.

    A running action is written as one that has not started: a worker that is told of a running action reports no
    further starts, so that the server would not know what it does, and no timeout would apply.
    """
    written = context(progress)
    if written.current_action_state == pb.STATE_RUNNING:
        written.current_action_state = pb.STATE_PENDING
    return written


def action(found: Action, *, name: str, worker_id: str, global_timeout_seconds: int) -> pb.WorkflowAction:
    """Write an action for a worker, with the name and the id that the worker understands.

    Workers treat a timeout of 0 as an hour, so an action without a timeout gets the workflow's, if there is one. Hooks
    are left out: a worker that has to run one after a failure crashes before it reports the failure.
    """
    return pb.WorkflowAction(
        task_name=found.task_name,
        name=name,
        image=found.image,
        timeout=found.timeout_seconds or global_timeout_seconds,
        command=found.command,
        worker_id=worker_id,
        volumes=found.volumes,
        environment=found.environment,
        pid=found.pid,
    )


def action_status(entry: JournalEntry) -> pb.WorkflowActionStatus:
    """Write an entry of the journal."""
    return pb.WorkflowActionStatus(
        workflow_id=entry.workflow_id,
        task_name=entry.task_name,
        action_name=entry.action_name,
        action_status=_STATES[entry.state],
        seconds=int(entry.seconds),
        message=entry.message,
        created_at=timestamp.of(entry.created_at),
        worker_id=entry.worker_id,
    )


def report(request: pb.WorkflowActionStatus) -> ActionReport:
    """Read a worker's report. Its time is left out, because the database's clock counts."""
    if request.action_status not in _STATES_BACK:
        raise errors.InvalidField.of("action_status", f"{request.action_status} is no state")
    for field in ("task_name", "action_name"):
        if not getattr(request, field):
            raise errors.InvalidField.of(field, "is missing")
    return ActionReport(
        workflow_id=request.workflow_id,
        action_id="",
        task_name=request.task_name,
        action_name=request.action_name,
        worker_id=request.worker_id,
        state=_STATES_BACK[request.action_status],
        attempt=0,
        seconds=request.seconds,
        message=request.message,
        exit_code=None,
    )
