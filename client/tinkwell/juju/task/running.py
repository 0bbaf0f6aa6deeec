"""`run`: actions of charms."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tinkwell.core import errors as core_errors
from tinkwell.core.unit import name as names
from tinkwell.juju.shell import command, duration, failure, setting
from tinkwell.juju.shell.context import Context
from tinkwell.juju.shell.output import Format
from tinkwell.juju.task import asking, shape

if TYPE_CHECKING:
    from tinkwell.client import Task

LEADER = "leader"
_WAIT_SECONDS = 60.0


@command.command("run", formats=command.SMART_FIRST)
@click.argument("words", nargs=-1, required=True, metavar="UNIT... ACTION [KEY=VALUE...]")
@click.option("--params", metavar="FILE", help="Parameters as YAML; those of the command line come over them.")
@click.option(
    "--wait", type=duration.Duration(), default=_WAIT_SECONDS, help="How long it is waited for. [default: 60s]"
)
@click.option("--background", is_flag=True, help="Do not wait: show-task has the result later.")
@click.option("--string-args", is_flag=True, help="Values are texts; the charm's declaration says so in any case.")
@click.option("--utc", is_flag=True, help="Times are in UTC, which they are in any case.")
async def run(
    context: Context,
    words: tuple[str, ...],
    params: str | None,
    wait: float,
    background: bool,
    string_args: bool,
    utc: bool,
) -> None:
    """Run an action on units, such as web/0 or web/leader, and show its results."""
    units, action, pairs = _split(words)
    given = setting.mapping(params) if params else {}
    _add(given, pairs)
    asked = [await _ask(context, each, action, given) for each in units]
    if background:
        tell_background(context, asked)
        return
    ended = await asking.follow(context, asked, wait)
    tell(context, ended)
    asking.check(ended)


def tell(context: Context, tasks: "Sequence[Task]") -> None:
    """Write the results of tasks. As a table, the results of a single task are written alone."""
    found = {each.unit: shape.whole(each) for each in tasks}
    if context.format is Format.SMART and len(tasks) == 1:
        _tell_one(context, tasks[0])
    else:
        context.show(found)


def tell_background(context: Context, tasks: "Sequence[Task]") -> None:
    """Tell the user which tasks were requested."""
    if context.format is not Format.SMART:
        context.show({each.unit: {"id": each.id} for each in tasks})
        return
    for each in tasks:
        context.note(f"{each.unit}: task {each.id}; check its status with 'juju show-task {each.id}'")


def _tell_one(context: Context, task: "Task") -> None:
    for each in task.log:
        context.note(each)
    for name in ("stdout", "stderr"):
        if text := str(task.result.get(name, "")).removesuffix("\n"):
            context.line(text) if name == "stdout" else context.note(text)
    own = {name: value for name, value in task.result.items() if name not in ("stdout", "stderr", "return-code")}
    if own:
        context.show(own)
    if task.message:
        context.note(task.message)


async def _ask(context: Context, unit: str, action: str, parameters: dict[str, Any]) -> "Task":
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        return await context.client.applications.run(unit, action, parameters, namespace=context.namespace)
    except errors.NotFound as error:
        raise failure.Failure(f'unit "{unit}" not found (not found)') from error
    except errors.InvalidField as error:
        if any(each.field == "action" for each in error.violations):
            # jubilant recognises this error by the last words.
            text = f'action "{action}" not defined for unit "{unit}": {error.violations[0].description} (not found)'
            raise failure.Failure(text) from error
        raise


def _split(words: Sequence[str]) -> tuple[list[str], str, Sequence[str]]:
    """Split the words into units, the action, and its parameters. Raises `Usage`."""
    units: list[str] = []
    for place, word in enumerate(words):
        if not is_unit(word):
            if not units:
                raise failure.Usage(f'"{word}" is not the name of a unit; write one such as web/0, or web/leader')
            return units, word, words[place + 1 :]
        units.append(word)
    raise failure.Usage("no action specified")


def is_unit(text: str) -> bool:
    """Tell whether a text names a unit, or the leader of an application."""
    application, _, number = text.rpartition("/")
    try:
        if number == LEADER:
            names.parse_application("", application)
        else:
            names.parse_unit("", text)
    except core_errors.InvalidField:
        return False
    return True


def _add(given: dict[str, Any], words: Sequence[str]) -> None:
    """Add each KEY=VALUE to the parameters; `a.b=1` sets the member b of a. The server converts the types."""
    for each in words:
        # A value that begins with @ is a text here. Only in values of options, @ names a file.
        word, equals, value = each.partition("=")
        if not word or not equals:
            raise failure.Usage(f'expected "key=value", got "{each}"')
        *above, key = word.split(".")
        place = given
        for part in above:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                raise failure.Usage(f"{word}: {part} already has a value that is not an object")
            place = inner
        place[key] = value
