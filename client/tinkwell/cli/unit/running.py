"""`tinkwell unit run`: an action on a unit, or an agent that serves units with a charm written in Python."""

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.shell import command, output, session
from tinkwell.cli.shell import option as shell_option
from tinkwell.cli.unit import machine, option
from tinkwell.cli.unit import task as tasks
from tinkwell.cli.unit.source import loaded

if TYPE_CHECKING:
    from tinkwell.charm.agent.agent import Agent, Wanted
    from tinkwell.client import Client


@click.command(cls=command.Command)
@click.argument("target", metavar="UNIT|FILE[:CLASS]")
@click.argument("words", nargs=-1, metavar="[ACTION [KEY=VALUE]...]")
@tasks.wait
@tasks.longest
@click.option("--file", type=click.Path(), metavar="FILE|-", help="Parameters of the action as YAML or JSON.")
@click.option(
    "--application", type=option.ApplicationName(), metavar="NAME", help="Application whose units a program serves."
)
@option.namespace
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="HARDWARE",
    help="Machine whose units a program serves: its hostname, an address or its id. Repeatable. "
    "[default: those placed anywhere]",
)
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Folder for a program's storages and unsent outcomes. "
    "[default: a folder for the application in ~/.local/state/tinkwell]",
)
@shell_option.object_format
@session.connected
async def run(
    client: "Client",
    target: str,
    words: tuple[str, ...],
    wait: bool,
    timeout: float,
    file: str | None,
    application: str | None,
    namespace: str,
    machines: tuple[str, ...],
    state_dir: Path | None,
    output_format: output.Format,
) -> None:
    """Run an action on a unit, as in `unit run web/0 backup target=/srv`, or a program that serves units.

    web/leader is the unit that leads. An action runs once, after the events before it; its charm declares its
    parameters.

    A program, such as web.py:Web, serves the units of `--application` until it is stopped. A unit has one event at a
    time; many units are served at once. At Ctrl-C and SIGTERM, running events have ten seconds to end. Outcomes that
    could not be sent by then are sent by the next agent with the same folder.
    """
    if tasks.is_unit(target):
        if application is not None or machines or state_dir is not None:
            raise click.UsageError("--application, --machine and --state-dir go with a program, such as web.py:Web")
        if not words:
            raise click.UsageError(f"name an action of {target}; tinkwell app actions lists them")
        asked = await client.applications.run(
            target,
            words[0],
            tasks.parameters(words[1:], file),
            timeout_seconds=math.ceil(timeout),
            namespace=namespace,
        )
        await tasks.follow(client, asked, is_waited_for=wait, chosen=output_format)
        return
    if words or wait or timeout or file is not None:
        raise click.UsageError(f"{target!r} is not the name of a unit, such as web/0, and only units run actions")
    if application is None:
        raise click.UsageError(f"--application says whose units {target} serves")
    await _serve(client, target, application, namespace, machines, state_dir)


async def _serve(
    client: "Client",
    program: str,
    application: str,
    namespace: str,
    machines: tuple[str, ...],
    state_dir: Path | None,
) -> None:
    """Serve units until stopped."""
    from tinkwell.charm import CharmError  # it costs start-up time, see main
    from tinkwell.charm.agent.agent import Agent, Wanted

    charm_class = loaded(program)
    served = await machine.ids(client, machines)
    wanted = Wanted(application=application, namespace=namespace, machines=tuple(served))
    try:
        agent = Agent(client, charm_class, wanted, state_dir or _default_folder(namespace, application))
    except (CharmError, OSError) as error:
        raise failure.Failure(str(error)) from error
    await say_what_is_awaited(client, wanted, machines)
    await _until_stopped(agent)


async def say_what_is_awaited(client: "Client", wanted: "Wanted", machines: tuple[str, ...]) -> None:
    """Tell the user which units the agent waits for, if there is none yet that it may serve."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    name, where = wanted.application, wanted.namespace
    try:
        await client.applications.get(name, namespace=where)
    except errors.NotFound:
        output.note(f"There is no application {name} in namespace {where} yet; this agent waits for one of that name.")
        return
    async for unit in client.applications.units(name, namespace=where):
        if unit.anywhere == wanted.anywhere and (unit.anywhere or unit.machine in ("", *wanted.machines)):
            return
    place = "anywhere" if wanted.anywhere else f"on machine {' or '.join(machines)}"
    output.note(f"No unit of {name} is placed {place} yet; this agent waits for one.")


async def _until_stopped(agent: "Agent") -> None:
    import asyncio  # it costs start-up time, see main
    import signal

    from tinkwell.core.process_log import setup

    setup.set_up("info")
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, agent.stop)
    await agent.run()


def _default_folder(namespace: str, application: str) -> Path:
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "tinkwell" / "units" / namespace / application
