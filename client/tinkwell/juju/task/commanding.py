"""`exec` and `ssh`: run commands in the folder of a unit's charm. `scp` is not supported."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tinkwell.juju.shell import command, duration, failure
from tinkwell.juju.shell.context import Context
from tinkwell.juju.task import asking, running, shape

if TYPE_CHECKING:
    from tinkwell.client import Task

_WAIT_SECONDS = 300.0
_NO_MACHINES = "machines run no commands here; name a unit, such as web/0"


@command.command("exec", formats=command.SMART_FIRST, is_interspersed=False)
@click.option("--unit", "-u", "units", multiple=True, metavar="UNIT,...", help="Units such as web/0, or web/leader.")
@click.option("--application", "-a", "applications", multiple=True, metavar="NAME,...", help="All units of these.")
@click.option("--machine", metavar="ID,...", hidden=True)
@click.option("--all", "is_all", is_flag=True, hidden=True)
@click.option(
    "--wait", type=duration.Duration(), default=_WAIT_SECONDS, help="How long it is waited for. [default: 5m]"
)
@click.option("--background", is_flag=True, help="Do not wait: show-task has the result later.")
@click.option("--utc", is_flag=True, help="Times are in UTC, which they are in any case.")
@click.argument("words", nargs=-1, required=True, metavar="[--] COMMAND...")
async def exec_(
    context: Context,
    words: tuple[str, ...],
    units: tuple[str, ...],
    applications: tuple[str, ...],
    machine: str | None,
    is_all: bool,
    wait: float,
    background: bool,
    utc: bool,
) -> None:
    """Run a command on units, in the folder of their charm, where it can call the tools of an event.

    One word alone is a line for the shell. Only administrators may, and only where the server allows it.
    """
    if machine or is_all:
        raise failure.Usage(f"--{'machine' if machine else 'all'}: {_NO_MACHINES}")
    chosen = await _units(context, _names(units), _names(applications))
    asked = await _ask_all(context, chosen, words)
    if background:
        running.tell_background(context, asked)
    elif asked:
        ended = await asking.follow(context, asked, wait)
        running.tell(context, ended)
        asking.check(ended)


@command.command("ssh", is_interspersed=False)
@click.option("--container", hidden=True)
@click.option("--no-host-key-checks", "no_checks", is_flag=True, hidden=True)
@click.option("--proxy", is_flag=True, hidden=True)
@click.option("--pty", hidden=True)
@click.argument("target", metavar="UNIT")
@click.argument("words", nargs=-1, metavar="COMMAND...")
async def ssh(
    context: Context,
    target: str,
    words: tuple[str, ...],
    container: str | None,
    no_checks: bool,
    proxy: bool,
    pty: str | None,
) -> None:
    """Run a command on a unit, as exec does: there is no login, and the account is that of its agent."""
    user, _, unit = target.rpartition("@")
    if container is not None:
        raise failure.Usage("--container: there are no containers")
    if not running.is_unit(unit):
        raise failure.Usage(f'"{unit}": {_NO_MACHINES}')
    if user:
        raise failure.Usage(f'"{user}@": there are no logins; commands run as the account of the agent')
    if not words:
        raise failure.Usage("there are no logins; give a command")
    if words[0].startswith("-"):
        raise failure.Usage(f"{words[0]}: there are no logins, and no options of OpenSSH for them")
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        asked = await _ask(context, unit, [" ".join(words)])
    except errors.NotFound as error:
        raise failure.Failure(f'unit "{unit}" not found') from error
    (ended,) = await asking.follow(context, [asked], None)
    _leave_as(context, ended)


def _leave_as(context: Context, ended: "Task") -> None:
    """Write the output of a command, and end with its exit code."""
    for name, write in (("stdout", context.line), ("stderr", context.note)):
        if text := str(ended.result.get(name, "")).removesuffix("\n"):
            write(text)
    if shape.has_succeeded(ended):
        return
    if code := shape.return_code(ended):
        context_ = click.get_current_context()
        assert context_ is not None  # it would have raised
        context_.exit(code)
    raise failure.Failure(ended.message or f"the command was {shape.status(ended)}")


async def _ask_all(context: Context, units: Sequence[str], words: Sequence[str]) -> "list[Task]":
    """Request a command on units. A unit that does not exist is only reported, as Juju does."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    asked: list[Task] = []
    missing: list[str] = []
    for each in units:
        try:
            asked.append(await _ask(context, each, words))
        except errors.NotFound:
            missing.append(f'unit "{each}" not found')
    if missing and not asked:
        # Juju ends with success here. jubilant notices the failure by the empty standard output.
        context.note("\n".join(["the operation failed to schedule any tasks:", *missing]))
    elif missing:
        context.note("\n".join(missing))
    return asked


async def _ask(context: Context, unit: str, words: Sequence[str]) -> "Task":
    arguments = ["bash", "-c", words[0]] if len(words) == 1 else [*words]
    return await context.client.applications.exec(unit, arguments, namespace=context.namespace)


async def _units(context: Context, units: Sequence[str], applications: Sequence[str]) -> list[str]:
    for each in units:
        if not running.is_unit(each):
            raise failure.Usage(f'"{each}" is not the name of a unit; write one such as web/0, or web/leader')
    found = [*units]
    for each in applications:
        found += [unit.name async for unit in context.client.applications.units(each, namespace=context.namespace)]
    if not found:
        raise failure.Usage("you must specify a target with --unit or --application")
    return list(dict.fromkeys(found))


def _names(given: Sequence[str]) -> list[str]:
    return [name for each in given for name in each.split(",") if name]
