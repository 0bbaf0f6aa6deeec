"""`add-unit`, `remove-unit`, `remove-application` and `resolved`."""

import click

from tinkwell.core.unit.kinds import EventState, Life
from tinkwell.juju.application import option
from tinkwell.juju.shell import command, failure, removal
from tinkwell.juju.shell.context import Context


@command.command("add-unit")
@click.argument("name", metavar="APPLICATION")
@option.num_units
@option.to
@click.option("--attach-storage", multiple=True, hidden=True)
async def add_unit(
    ctx: Context, name: str, units: int, places: tuple[str, ...], attach_storage: tuple[str, ...]
) -> None:
    """Add units to an application; without --to they are on no machine."""
    if attach_storage:
        raise failure.Failure(
            "--attach-storage is not supported: attach the storage to the existing unit with juju attach-storage"
        )
    where = await option.place(ctx, places)
    await ctx.client.applications.add_units(name, units, namespace=ctx.namespace, **where)


@command.command("remove-unit")
@click.argument("names", nargs=-1, required=True, metavar="UNIT...|APPLICATION")
@click.option("-n", "--num-units", "units", type=click.IntRange(min=0), default=0, help="How many of an application.")
@option.destroy_storage
@option.force
@option.no_wait
@option.no_prompt
async def remove_unit(
    ctx: Context,
    names: tuple[str, ...],
    units: int,
    destroy_storage: bool,
    force: bool,
    no_wait: bool,
    no_prompt: bool,
) -> None:
    """Remove units, or with --num-units this many of an application: those with the highest numbers.

    The storage of a unit is removed with it; `juju detach-storage` before that keeps it.
    """
    seconds = removal.grace_seconds(force=force, no_wait=no_wait)
    wanted = await _highest(ctx, names, units) if units else list(names)
    for each in wanted:
        if "/" not in each:
            raise failure.Usage(f'invalid unit name "{each}"; with the name of an application give --num-units')
        ctx.note(f"will remove unit {each}")
    removal.confirm(f"{', '.join(wanted)}:", is_sure=no_prompt)
    for each in wanted:
        await ctx.client.applications.remove_unit(each, force=force, grace_seconds=seconds, namespace=ctx.namespace)


@command.command("remove-application")
@click.argument("names", nargs=-1, required=True, metavar="APPLICATION...")
@option.destroy_storage
@option.force
@option.no_wait
@option.no_prompt
async def remove_application(
    ctx: Context, names: tuple[str, ...], destroy_storage: bool, force: bool, no_wait: bool, no_prompt: bool
) -> None:
    """Remove applications: their units are torn down, and their relations end."""
    seconds = removal.grace_seconds(force=force, no_wait=no_wait)
    for each in names:
        await ctx.client.applications.get(each, namespace=ctx.namespace)
        ctx.note(f"will remove application {each}")
        async for unit in ctx.client.applications.units(each, namespace=ctx.namespace):
            ctx.note(f"- will remove unit {unit.name}")
    removal.confirm(f"{', '.join(names)}:", is_sure=no_prompt)
    for each in names:
        await ctx.client.applications.remove(each, force=force, grace_seconds=seconds, namespace=ctx.namespace)


@command.command("resolved")
@click.argument("names", nargs=-1, metavar="[UNIT...]")
@click.option("--no-retry", is_flag=True, help="Leave the event out, rather than have it tried again.")
@click.option("--all", "is_all", is_flag=True, help="All units that are in error.")
async def resolved(ctx: Context, names: tuple[str, ...], no_retry: bool, is_all: bool) -> None:
    """Retry the failed events of units now, or skip them."""
    if bool(names) is is_all:
        raise failure.Usage("specify either units, or --all" if is_all else "no unit specified")
    wanted = list(names)
    if is_all:
        units = [each async for each in ctx.client.applications.units(namespace=ctx.namespace)]
        wanted = [each.name for each in units if each.event is not None and each.event.state is EventState.ERROR]
    for each in wanted:
        await ctx.client.applications.resolve(each, skip=no_retry, namespace=ctx.namespace)


async def _highest(ctx: Context, names: tuple[str, ...], units: int) -> list[str]:
    if len(names) > 1 or "/" in names[0]:
        raise failure.Usage("--num-units goes with the name of one application")
    await ctx.client.applications.get(names[0], namespace=ctx.namespace)
    found = [each async for each in ctx.client.applications.units(names[0], namespace=ctx.namespace)]
    alive = [each.name for each in found if each.life is Life.ALIVE]
    return alive[max(len(alive) - units, 0) :]
