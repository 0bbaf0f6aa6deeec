"""`tinkwell app`: charms that run as units, related to each other."""

import contextlib
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli.event import watching
from tinkwell.cli.shell import command, output, session
from tinkwell.cli.shell import option as shell_option
from tinkwell.cli.unit import line, machine, option, settling, task
from tinkwell.cli.unit.source import charm_of, refused
from tinkwell.core.unit.kinds import Profile

if TYPE_CHECKING:
    from tinkwell.client import Application, Client, Relation

_HEADER = ("APPLICATION", "CHARM", "UNITS", "STATUS", "MESSAGE", "LEADER")
_RELATION_HEADER = ("RELATION", "INTERFACE", "ENDS", "LIFE")
_OPTION_HEADER = ("OPTION", "VALUE", "SOURCE", "TYPE", "DESCRIPTION")


@click.group(cls=command.Group)
def app() -> None:
    """Applications: charms that run as units, related to each other."""


app.add_command(task.actions)
app.add_command(settling.wait)


@app.command()
@option.application
@click.argument("charm", metavar="CHARM")
@click.option("-u", "--units", type=click.IntRange(min=0), default=1, show_default=True, help="Number of units.")
@click.option("--config", "assignments", multiple=True, metavar="NAME=VALUE", help="Set an option. Repeatable.")
@click.option("--config-file", type=click.Path(), metavar="FILE|-", help="Options as YAML.")
@option.resources
@option.machines
@option.storage
@click.option(
    "--profile", type=shell_option.Member(Profile), help="Set of events that units get. [default: the charm's]"
)
@option.namespace
@settling.options
@shell_option.object_format
@session.connected
async def deploy(
    client: "Client",
    name: str,
    charm: str,
    units: int,
    assignments: tuple[str, ...],
    config_file: str | None,
    resources: tuple[str, ...],
    places: tuple[str, ...],
    storages: tuple[str, ...],
    profile: Profile | None,
    namespace: str,
    waiting: settling.Waiting,
    output_format: output.Format,
) -> None:
    """Deploy a charm as an application: a folder, a package, or the digest of a charm on the server."""
    with refused(charm):
        made = await client.applications.deploy(
            name,
            charm_of(charm, resources),
            units=units,
            config=option.settings(assignments, config_file),
            storage=option.counts(storages),
            profile=profile,
            namespace=namespace,
            **await machine.place(client, places),
        )
    await waiting.settle(client, [name], namespace)
    _tell(made, output_format)
    if units and output_format is output.Format.TABLE:
        await _say_what_is_awaited(client, name, namespace)


@app.command("list")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only this namespace.")
@shell_option.object_format
@session.connected
async def list_(client: "Client", namespace: str, output_format: output.Format) -> None:
    """List applications by namespace and name."""
    found = [each async for each in client.applications.list(namespace)]
    if output_format is output.Format.TABLE:
        output.table(("NAMESPACE", *_HEADER), [(each.namespace, *_row(each)) for each in found])
    else:
        output.objects(found, output_format)


@app.command()
@click.argument("name", type=option.ApplicationName(), required=False, metavar="[APPLICATION]")
@option.namespace
@shell_option.object_format
@session.connected
async def status(client: "Client", name: str | None, namespace: str, output_format: output.Format) -> None:
    """Show an application, or all of a namespace, with the state of its units and its relations."""
    source = client.applications
    if name is not None:
        found = [await source.get(name, namespace=namespace)]
    else:
        found = [each async for each in source.list(namespace)]
    units = [each async for each in source.units(name or "", namespace=namespace)]
    relations = [each async for each in source.relations(name or "", namespace=namespace)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
        if units:
            output.line("")
            output.table(line.UNIT_HEADER, await line.unit_rows(client, units, found))
        _show_relations(relations)
        return
    parts: dict[str, Any] = {"applications": found, "units": units, "relations": relations}
    output.whole({key: [each.to_json() for each in part] for key, part in parts.items()}, output_format)


@app.command()
@option.application
@click.argument("assignments", nargs=-1, metavar="[NAME=VALUE...]")
@click.option("--file", "config_file", type=click.Path(), metavar="FILE|-", help="Options as YAML.")
@click.option("--reset", "resets", multiple=True, metavar="NAME", help="Reset an option to its default. Repeatable.")
@option.namespace
@settling.options
@shell_option.object_format
@session.connected
async def config(
    client: "Client",
    name: str,
    assignments: tuple[str, ...],
    config_file: str | None,
    resets: tuple[str, ...],
    namespace: str,
    waiting: settling.Waiting,
    output_format: output.Format,
) -> None:
    """Show the options of an application, or set options; if one is refused, none is set."""
    edits = option.settings(assignments, config_file) | dict.fromkeys(resets)
    if edits:
        found = await client.applications.set_config(name, edits, namespace=namespace)
        await waiting.settle(client, [name], namespace)
    else:
        found = await client.applications.get(name, namespace=namespace)
    if output_format is output.Format.TABLE:
        charm = await client.applications.charm(found.charm)
        given = found.config or {}
        rows = [(each.name, given.get(each.name, each.default), each.name in given, each) for each in charm.options]
        output.table(
            _OPTION_HEADER,
            [
                (key, _value(value), "set" if is_set else "default", each.type, each.description)
                for key, value, is_set, each in rows
            ],
        )
    else:
        output.whole(found.config or {}, output_format)


@app.command()
@click.argument("first", metavar="APPLICATION[:ENDPOINT]")
@click.argument("second", metavar="APPLICATION[:ENDPOINT]")
@option.namespace
@settling.options
@shell_option.object_format
@session.connected
async def relate(
    client: "Client",
    first: str,
    second: str,
    namespace: str,
    waiting: settling.Waiting,
    output_format: output.Format,
) -> None:
    """Relate two applications; endpoints may be left out if only one pair fits."""
    made = await client.applications.relate(first, second, namespace=namespace)
    await waiting.settle(client, _applications(first, second), namespace)
    _tell_relation(made, "related", output_format)


@app.command()
@click.argument("first", metavar="APPLICATION[:ENDPOINT]")
@click.argument("second", metavar="APPLICATION[:ENDPOINT]")
@option.namespace
@settling.options
@shell_option.object_format
@session.connected
async def unrelate(
    client: "Client",
    first: str,
    second: str,
    namespace: str,
    waiting: settling.Waiting,
    output_format: output.Format,
) -> None:
    """End the relation of two applications."""
    found = await client.applications.unrelate(first, second, namespace=namespace)
    await waiting.settle(client, _applications(first, second), namespace)
    _tell_relation(found, "is ending", output_format)


@app.command()
@option.application
@click.argument("units", type=click.IntRange(min=0), metavar="UNITS")
@option.machines
@option.namespace
@settling.options
@session.connected
async def scale(
    client: "Client", name: str, units: int, places: tuple[str, ...], namespace: str, waiting: settling.Waiting
) -> None:
    """Set the number of units: add units, or remove those with the highest numbers."""
    from tinkwell.core.unit.kinds import Life

    found = [each async for each in client.applications.units(name, namespace=namespace)]
    alive = [each for each in found if each.life is Life.ALIVE]
    if not found:
        await client.applications.get(name, namespace=namespace)  # it says whether there is one
    if units > len(alive):
        where = await machine.place(client, places)
        added = await client.applications.add_units(name, units - len(alive), namespace=namespace, **where)
        output.line(f"{name}: {', '.join(each.name for each in added)} added")
    for each in reversed(alive[units:]):
        await client.applications.remove_unit(each.name, namespace=namespace)
        output.line(f"{name}: {each.name} is being removed")
    await waiting.settle(client, [name], namespace)


@app.command()
@option.application
@option.force
@option.grace
@option.keep_storage
@option.namespace
@settling.options
@session.connected
async def remove(
    client: "Client",
    name: str,
    force: bool,
    grace: float,
    keep_storage: bool,
    namespace: str,
    waiting: settling.Waiting,
) -> None:
    """Remove an application: its units are torn down, and its relations end."""
    option.check_grace(grace, force=force)
    await client.applications.remove(
        name, force=force, grace_seconds=int(grace), keep_storage=keep_storage, namespace=namespace
    )
    await waiting.settle(client, [name], namespace)
    output.line(f"{name}: {'removed' if waiting.wait else 'is being removed'}")


@app.command()
@option.application
@click.argument("charm", metavar="CHARM")
@click.option("--config", "assignments", multiple=True, metavar="NAME=VALUE", help="Set an option. Repeatable.")
@click.option("--config-file", type=click.Path(), metavar="FILE|-", help="Options as YAML.")
@option.namespace
@settling.options
@shell_option.object_format
@session.connected
async def upgrade(
    client: "Client",
    name: str,
    charm: str,
    assignments: tuple[str, ...],
    config_file: str | None,
    namespace: str,
    waiting: settling.Waiting,
    output_format: output.Format,
) -> None:
    """Give an application another charm, as `deploy` does. Each unit runs it from its event upgrade-charm on."""
    settings = option.settings(assignments, config_file)
    with refused(charm):
        found = await client.applications.refresh(name, charm_of(charm), config=settings or None, namespace=namespace)
    await waiting.settle(client, [name], namespace)
    _tell(found, output_format)


@app.command()
@click.argument("name", type=option.ApplicationName(), required=False, metavar="[APPLICATION]")
@option.namespace
@watching.options
@session.streaming
async def watch(client: "Client", name: str | None, namespace: str, wanted: watching.Wanted) -> None:
    """Show the events of an application and its units, or of all applications, as they happen.

    It begins and ends as `tinkwell events watch` does.
    """
    found = None if name is None else (await client.applications.get(name, namespace=namespace)).id
    await watching.follow(client.applications.watch, wanted, resource_id=found)


async def _say_what_is_awaited(client: "Client", name: str, namespace: str) -> None:
    """Say what keeps the first unit of a new application from its events, if anything does."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    async for unit in client.applications.units(name, namespace=namespace):
        with contextlib.suppress(errors.NotFound):  # it is gone already
            found = await client.applications.explain(unit.name, namespace=namespace)
            if found.advice:
                output.line(f"{found.sentence}; {found.advice}")
        return


def _show_relations(relations: "list[Relation]") -> None:
    if relations:
        output.line("")
        output.table(
            _RELATION_HEADER,
            [(str(each.number), each.interface, line.ends(each), each.life.lower()) for each in relations],
        )


def _row(found: "Application") -> tuple[str, ...]:
    name, message = (found.status.name, found.status.message) if found.status is not None else ("", "")
    return found.name, found.charm_name, str(found.units), name, message, found.leader


def _tell(found: "Application", chosen: output.Format) -> None:
    if chosen is output.Format.TABLE:
        output.line(f"{found.name}  {found.charm_name}  {found.charm}")
    else:
        output.whole(found.to_json(), chosen)


def _tell_relation(found: "Relation", what: str, chosen: output.Format) -> None:
    if chosen is output.Format.TABLE:
        output.line(f"relation {found.number}: {line.ends(found)} {what}")
    else:
        output.whole(found.to_json(), chosen)


def _applications(first: str, second: str) -> list[str]:
    return [each.partition(":")[0] for each in (first, second)]


def _value(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)
