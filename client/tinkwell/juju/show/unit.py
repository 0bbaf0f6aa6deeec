"""`show-unit`: all data of units, with their relation data and that of the related units."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tinkwell.core.unit.kinds import Life, Phase
from tinkwell.juju.shell import command, failure, machine
from tinkwell.juju.shell.context import Context
from tinkwell.juju.status import unit as units

if TYPE_CHECKING:
    from tinkwell.client import Application, Bag, Relation, Unit


@command.command("show-unit", formats=command.YAML_FIRST)
@click.argument("names", nargs=-1, required=True, metavar="UNIT...")
@click.option("--app", "is_brief", is_flag=True, help="Only what applications have written into relations.")
@click.option("--endpoint", metavar="NAME", help="Only the relations of this endpoint.")
@click.option("--related-unit", metavar="UNIT", help="Only relations with this unit, and what it has written.")
async def show_unit(
    context: Context, names: tuple[str, ...], is_brief: bool, endpoint: str | None, related_unit: str | None
) -> None:
    """Show all data of units."""
    found = {}
    for name in names:
        unit = await context.client.applications.unit(name, namespace=context.namespace)
        relations = [
            each
            for each in await _relations(context, unit, has_units=not is_brief)
            if (endpoint is None or each["endpoint"] == endpoint) and _is_with(each, related_unit)
        ]
        found[name] = await _whole(context, unit, relations)
    context.show(found)


def _is_with(relation: dict[str, Any], unit: str | None) -> bool:
    """Keep only the wanted one of the related units. Returns whether it is there."""
    if unit is None:
        return True
    units = relation.get("related-units", {})
    relation["related-units"] = {name: value for name, value in units.items() if name == unit}
    return unit in units


async def _whole(context: Context, unit: "Unit", relations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    application = await context.client.applications.get(unit.application, namespace=context.namespace)
    machines = await machine.found(context, [unit.machine] if unit.machine else [])
    name = next(iter(machines), unit.machine)
    address = next((each for found in machines.values() for each in machine.addresses(found)), "")
    known = {
        "workload-version": unit.workload_version,
        "machine": name,
        "opened-ports": [units.port(each) for each in unit.ports],
        "public-address": address,
        "address": address,
        "charm": await _charm(context, application),
        "leader": unit.leads,
        "life": unit.life.lower(),
        "relation-info": [*relations],
    }
    kept = ("opened-ports", "leader")
    return {key: value for key, value in known.items() if value not in ("", []) or key in kept}


async def _charm(context: Context, application: "Application") -> str:
    """Return the charm of an application as `status` shows it: its name, and the number of earlier ones of the name."""
    newest_first = [each.digest async for each in context.client.applications.charms(application.charm_name)]
    revision = newest_first[::-1].index(application.charm) if application.charm in newest_first else 0
    return f"local:{application.charm_name}-{revision}"


async def _relations(context: Context, unit: "Unit", *, has_units: bool) -> list[dict[str, Any]]:
    source = context.client.applications
    members = [each async for each in source.units(namespace=context.namespace)] if has_units else []
    found = []
    async for each in source.relations(unit.application, namespace=context.namespace):
        # The data of a relation comes only with a request for this one relation.
        relation = await source.relation(each.number, namespace=context.namespace, with_bags=True)
        found.append(_relation(relation, unit, members))
    return found


def _relation(relation: "Relation", unit: "Unit", members: "Sequence[Unit]") -> dict[str, Any]:
    own = next((end for end in relation.ends if end.application == unit.application), None)
    if own is None:
        raise failure.Failure(f"relation {relation.number} has changed meanwhile; try again")
    other = next((end for end in relation.ends if end is not own), own)
    bags = {each.owner: each for each in relation.bags}
    found: dict[str, Any] = {
        "relation-id": relation.number,
        "endpoint": own.endpoint,
        "related-endpoint": other.endpoint,
        "application-data": _data(bags.get(other.application)),
    }
    if not members:
        return found
    found["local-unit"] = _member(unit, bags)
    related = {
        each.name: _member(each, bags)
        for each in members
        if each.application == other.application and each.name != unit.name and each.life is not Life.DEAD
    }
    return {**found, "related-units": related} if related else found


def _member(unit: "Unit", bags: "dict[str, Bag]") -> dict[str, Any]:
    """Return the relation data of a unit. A unit is in a relation as soon as its setup is over."""
    is_in = unit.life is Life.ALIVE and (unit.phase is Phase.OPERATION or unit.name in bags)
    return {"in-scope": is_in, "data": _data(bags.get(unit.name))}


def _data(bag: "Bag | None") -> dict[str, str]:
    return dict(sorted(bag.data.items())) if bag is not None else {}
