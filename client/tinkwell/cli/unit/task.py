"""`tinkwell task`, `unit run UNIT` and `unit exec`: actions and commands for units, and their results."""

import math
import re
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.shell import command, duration, output, session
from tinkwell.cli.shell import option as shell_option
from tinkwell.cli.unit import option
from tinkwell.core import errors
from tinkwell.core.unit import limit
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import TaskKind, TaskState

if TYPE_CHECKING:
    from tinkwell.client import Client, Task

_HEADER = ("TASK", "UNIT", "WHAT", "STATE", "ASKED FOR", "SECONDS", "MESSAGE")
_ACTION_HEADER = ("ACTION", "PARAMETERS", "DESCRIPTION")
LEADER = "leader"
_WORD_CHARACTERS = 60
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


class TaskUnit(click.ParamType[str]):
    """The name of a unit, such as web/0, or web/leader for the unit that leads."""

    name = "unit"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name."""
        if not is_unit(str(value)):
            self.fail(f"{str(value)!r} is not the name of a unit; write one such as web/0, or web/leader", param, ctx)
        return str(value)


unit = click.argument("unit_name", type=TaskUnit(), metavar="UNIT")
wait = click.option("--wait", is_flag=True, help="Wait for the end of the task, and fail if it does not succeed.")
longest = click.option(
    "--timeout", type=duration.Duration(), default=0.0, help="Longest time for the task. [default: the namespace's]"
)


@click.group(cls=command.Group)
def task() -> None:
    """Tasks: actions and commands that units run once."""


@task.command("list")
@click.argument("name", metavar="UNIT|APPLICATION")
@option.namespace
@shell_option.object_format
@session.connected
async def list_(client: "Client", name: str, namespace: str, output_format: output.Format) -> None:
    """List the tasks of a unit, or of all units of an application, newest first."""
    found = [each async for each in client.applications.tasks(name, namespace=namespace)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
    else:
        output.objects(found, output_format)


@task.command()
@click.argument("task_id", metavar="TASK")
@click.option("--wait", is_flag=True, help="Wait for the end of the task.")
@shell_option.object_format
@session.connected
async def show(client: "Client", task_id: str, wait: bool, output_format: output.Format) -> None:
    """Show a task with its parameters, log and result."""
    source = client.applications
    found = await (source.finished(task_id) if wait else source.task(task_id))
    if output_format is not output.Format.TABLE:
        output.whole(found.to_json(), output_format)
        return
    output.fields(_fields(found))
    for title, value in (("PARAMETERS", found.parameters), ("RESULT", found.result)):
        if value:
            output.line(f"\n{output.emphasise(title)}")
            output.whole(value, output.Format.YAML)
    if found.log:
        output.line(f"\n{output.emphasise('LOG')}")
        for each in found.log:
            output.text(each)


@task.command()
@click.argument("task_ids", nargs=-1, required=True, metavar="TASK...")
@session.connected
async def cancel(client: "Client", task_ids: tuple[str, ...]) -> None:
    """Cancel tasks. A waiting task ends at once; a running one is ended by its agent."""
    for each in task_ids:
        found = await client.applications.cancel(each)
        output.line(f"{each}: {'is cancelled' if found.state.is_final else 'is being cancelled'}")


@click.command("exec", cls=command.Command, context_settings={"ignore_unknown_options": False})
@unit
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
@wait
@longest
@option.namespace
@shell_option.object_format
@session.connected
async def exec_(
    client: "Client",
    unit_name: str,
    words: tuple[str, ...],
    wait: bool,
    timeout: float,
    namespace: str,
    output_format: output.Format,
) -> None:
    """Run a command in the folder of a unit's charm, where it can call the charm's tools.

    Only administrators may, and only where the server allows it.
    """
    asked = await client.applications.exec(unit_name, words, timeout_seconds=math.ceil(timeout), namespace=namespace)
    await follow(client, asked, is_waited_for=wait, chosen=output_format)


@click.command(cls=command.Command)
@option.application
@option.namespace
@shell_option.object_format
@session.connected
async def actions(client: "Client", name: str, namespace: str, output_format: output.Format) -> None:
    """List the actions of an application's units, which `unit run` runs."""
    found = await client.applications.get(name, namespace=namespace)
    declared = (await client.applications.charm(found.charm)).actions
    if output_format is output.Format.TABLE:
        rows = ((each.name, " ".join(_parameters(each.parameters)), each.description) for each in declared)
        output.table(_ACTION_HEADER, rows)
    else:
        output.objects(declared, output_format)


def is_unit(text: str) -> bool:
    """Tell whether a text names a unit, or the leader of an application."""
    application, _, number = text.rpartition("/")
    try:
        if number == LEADER:
            names.parse_application("", application)
        else:
            names.parse_unit("", text)
    except errors.InvalidField:
        return False
    return True


def parameters(words: tuple[str, ...], file: str | None) -> dict[str, Any]:
    """Return the parameters of a file, overridden by those written KEY=VALUE; `a.b=1` sets the member b of a."""
    given = option.of_file(file, what="parameters", max_bytes=limit.CONFIG_BYTES) if file is not None else {}
    for each in words:
        path, equals, value = each.partition("=")
        if not path or not equals:
            raise click.UsageError(f"{each!r} is not KEY=VALUE, such as target=/srv/backup")
        *above, key = path.split(".")
        place = given
        for part in above:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                raise click.UsageError(f"{path}: {part} already has a value that is not an object")
            place = inner
        place[key] = value
    return given


async def follow(client: "Client", asked: "Task", *, is_waited_for: bool, chosen: output.Format) -> None:
    """Print the task that was requested, or wait for its end and print its result."""
    found = await client.applications.finished(asked.id) if is_waited_for else asked
    if chosen is not output.Format.TABLE:
        output.whole(found.to_json(), chosen)
    elif not is_waited_for:
        output.line(f"{found.unit}: {_what(found)} is requested; tinkwell task show {found.id} --wait has its result")
    else:
        _tell(found)
    if is_waited_for and found.state is not TaskState.SUCCEEDED:
        why = f": {found.message}" if found.message else ""
        raise failure.Failure(
            f"{found.unit}: {_what(found)} {_ENDS[found.state]}{why}; see tinkwell task show {found.id}"
        )


_ENDS = {
    TaskState.FAILED: "has failed",
    TaskState.TIMEOUT: "has taken too long",
    TaskState.CANCELLED: "was cancelled",
}


def _tell(found: "Task") -> None:
    """Write the log and the result of a task; for a command, its output is written unchanged."""
    for each in found.log:
        output.note(each)
    if found.kind is TaskKind.EXEC:
        for name in ("stdout", "stderr"):
            if text := str(found.result.get(name, "")):
                if name == "stdout":
                    output.text(text.removesuffix("\n"))
                else:
                    output.note(text.removesuffix("\n"))
    elif found.result:
        output.whole(found.result, output.Format.YAML)


def _what(found: "Task") -> str:
    return found.name or output.cut(output.clean(" ".join(map(_word, found.arguments))), _WORD_CHARACTERS)


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def _seconds(found: "Task") -> str:
    if found.started_at is None or found.finished_at is None:
        return ""
    return f"{(found.finished_at - found.started_at).total_seconds():.1f}"


def _parameters(schema: dict[str, Any]) -> list[str]:
    """Return the names of an action's parameters; optional ones are in brackets."""
    required = schema.get("required", [])
    return [each if each in required else f"[{each}]" for each in schema.get("properties", {})]


def _row(found: "Task") -> tuple[str, ...]:
    moment = output.moment(found.created_at)
    return found.id, found.unit, _what(found), found.state, moment, _seconds(found), found.message


def _fields(found: "Task") -> list[tuple[str, str]]:
    return [
        ("TASK", found.id),
        ("UNIT", found.unit),
        ("NAMESPACE", found.namespace),
        ("ACTION" if found.kind is TaskKind.ACTION else "COMMAND", _what(found)),
        ("STATE", found.state),
        ("MESSAGE", found.message),
        ("BY", found.actor),
        ("ASKED FOR", output.moment(found.created_at)),
        ("STARTED", output.moment(found.started_at)),
        ("ENDED", output.moment(found.finished_at)),
        ("SECONDS", _seconds(found)),
    ]
