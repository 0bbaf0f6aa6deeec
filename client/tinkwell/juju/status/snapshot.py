"""Reads all data of a model that `status` shows, at about one moment."""

import asyncio
import fnmatch
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tinkwell.core.unit.kinds import Life
from tinkwell.juju.shell import machine, model_name
from tinkwell.juju.shell.context import Context

if TYPE_CHECKING:
    from tinkwell.client import Application, Charm, Hardware, Namespace, Relation, Storage, Unit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A model; `charms` are those of all applications by digest, `revisions` how many of a name came before each.

    `model` is None where the default one was never used. `machines` are by name, and only those with units.
    """

    model: "Namespace | None"
    applications: "list[Application]"
    units: "list[Unit]"
    relations: "list[Relation]"
    storages: "list[Storage]"
    charms: "Mapping[str, Charm]"
    revisions: Mapping[str, int]
    machines: "Mapping[str, Hardware]"

    def machine_of(self, machine_id: str) -> str:
        """Return the name of a machine by its id."""
        return next((name for name, each in self.machines.items() if each.id == machine_id), machine_id)


async def take(ctx: Context, patterns: Iterable[str]) -> Snapshot:
    """Read a model, or only its applications and units that match a pattern. Raises `NotFound`."""
    source, namespace = ctx.client.applications, ctx.namespace
    model, applications, units, relations, storages = await asyncio.gather(
        _model(ctx),
        _all(source.list(namespace)),
        _all(source.units(namespace=namespace, with_settled=True)),
        _all(source.relations(namespace=namespace)),
        _all(source.storages(namespace=namespace)),
    )
    wanted = {each.partition("/")[0] for each in patterns}
    if wanted:
        applications = [each for each in applications if any(fnmatch.fnmatch(each.name, name) for name in wanted)]
    names = {each.name for each in applications}
    # A unit that was removed by force stays stored as long as other units may read its bags.
    units = [each for each in units if each.application in names and each.life is not Life.DEAD]
    charms, revisions = await _charms(ctx, applications)
    machines = await machine.found(ctx, (each.machine for each in units if each.machine))
    return Snapshot(model, applications, units, relations, storages, charms, revisions, machines)


async def _model(ctx: Context) -> "Namespace | None":
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        return await ctx.client.namespaces.get(ctx.namespace)
    except errors.NotFound:
        if ctx.namespace != model_name.DEFAULT:
            raise
        return None


async def _charms(ctx: Context, applications: "list[Application]") -> "tuple[dict[str, Charm], dict[str, int]]":
    charms: dict[str, Charm] = {}
    revisions: dict[str, int] = {}
    for name in {each.charm_name for each in applications}:
        newest_first = await _all(ctx.client.applications.charms(name))
        charms |= {each.digest: each for each in newest_first}
        revisions |= {each.digest: number for number, each in enumerate(reversed(newest_first))}
    return charms, revisions


async def _all(found: AsyncIterator[T]) -> list[T]:
    return [each async for each in found]
