"""Tasks of a world: a unit runs one at a time, and none beside an event."""

from dataclasses import replace

from tinkwell.core import errors
from tinkwell.core.unit.kinds import Life, TaskKind, TaskState
from tinkwell.core.unit.world import log
from tinkwell.core.unit.world.state import State, Task, Unit
from tinkwell.core.value.document import JsonObject

LOST = "its agent was lost"
REMOVED = "its unit is being removed"
FORCED = "its unit was removed by force"


def ask(
    state: State,
    unit: Unit,
    *,
    name: str = "",
    parameters: JsonObject | None = None,
    arguments: tuple[str, ...] = (),
    timeout_seconds: int = 0,
    actor: str = "",
) -> Task:
    """Ask a unit to run an action, or a command with `arguments`; raises IllegalTransition if it is being removed."""
    if unit.life is not Life.ALIVE:
        raise errors.IllegalTransition(f"unit {unit.name}", REMOVED)
    number = state.next_task
    state.next_task += 1
    task = Task(
        id=state.new_id(f"task {unit.name} {number}"),
        number=number,
        unit=unit.name,
        kind=TaskKind.EXEC if arguments else TaskKind.ACTION,
        name=name,
        parameters=parameters or {},
        arguments=arguments,
        timeout_seconds=timeout_seconds,
        actor=actor,
    )
    state.tasks[task.id] = task
    log.write_task(state, task, log.CREATED)
    return task


def cancel(state: State, task: Task, *, actor: str = "") -> Task:
    """End a PENDING task; tell the agent to end a RUNNING one. Raises IllegalTransition if the task has ended."""
    match task.state:
        case TaskState.PENDING:
            by = f" by {actor}" if actor else ""
            return become(state, task, TaskState.CANCELLED, message=f"it was cancelled{by} before it ran")
        case TaskState.RUNNING if not task.is_cancelled:
            state.tasks[task.id] = asked = replace(task, is_cancelled=True)
            log.write_task(state, asked, log.UPDATED)
            return asked
        case TaskState.RUNNING | TaskState.CANCELLED:
            return task
        case _:
            raise errors.IllegalTransition(f"task {task.id}", f"it is {task.state} already")


def become(state: State, task: Task, wanted: TaskState, *, result: str = "", message: str = "") -> Task:
    """Put a task into another state."""
    state.tasks[task.id] = after = replace(task, state=wanted, result=result, message=message)
    log.write_task(state, after)
    return after


def cancel_waiting(state: State, unit: Unit) -> None:
    """Cancel all PENDING tasks of a unit that is being removed."""
    for task in [*state.tasks_of(unit.name)]:
        if task.state is TaskState.PENDING:
            become(state, task, TaskState.CANCELLED, message=REMOVED)


def cancel_all(state: State, unit: Unit) -> None:
    """Cancel all tasks of a unit that has ended."""
    for task in [*state.tasks_of(unit.name)]:
        if not task.state.is_final:
            become(state, task, TaskState.CANCELLED, message=FORCED)
