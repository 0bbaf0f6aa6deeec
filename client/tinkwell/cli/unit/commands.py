"""`tinkwell unit`: the units of applications, the events that they got, and explanations of their state."""

from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli.event import watching
from tinkwell.cli.shell import command, output, session
from tinkwell.cli.shell import option as shell_option
from tinkwell.cli.unit import asking, history, line, machine, option, running, settling, task

if TYPE_CHECKING:
    from tinkwell.client import Client, Unit


@click.group(cls=command.Group)
def unit() -> None:
    """Units: their state, events, logs and actions."""


for each in (
    *(history.events, history.logs, history.deferred, history.explain, history.audit),
    *(asking.resolve, asking.prepare_upgrade, asking.finish_upgrade, asking.collect_metrics),
    *(asking.attach, asking.detach, asking.remove_storage, running.run, task.exec_),
):
    unit.add_command(each)


@unit.command("list")
@click.argument("name", type=option.ApplicationName(), required=False, metavar="[APPLICATION]")
@click.option("-n", "--namespace", metavar="NAME", help="Only this namespace. [default: all, of APPLICATION default]")
@shell_option.object_format
@session.connected
async def list_(client: "Client", name: str | None, namespace: str | None, output_format: output.Format) -> None:
    """List units by namespace, application and number."""
    found = [each async for each in client.applications.units(name or "", namespace=namespace or "")]
    if output_format is output.Format.TABLE:
        applications = [each async for each in client.applications.list(namespace or "")]
        output.table(line.UNIT_HEADER, await line.unit_rows(client, found, applications))
    else:
        output.objects(found, output_format)


@unit.command()
@option.unit
@option.namespace
@shell_option.object_format
@session.connected
async def status(client: "Client", unit_name: str, namespace: str, output_format: output.Format) -> None:
    """Show all properties of a unit."""
    found = await client.applications.unit(unit_name, namespace=namespace)
    if output_format is output.Format.TABLE:
        application = await client.applications.get(found.application, namespace=namespace)
        (row,) = await line.unit_rows(client, [found], [application])
        output.fields(_fields(found, row))
    else:
        output.whole(found.to_json(), output_format)


@unit.command()
@option.application
@click.argument("units", type=click.IntRange(min=1), default=1, metavar="[UNITS]")
@option.machines
@option.storage
@option.namespace
@settling.options
@shell_option.object_format
@session.connected
async def add(
    client: "Client",
    name: str,
    units: int,
    places: tuple[str, ...],
    storages: tuple[str, ...],
    namespace: str,
    waiting: settling.Waiting,
    output_format: output.Format,
) -> None:
    """Add units to an application, with numbers that were never used before."""
    added = await client.applications.add_units(
        name, units, storage=option.counts(storages), namespace=namespace, **await machine.place(client, places)
    )
    await waiting.settle(client, [name], namespace)
    if output_format is output.Format.TABLE:
        for each in added:
            output.line(each.name)
    else:
        output.objects(added, output_format)


@unit.command()
@click.argument("unit_names", nargs=-1, required=True, type=option.UnitName(), metavar="UNIT...")
@option.force
@option.grace
@option.keep_storage
@option.namespace
@settling.options
@session.connected
async def remove(
    client: "Client",
    unit_names: tuple[str, ...],
    force: bool,
    grace: float,
    keep_storage: bool,
    namespace: str,
    waiting: settling.Waiting,
) -> None:
    """Remove units, each after its teardown."""
    option.check_grace(grace, force=force)
    for each in unit_names:
        await client.applications.remove_unit(
            each, force=force, grace_seconds=int(grace), keep_storage=keep_storage, namespace=namespace
        )
        output.line(f"{each}: is being removed")
    await waiting.settle(client, [each.rpartition("/")[0] for each in unit_names], namespace)


@unit.command()
@click.argument("name", type=option.UnitName(), metavar="UNIT")
@option.namespace
@watching.options
@session.streaming
async def watch(client: "Client", name: str, namespace: str, wanted: watching.Wanted) -> None:
    """Show the events of a unit and of its application as they happen.

    It begins and ends as `tinkwell events watch` does.
    """
    found = (await client.applications.unit(name, namespace=namespace)).application_id
    await watching.follow(client.applications.watch, wanted, resource_id=found)


def _fields(found: "Unit", row: tuple[str, ...]) -> list[tuple[str, str]]:
    _, place, phase, event, name, message = row
    return [
        ("UNIT", found.name),
        ("NAMESPACE", found.namespace),
        ("LIFE", found.life.lower()),
        ("PHASE", phase),
        ("MACHINE", place),
        ("LEADER", "yes" if found.leads else ""),
        ("EVENT", event),
        ("STATUS", name),
        ("MESSAGE", message),
        ("VERSION", found.workload_version),
        ("CHARM", found.charm),
        ("STORAGE", ", ".join(found.storage)),
        ("PORTS", ", ".join(f"{each.number}/{each.protocol}" for each in found.ports)),
        ("AGENT", "alive" if found.has_agent else "none"),
        ("ID", found.id),
        ("CREATED", output.moment(found.created_at)),
    ]
