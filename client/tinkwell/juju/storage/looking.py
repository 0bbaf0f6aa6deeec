"""`storage` and `show-storage`."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from tinkwell.juju.shell import command, failure, machine, output
from tinkwell.juju.shell.context import Context
from tinkwell.juju.storage import shape

if TYPE_CHECKING:
    from tinkwell.client import Storage

_HEADER = ("Unit", "Storage ID", "Type", "Machine", "Status", "Message")


@command.command("storage", formats=command.TABULAR_FIRST)
@click.option("--filesystem", "is_filesystem", is_flag=True, help="Only filesystems, which all storage is.")
@click.option("--volume", "is_volume", is_flag=True, hidden=True)
async def storage(context: Context, is_filesystem: bool, is_volume: bool) -> None:
    """List the storage instances of a model."""
    if is_volume:
        raise failure.Usage("--volume: there is no block storage; an instance is a folder of its unit's machine")
    found = [each async for each in context.client.applications.storages(namespace=context.namespace)]
    machines = await names(context, found)
    rows = [_row(each, machines) for each in found]
    context.show(shape.combined(found, machines), lambda: output.table(_HEADER, rows) if rows else _nothing())


@command.command("show-storage", formats=command.YAML_FIRST)
@click.argument("storages", nargs=-1, required=True, metavar="STORAGE...")
async def show_storage(context: Context, storages: tuple[str, ...]) -> None:
    """Show all data of storage instances such as data/0."""
    known = {each.name: each async for each in context.client.applications.storages(namespace=context.namespace)}
    if missing := [name for name in storages if name not in known]:
        raise failure.Failure(*(f'storage "{name}" not found' for name in missing))
    found = [known[name] for name in storages]
    machines = await names(context, found)
    context.show({each.name: shape.whole(each, machines) for each in found})


async def names(context: Context, storages: "Iterable[Storage]") -> Mapping[str, str]:
    """Return the names of the machines that storages are on, by the ids of the machines."""
    found = await machine.found(context, [each.machine for each in storages if each.machine])
    return {each.id: name for name, each in found.items()}


def _nothing() -> list[str]:
    return ["No storage to display."]


def _row(storage: "Storage", machines: Mapping[str, str]) -> tuple[str, ...]:
    place = machines.get(storage.machine, storage.machine)
    return storage.unit, storage.name, shape.KIND, place, shape.status(storage), ""
