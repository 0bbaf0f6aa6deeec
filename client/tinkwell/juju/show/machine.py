"""`machines` and `show-machine`: the machines of a model's units, as `status` shows them."""

from collections.abc import Mapping
from typing import Any

import click

from tinkwell.juju.shell import command, failure, output
from tinkwell.juju.shell.context import Context
from tinkwell.juju.status import model, snapshot

_HEADER = ("Machine", "State", "Address", "Inst id")


@command.command("machines", formats=command.TABULAR_FIRST)
async def machines(context: Context) -> None:
    """List the machines that units of a model are on."""
    found = await _machines(context)
    rows = [
        (name, each["juju-status"]["current"], each["dns-name"], each["instance-id"]) for name, each in found.items()
    ]
    context.show({"machines": found}, lambda: output.table(_HEADER, rows))


@command.command("show-machine", formats=command.YAML_FIRST)
@click.argument("names", nargs=-1, metavar="[MACHINE...]")
async def show_machine(context: Context, names: tuple[str, ...]) -> None:
    """Show machines that units of a model are on; all of them if none is named."""
    found = await _machines(context)
    if missing := [name for name in names if name not in found]:
        raise failure.Failure(*(f"machine {name} not found" for name in missing))
    context.show({"machines": {name: found[name] for name in names or found}})


async def _machines(context: Context) -> Mapping[str, Any]:
    described = model.describe(context.namespace, await snapshot.take(context, ()))
    found: Mapping[str, Any] = described["machines"]
    return found
