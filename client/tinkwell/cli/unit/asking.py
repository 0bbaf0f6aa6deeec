"""The commands of `tinkwell unit` that ask a unit for something."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli.shell import command, output, session
from tinkwell.cli.unit import option, settling

if TYPE_CHECKING:
    from tinkwell.client import Client, Unit


@click.command(cls=command.Command)
@option.unit
@click.option("--skip", is_flag=True, help="Skip the event, and the events that must follow it at once.")
@option.namespace
@settling.options
@session.connected
async def resolve(client: "Client", unit_name: str, skip: bool, namespace: str, waiting: settling.Waiting) -> None:
    """Retry the failed event of a unit now, or skip it."""
    before = (await client.applications.unit(unit_name, namespace=namespace)).event
    await client.applications.resolve(unit_name, skip=skip, namespace=namespace)
    what = f"#{before.ordinal} {before.name}" if before is not None else "its event"
    output.line(f"{unit_name}: {what} {'is skipped' if skip else 'is retried'}")
    await waiting.settle(client, [unit_name.rpartition("/")[0]], namespace)


@click.command(cls=command.Command)
@option.unit
@option.namespace
@settling.options
@session.connected
async def prepare_upgrade(client: "Client", unit_name: str, namespace: str, waiting: settling.Waiting) -> None:
    """Send a unit the event pre-series-upgrade."""
    await _ask(client, unit_name, namespace, waiting, client.applications.prepare_upgrade)


@click.command(cls=command.Command)
@option.unit
@option.namespace
@settling.options
@session.connected
async def finish_upgrade(client: "Client", unit_name: str, namespace: str, waiting: settling.Waiting) -> None:
    """Send a unit the event post-series-upgrade."""
    await _ask(client, unit_name, namespace, waiting, client.applications.finish_upgrade)


@click.command(cls=command.Command)
@option.unit
@option.namespace
@settling.options
@session.connected
async def collect_metrics(client: "Client", unit_name: str, namespace: str, waiting: settling.Waiting) -> None:
    """Send a unit the event collect-metrics."""
    await _ask(client, unit_name, namespace, waiting, client.applications.collect_metrics)


@click.command(cls=command.Command)
@option.unit
@click.argument("storage", metavar="STORAGE")
@option.namespace
@settling.options
@session.connected
async def attach(client: "Client", unit_name: str, storage: str, namespace: str, waiting: settling.Waiting) -> None:
    """Give a unit a new instance of a storage such as data, or a detached one such as data/0."""
    found = await client.applications.attach(unit_name, storage, namespace=namespace)
    output.line(f"{unit_name}: {found.name} is being attached")
    await waiting.settle(client, [unit_name.rpartition("/")[0]], namespace)


@click.command(cls=command.Command)
@click.argument("storage", metavar="STORAGE")
@option.namespace
@settling.options
@session.connected
async def detach(client: "Client", storage: str, namespace: str, waiting: settling.Waiting) -> None:
    """Take a storage instance such as data/0 from its unit; it stays on the machine."""
    found = await client.applications.detach(storage, namespace=namespace)
    output.line(f"{found.name}: is being detached{f' from {found.unit}' if found.unit else ''}")
    if found.unit:
        await waiting.settle(client, [found.unit.rpartition("/")[0]], namespace)


@click.command(cls=command.Command)
@click.argument("storage", metavar="STORAGE")
@option.namespace
@session.connected
async def remove_storage(client: "Client", storage: str, namespace: str) -> None:
    """Remove a detached storage instance such as data/0, with its content."""
    found = await client.applications.remove_storage(storage, namespace=namespace)
    output.line(f"{found.name}: removed")


async def _ask(
    client: "Client",
    name: str,
    namespace: str,
    waiting: settling.Waiting,
    ask: "Callable[..., Awaitable[Unit]]",
) -> None:
    await ask(name, namespace=namespace)
    output.line(f"{name}: the event was requested")
    await waiting.settle(client, [name.rpartition("/")[0]], namespace)
