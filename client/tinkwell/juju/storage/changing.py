"""`add-storage`, `attach-storage`, `detach-storage` and `remove-storage`."""

import re
from typing import TYPE_CHECKING

import click

from tinkwell.juju.shell import command, failure
from tinkwell.juju.shell.context import Context

if TYPE_CHECKING:
    from tinkwell.client import Storage

# The highest number of instances that one directive may give.
_MOST = 1_000
_SIZE = re.compile(r"[0-9]+(?:\.[0-9]+)?[MGTPEZY](?:i?B)?", re.ASCII)

_unit = click.argument("unit", metavar="UNIT")
_storages = click.argument("storages", nargs=-1, required=True, metavar="STORAGE...")


@command.command("add-storage")
@_unit
@click.argument("directives", nargs=-1, required=True, metavar="NAME[=COUNT]...")
async def add_storage(context: Context, unit: str, directives: tuple[str, ...]) -> None:
    """Give a unit new instances of storages of its charm."""
    wanted = [_directive(each) for each in directives]
    for name, count in wanted:
        for _ in range(count):
            found = await _attach(context, unit, name)
            context.note(f"added storage {found.name} to {unit}")


@command.command("attach-storage")
@_unit
@_storages
async def attach_storage(context: Context, unit: str, storages: tuple[str, ...]) -> None:
    """Give a unit detached instances of its machine, such as data/0."""
    _check(storages)
    for each in storages:
        await _attach(context, unit, each)
        context.note(f"attaching {each} to {unit}")


@command.command("detach-storage")
@_storages
@click.option("--force", is_flag=True, hidden=True)
@click.option("--no-wait", "no_wait", is_flag=True, hidden=True)
async def detach_storage(context: Context, storages: tuple[str, ...], force: bool, no_wait: bool) -> None:
    """Detach storage instances from their units; they stay on the machine."""
    if force or no_wait:
        raise failure.Usage("--force: storage is removed by force only with its unit; see remove-unit --force")
    _check(storages)
    for each in storages:
        await context.client.applications.detach(each, namespace=context.namespace)
        context.note(f"detaching {each}")


@command.command("remove-storage")
@_storages
@click.option("--force", is_flag=True, hidden=True)
@click.option("--no-destroy", "keeps", is_flag=True, hidden=True)
async def remove_storage(context: Context, storages: tuple[str, ...], force: bool, keeps: bool) -> None:
    """Remove detached instances with their content."""
    if force:
        raise failure.Usage("--force: a storage that a unit has is detached first, by detach-storage")
    if keeps:
        raise failure.Usage("--no-destroy: detached storage is kept on its machine until it is removed")
    _check(storages)
    for each in storages:
        await context.client.applications.remove_storage(each, namespace=context.namespace)
        context.note(f"removing {each}")


async def _attach(context: Context, unit: str, storage: str) -> "Storage":
    return await context.client.applications.attach(unit, storage, namespace=context.namespace)


def _check(storages: tuple[str, ...]) -> None:
    for each in storages:
        if "/" not in each:
            raise failure.Usage(f'storage ID "{each}" not valid; write one such as data/0')


def _directive(text: str) -> tuple[str, int]:
    """Read NAME or NAME=COUNT; a size in it is ignored. Raises `Usage`."""
    name, equals, directive = text.partition("=")
    count = 1
    for part in directive.split(",") if equals else ():
        if part.isdecimal() and 1 <= int(part) <= _MOST:
            count = int(part)
        elif not _SIZE.fullmatch(part):
            sentence = "there are no pools, since a storage is a folder; write a number, such as data=2"
            raise failure.Usage(f'storage directive "{text}" not valid: {sentence}')
    return name, count
