"""The requests of agents to a world about tasks: the task that a unit is to run, and its outcome."""

from tinkwell.core import errors
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, TaskOutcome
from tinkwell.core.unit.kinds import EventState, TaskState
from tinkwell.core.unit.resolver import resolve
from tinkwell.core.unit.resolver.advance import advance_task
from tinkwell.core.unit.world import change, delivery, secret, sight, task
from tinkwell.core.unit.world.state import State, Task, Unit

NO_LEADER = "its application's leader has changed"


def grant(state: State, unit: Unit) -> Task | None:
    """Return the task that a unit runs, or its oldest one if it may begin now.

    None while an event is RUNNING, even if its attempt was lost: that event gets a verdict first.
    """
    running = state.running_task(unit.name)
    if running is not None:
        return running
    event = unit.running
    if event is not None and event.state is EventState.RUNNING:
        return None
    wanted = resolve.next_task(unit.ledger, sight.view(state, unit), has_error=event is not None)
    return task.become(state, state.tasks[wanted], TaskState.RUNNING) if wanted else None


def commit(state: State, unit: Unit, outcome: TaskOutcome, effects: Effects = NO_EFFECTS) -> Task:
    """End the task that a unit runs; its effects are written if it has SUCCEEDED.

    Raises:
        IllegalTransition: no task runs.
        CommitRefused: an effect is not allowed; then the task is FAILED.
        NotLeader: it wrote what is its application's, and its term is over; then it is FAILED.
    """
    running = state.running_task(unit.name)
    if running is None:
        raise errors.IllegalTransition(f"unit {unit.name}", "no task of it runs")
    view = sight.view(state, unit)
    if outcome.state is TaskState.SUCCEEDED:
        if not delivery.may_write(state, unit, view, effects):
            task.become(state, running, TaskState.FAILED, message=NO_LEADER)
            raise errors.NotLeader(unit.name, leader=view.leader)
        try:
            delivery.check(state, unit, 0, effects, view)
        except errors.CommitRefused as error:
            task.become(state, running, TaskState.FAILED, message=str(error))
            raise
        unit.ledger = advance_task(unit.ledger, view, delivery.write(state, unit, effects))
        secret.renew(state, effects.secrets)
    ended = task.become(state, running, outcome.state, result=outcome.result, message=outcome.message)
    change.reap(state)
    return ended


def lose(state: State, unit: Unit) -> None:
    """Record that the running task was lost: it has failed, and is not run again."""
    running = state.running_task(unit.name)
    if running is None:
        raise errors.IllegalTransition(f"unit {unit.name}", "no task of it runs")
    task.become(state, running, TaskState.FAILED, message=task.LOST)
