"""How a report moves an action and its workflow on, in the fake server."""

import dataclasses
from datetime import UTC, datetime

from tinkwell.client.model import Action, ActionStatus, Workflow
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.kind import State


def take(world: World, workflow: Workflow, report: ActionStatus) -> int:
    """Take a report; gives the attempt it counted for, 0 when it was a repetition."""
    action = _find(world, report)
    if report.worker_id != action.worker_id:
        raise errors.WrongWorker(report.worker_id, action.worker_id)
    if action.state is report.state and report.attempt in (0, action.attempt):
        return 0
    _check(workflow, action, report)
    moved = world.put(_moved(action, report), actor=report.worker_id)
    world.journal.append(
        dataclasses.replace(
            report,
            action_id=moved.id,
            task_name=moved.task_name,
            action_name=moved.name,
            attempt=moved.attempt,
            created_at=moved.updated_at,
        )
    )
    following = _followed(world, workflow, moved)
    if following != workflow:
        world.put(following, actor=report.worker_id)
    return moved.attempt


def _find(world: World, report: ActionStatus) -> Action:
    for action in world.actions_of(report.workflow_id):
        if report.action_id in ("", action.id) and (
            report.action_id or (report.task_name, report.action_name) == (action.task_name, action.name)
        ):
            return action
    raise errors.NotFound("action", report.action_id or f"{report.task_name}/{report.action_name}")


def _check(workflow: Workflow, action: Action, report: ActionStatus) -> None:
    wanted = State.PENDING if report.state is State.RUNNING else State.RUNNING
    if workflow.state.is_final or action.state is not wanted or report.state in (State.PENDING, State.CANCELLED):
        raise errors.IllegalTransition(f"action {action.id}", f"may not go from {action.state} to {report.state}")


def _moved(action: Action, report: ActionStatus) -> Action:
    now = datetime.now(UTC)
    if report.state is State.RUNNING:
        return dataclasses.replace(action, state=State.RUNNING, attempt=action.attempt + 1, started_at=now)
    return dataclasses.replace(
        action, state=report.state, message=report.message, exit_code=report.exit_code, finished_at=now
    )


def _followed(world: World, workflow: Workflow, action: Action) -> Workflow:
    now = datetime.now(UTC)
    if action.state is State.RUNNING:
        if workflow.state is State.RUNNING:
            return workflow
        return dataclasses.replace(workflow, state=State.RUNNING, started_at=now)
    if action.state is State.SUCCEEDED:
        actions = world.actions_of(workflow.id)
        done = sum(1 for each in actions if each.state is State.SUCCEEDED)
        if done < len(actions):
            return dataclasses.replace(workflow, completed_actions=done)
        return dataclasses.replace(workflow, completed_actions=done, state=State.SUCCEEDED, finished_at=now)
    cause = {"action_id": action.id, "task_name": action.task_name, "action_name": action.name}
    return dataclasses.replace(workflow, state=action.state, cause=cause, finished_at=now)
