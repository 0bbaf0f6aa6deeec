"""`show-task`, `cancel-task`, `operations` and `actions`: show and cancel tasks, and list the actions of units."""

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tinkwell.juju.shell import command, duration, moment, output
from tinkwell.juju.shell.context import Context
from tinkwell.juju.task import asking, shape

if TYPE_CHECKING:
    from tinkwell.client import Task

_HEADER = ("ID", "Status", "Started", "Finished", "Unit", "Summary")
_ACTION_HEADER = ("Action", "Description")


@command.command("show-task", formats=command.YAML_FIRST)
@click.argument("task_id", metavar="TASK")
@click.option("--wait", type=duration.Duration(), default=0.0, help="How long its end is waited for.")
@click.option("--watch", is_flag=True, help="Wait for its end as long as that takes.")
@click.option("--utc", is_flag=True, help="Times are in UTC, which they are in any case.")
async def show_task(context: Context, task_id: str, wait: float, watch: bool, utc: bool) -> None:
    """Show a task with its log and its result."""
    found = await context.client.applications.task(task_id)
    if watch or wait:
        (found,) = await asking.follow(context, [found], None if watch else wait)
    context.show(shape.whole(found))


@command.command("cancel-task", formats=command.YAML_FIRST)
@click.argument("task_ids", nargs=-1, required=True, metavar="TASK...")
async def cancel_task(context: Context, task_ids: tuple[str, ...]) -> None:
    """Cancel tasks. A waiting task ends at once; a running one is ended by its agent."""
    ended = [await context.client.applications.cancel(each) for each in task_ids]
    context.show({each.id: {**shape.whole(each), "status": _ending(each)} for each in ended})


@command.command("operations", formats=command.TABULAR_FIRST)
@click.option("--applications", "--apps", metavar="NAME,...", help="Only those of these applications.")
@click.option("--units", metavar="UNIT,...", help="Only those of these units.")
@click.option("--actions", metavar="NAME,...", help="Only these actions.")
@click.option("--status", metavar="STATUS,...", help="Only those with one of these statuses.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=50, help="Only so many of the newest; 0 for all. [default: 50]"
)
@click.option("--utc", is_flag=True, help="Times are in UTC, which they are in any case.")
async def operations(
    context: Context,
    applications: str | None,
    units: str | None,
    actions: str | None,
    status: str | None,
    limit: int,
    utc: bool,
) -> None:
    """List tasks, newest first; each is an operation of its own."""
    names = [*_names(applications), *_names(units)] or [
        each.name async for each in context.client.applications.list(context.namespace)
    ]
    found: list[Task] = []
    for name in dict.fromkeys(names):
        async for each in context.client.applications.tasks(name, namespace=context.namespace):
            wanted = not actions or shape.what(each) in _names(actions)
            if wanted and (not status or shape.status(each) in _names(status)):
                found.append(each)
    chosen = heapq.nlargest(limit or len(found), found, key=_newest)
    context.show({each.id: _operation(each) for each in chosen}, lambda: output.table(_HEADER, map(_row, chosen)))


@command.command("actions", formats=command.TABULAR_FIRST)
@click.argument("application", metavar="APPLICATION")
@click.option("--schema", is_flag=True, help="Show the schema of the parameters, too, in YAML where nothing is said.")
async def actions(context: Context, application: str, schema: bool) -> None:
    """List the actions of an application's units."""
    found = await context.client.applications.get(application, namespace=context.namespace)
    charm = await context.client.applications.charm(found.charm)
    if schema:
        context.show({each.name: each.parameters for each in charm.actions})
        return
    rows = sorted((each.name, each.description) for each in charm.actions)
    context.show(dict(rows), lambda: output.table(_ACTION_HEADER, rows) if rows else ["No actions defined."])


def _names(text: str | None) -> list[str]:
    return [each for each in (text or "").split(",") if each]


def _newest(task: "Task") -> tuple[float, str]:
    return (task.created_at.timestamp() if task.created_at is not None else 0.0, task.id)


def _ending(task: "Task") -> str:
    return "aborting" if task.is_cancelled else shape.status(task)


def _operation(task: "Task") -> dict[str, object]:
    times = {"enqueued": task.created_at, "started": task.started_at, "completed": task.finished_at}
    return {
        "summary": f"{shape.what(task)} run on {task.unit}",
        "status": shape.status(task),
        "action": {"name": shape.what(task), "parameters": task.parameters},
        "timing": {name: moment.iso(time) for name, time in times.items() if time is not None},
        "tasks": {task.id: {"host": task.unit, "status": shape.status(task)}},
    }


def _row(task: "Task") -> Sequence[str]:
    times = moment.iso(task.started_at), moment.iso(task.finished_at)
    return (task.id, shape.status(task), *times, task.unit, f"{shape.what(task)} run on {task.unit}")
