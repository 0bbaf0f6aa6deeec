"""How reports and cancellations move actions and workflows on: the core's rules, applied in memory."""

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from tinkwell.client.testing.world import World
from tinkwell.client.workflow.model import Action, ActionStatus, Workflow
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.workflow import transition
from tinkwell.core.workflow.hold import MachineHold, is_vacant


def take(world: World, report: ActionStatus, *, lease_token: int = 0) -> tuple[transition.Action, transition.Changes]:
    """Take a report, and give the action as it was before; without steps it was a repetition."""
    workflow = world.find(Workflow, report.workflow_id)
    actions = _actions(world, workflow.id)
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
    changes = transition.report(_workflow(workflow), actions, heard)
    judged = _judge(world, workflow, located, changes, world.ledger.reporter(lease_token))
    if transition.StartWorkflow() in changes.steps:
        _refuse_busy(world, workflow)
    if judged is lease.Verdict.LOST:
        _judged(world, workflow, transition.lose(_workflow(workflow), actions, located))
        raise errors.IllegalTransition(f"action {located.id}", f"attempt {located.attempt} is lost")
    if judged is not lease.Verdict.STAYS:
        lease_id = world.ledger.reporter(lease_token).lease_id
        world.ledger.take(workflow.id, located.worker_id, lease_id=lease_id, action_id=located.id)
    if changes.steps:
        _apply(world, workflow.id, changes, report.worker_id)
        world.journal.append(
            dataclasses.replace(
                report,
                action_id=located.id,
                task_name=located.task_name,
                action_name=located.name,
                attempt=changes.attempt,
                created_at=datetime.now(UTC),
            )
        )
    return located, changes


def cancel(world: World, workflow: Workflow, reason: str) -> transition.Changes:
    """Cancel a workflow; without steps it was cancelled before."""
    actions = _actions(world, workflow.id)
    changes = transition.cancel(_workflow(workflow), actions, reason)
    _apply(world, workflow.id, changes, "test")
    return changes


def expire(world: World, workflow: Workflow) -> transition.Changes:
    """End an attempt whose owner's lease is over; no time passes here, so no deadline ever does."""
    changes = transition.expire(_workflow(workflow), _actions(world, workflow.id))
    _judged(world, workflow, changes)
    return changes


def _judged(world: World, workflow: Workflow, changes: transition.Changes) -> None:
    _apply(world, workflow.id, changes, "test")
    if world.find(Workflow, workflow.id).state.is_final:
        world.ledger.forget_lost(workflow.id)


def _judge(
    world: World,
    workflow: Workflow,
    action: transition.Action,
    changes: transition.Changes,
    reporter: lease.Reporter,
) -> lease.Verdict:
    """Hold a report against the hold of its machine, and let go of that where nothing is left there."""
    hold = world.ledger.hold(workflow.id, action.worker_id)
    if action.state is State.PENDING and changes.steps:
        return lease.judge_start(hold, reporter, is_again=False)
    if action.state is State.RUNNING and not changes.steps:
        return lease.judge_start(hold, reporter, is_again=True, whatever_the_engine=action.reboots)
    if changes.steps:
        lease.check_end(hold, reporter)
        if hold is not None and is_vacant(action, changes.steps):
            world.ledger.take(workflow.id, action.worker_id, lease_id=hold.lease_id, action_id="")
    return lease.Verdict.STAYS


def _refuse_busy(world: World, workflow: Workflow) -> None:
    """Let a workflow start only where none of its machines belongs to another one."""
    held = world.holder(workflow)
    if held is not None:
        raise errors.MachineBusy(held.worker_id, held_by=held.workflow_id)


def _apply(world: World, workflow_id: str, changes: transition.Changes, actor: str) -> None:
    for step in changes.steps:
        if isinstance(step, transition.StartAction | transition.EndAction | transition.RetryAction):
            action = world.find(Action, step.action_id)
            world.put(dataclasses.replace(action, **_action_fields(step)), actor=actor)
        else:
            workflow = world.find(Workflow, workflow_id)
            world.put(dataclasses.replace(workflow, **_workflow_fields(step)), actor=actor)
        if isinstance(step, transition.EndWorkflow):
            world.ledger.leave(workflow_id)


def _action_fields(step: transition.StartAction | transition.EndAction | transition.RetryAction) -> dict[str, Any]:
    now = datetime.now(UTC)
    match step:
        case transition.StartAction():
            started = {"state": State.RUNNING, "attempt": step.attempt, "message": step.message, "started_at": now}
            return started | {"exit_code": None, "retry_at": None}
        case transition.EndAction():
            ended = {"state": step.state, "message": step.message, "exit_code": step.exit_code, "finished_at": now}
            return ended | {"retry_at": None}
        case transition.RetryAction():
            due = now + timedelta(seconds=step.delay_seconds)
            return {"state": State.PENDING, "message": step.message, "exit_code": step.exit_code, "retry_at": due}
        case _:
            assert_never(step)


def _workflow_fields(
    step: transition.StartWorkflow | transition.AdvanceWorkflow | transition.EndWorkflow,
) -> dict[str, Any]:
    now = datetime.now(UTC)
    match step:
        case transition.StartWorkflow():
            return {"state": State.RUNNING, "started_at": now}
        case transition.AdvanceWorkflow():
            return {"completed_actions": step.completed_actions}
        case transition.EndWorkflow():
            cause = step.cause.as_document() if step.cause else None
            ended = {"state": step.state, "completed_actions": step.completed_actions}
            return ended | {"cause": cause, "finished_at": now}
        case _:
            assert_never(step)


def _workflow(workflow: Workflow) -> transition.Workflow:
    return transition.Workflow(id=workflow.id, state=workflow.state)


def _actions(world: World, workflow_id: str) -> list[transition.Action]:
    return [
        _action(action, world.ledger.hold(workflow_id, action.worker_id)) for action in world.actions_of(workflow_id)
    ]


def _action(action: Action, hold: MachineHold | None) -> transition.Action:
    return transition.Action(
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
        is_lost=action.state is State.RUNNING and hold is not None and hold.is_lost,
    )
