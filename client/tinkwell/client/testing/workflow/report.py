"""Changes actions and workflows by reports, cancellations and deadlines, by the core's rules, in memory."""

import dataclasses
from datetime import datetime, timedelta
from typing import Any, assert_never

from tinkwell.client.testing.world import World
from tinkwell.client.workflow.model import Action, ActionStatus, Workflow
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.lease import lease
from tinkwell.core.workflow import change, deadline, transition
from tinkwell.core.workflow.hold import is_vacant


def take(world: World, report: ActionStatus, *, lease_token: int = 0) -> tuple[change.Action, change.Changes]:
    """Take a report. Returns the action as it was before, and the changes, without steps for a repeated report."""
    workflow = world.find(Workflow, report.workflow_id)
    flow, actions = _workflow(world, workflow), _actions(world, workflow.id)
    located = transition.locate(
        actions, action_id=report.action_id, task_name=report.task_name, action_name=report.action_name
    )
    heard = transition.Report(
        action_id=located.id,
        worker_id=report.worker_id,
        state=report.state,
        attempt=report.attempt,
        message=report.message,
        exit_code=report.exit_code,
    )
    changes = transition.report(flow, actions, heard)
    judged = _judge(world, workflow, located, changes, world.ledger.reporter(lease_token))
    if change.StartWorkflow() in changes.steps:
        _refuse_busy(world, workflow)
    if judged is lease.Verdict.LOST:
        _judge_attempt(world, workflow, transition.lose(flow, actions, located))
        raise errors.IllegalTransition(f"action {located.id}", f"attempt {located.attempt} is lost")
    if changes.steps:
        _apply(world, workflow.id, changes, report.worker_id)
        _note(
            world,
            dataclasses.replace(
                report,
                action_id=located.id,
                task_name=located.task_name,
                action_name=located.name,
                attempt=changes.attempt,
            ),
        )
    if judged is not lease.Verdict.STAYS:
        lease_id = world.ledger.reporter(lease_token).lease_id
        world.ledger.take(workflow.id, located.worker_id, lease_id=lease_id, action_id=located.id)
    return located, changes


def cancel(world: World, workflow: Workflow, reason: str) -> change.Changes:
    """Cancel a workflow. Returns the changes; there are none if it was cancelled before."""
    actions = _actions(world, workflow.id)
    changes = transition.cancel(_workflow(world, workflow), actions, reason)
    _apply(world, workflow.id, changes, "test")
    return changes


def expire(world: World, workflow_id: str, *, deadlines_only: bool) -> tuple[change.Changes, float | None]:
    """End what is past its deadline or lost. Returns the changes, and the server's seconds until the next deadline.

    A workflow that is over or deleted releases the machines that it holds under a lease that is over.
    """
    workflow = world.resources[ResourceType.WORKFLOW].get(workflow_id)
    if workflow is None:
        if not world.ledger.forget_lost(workflow_id):
            raise errors.NotFound(ResourceType.WORKFLOW, workflow_id)
        return change.Changes(), None
    if workflow.state.is_final:
        world.ledger.forget_lost(workflow_id)
    actions = _actions(world, workflow_id)
    if deadlines_only:
        actions = [dataclasses.replace(action, is_lost=False) for action in actions]
    changes = transition.expire(_workflow(world, workflow), actions)
    _judge_attempt(world, workflow, changes)
    after = _workflow(world, world.find(Workflow, workflow_id))
    return changes, transition.remaining_seconds(after, _actions(world, workflow_id))


def remaining_seconds(world: World, action: Action | change.Action) -> float | None:
    """Return the server's seconds to the deadline of a running action or of its workflow; None without a deadline."""
    now = world.find(Action, action.id)
    return transition.action_seconds(_workflow(world, world.find(Workflow, now.workflow_id)), _action(world, now))


def wait_seconds(world: World, action: Action) -> float | None:
    """Return the server's seconds until the next attempt at an action is due; None if it waits for no attempt."""
    left = (action.retry_at - world.clock.now()).total_seconds() if action.retry_at is not None else 0.0
    return left if left > 0 else None


def _judge_attempt(world: World, workflow: Workflow, changes: change.Changes) -> None:
    """Write the end of an attempt that no worker has reported, with an entry in the journal of reports."""
    _apply(world, workflow.id, changes, "test")
    for step in changes.steps:
        if isinstance(step, change.EndAction | change.RetryAction) and step.state is not State.CANCELLED:
            action = world.find(Action, step.action_id)
            told = ActionStatus(
                workflow.id,
                action.id,
                action.task_name,
                action.name,
                action.worker_id,
                step.state,
                attempt=action.attempt,
                message=step.message,
            )
            _note(world, told)
    if world.find(Workflow, workflow.id).state.is_final:
        world.ledger.forget_lost(workflow.id)


def _note(world: World, status: ActionStatus) -> None:
    world.journal.append(dataclasses.replace(status, created_at=world.clock.now()))


def _judge(
    world: World,
    workflow: Workflow,
    action: change.Action,
    changes: change.Changes,
    reporter: lease.Reporter,
) -> lease.Verdict:
    """Judge a report by the hold of its machine, and release the machine if nothing is left there."""
    hold = world.ledger.hold(workflow.id, action.worker_id)
    if action.state is State.PENDING and changes.steps:
        return lease.judge_start(hold, reporter, is_again=False)
    if action.state is State.RUNNING and not changes.steps:
        return lease.judge_start(hold, reporter, is_again=True, whatever_the_engine=action.reboots)
    if changes.steps:
        lease.check_end(hold, reporter)
        if hold is not None and is_vacant(action, changes.steps):
            world.ledger.vacate(workflow.id, action.worker_id)
    return lease.Verdict.STAYS


def _refuse_busy(world: World, workflow: Workflow) -> None:
    """Raise `MachineBusy` if a machine of a workflow that starts belongs to another workflow."""
    held = world.holder(workflow)
    if held is not None:
        raise errors.MachineBusy(held.worker_id, held_by=held.workflow_id)


def _apply(world: World, workflow_id: str, changes: change.Changes, actor: str) -> None:
    now = world.clock.now()
    for step in changes.steps:
        if isinstance(step, change.StartAction | change.EndAction | change.RetryAction):
            action = world.find(Action, step.action_id)
            world.put(dataclasses.replace(action, **_action_fields(step, now)), actor=actor)
        else:
            workflow = world.find(Workflow, workflow_id)
            world.put(dataclasses.replace(workflow, **_workflow_fields(step, now)), actor=actor)
        match step:
            case change.StartWorkflow():
                world.ledger.begin(workflow_id, {action.worker_id for action in world.actions_of(workflow_id)})
            case change.RetryAction():
                world.ledger.vacate(workflow_id, world.find(Action, step.action_id).worker_id)
            case change.EndWorkflow():
                world.ledger.leave(workflow_id)


def _action_fields(step: change.StartAction | change.EndAction | change.RetryAction, now: datetime) -> dict[str, Any]:
    match step:
        case change.StartAction():
            started = {"state": State.RUNNING, "attempt": step.attempt, "message": step.message, "started_at": now}
            return started | {"exit_code": None, "retry_at": None}
        case change.EndAction():
            ended = {"state": step.state, "message": step.message, "exit_code": step.exit_code, "finished_at": now}
            return ended | {"retry_at": None}
        case change.RetryAction():
            due = now + timedelta(seconds=step.delay_seconds)
            return {"state": State.PENDING, "message": step.message, "exit_code": step.exit_code, "retry_at": due}
        case _:
            assert_never(step)


def _workflow_fields(
    step: change.StartWorkflow | change.AdvanceWorkflow | change.EndWorkflow, now: datetime
) -> dict[str, Any]:
    match step:
        case change.StartWorkflow():
            return {"state": State.RUNNING, "started_at": now}
        case change.AdvanceWorkflow():
            return {"completed_actions": step.completed_actions}
        case change.EndWorkflow():
            cause = step.cause.as_document() if step.cause else None
            ended = {"state": step.state, "completed_actions": step.completed_actions}
            return ended | {"cause": cause, "finished_at": now}
        case _:
            assert_never(step)


def _workflow(world: World, workflow: Workflow) -> transition.Workflow:
    return transition.Workflow(
        id=workflow.id,
        state=workflow.state,
        remaining_seconds=world.clock.left(workflow.started_at, workflow.global_timeout_seconds),
    )


def _actions(world: World, workflow_id: str) -> list[change.Action]:
    return [_action(world, action) for action in world.actions_of(workflow_id)]


def _action(world: World, action: Action) -> change.Action:
    is_running = action.state is State.RUNNING
    hold = world.ledger.hold(action.workflow_id, action.worker_id)
    return change.Action(
        id=action.id,
        index=action.index,
        task_name=action.task_name,
        name=action.name,
        worker_id=action.worker_id,
        state=action.state,
        attempt=action.attempt,
        on_timeout=action.on_timeout,
        on_failure=action.on_failure,
        retries=action.retries,
        retry_delay_seconds=action.retry_delay_seconds,
        reboots=action.reboots,
        remaining_seconds=world.clock.left(action.started_at, action.timeout_seconds) if is_running else None,
        grace_seconds=deadline.grace(is_leased=hold is not None and bool(hold.lease_id)),
        is_lost=is_running and hold is not None and hold.is_lost,
    )
