"""`integrate` and `remove-relation`."""

import click

from tinkwell.juju.shell import command, failure
from tinkwell.juju.shell.context import Context


@command.command("integrate")
@click.argument("first", metavar="APPLICATION[:ENDPOINT]")
@click.argument("second", metavar="APPLICATION[:ENDPOINT]")
@click.option("--via", hidden=True)
async def integrate(ctx: Context, first: str, second: str, via: str | None) -> None:
    """Relate two applications; endpoints may be left out if only one pair fits."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    if via is not None:
        raise failure.Failure("--via is not supported: Tinkwell has no relations between models")
    source = ctx.client.applications
    there = {each.id async for each in source.relations(first.partition(":")[0], namespace=ctx.namespace)}
    try:
        made = await source.relate(first, second, namespace=ctx.namespace)
    except errors.EndpointMismatch as error:
        raise failure.Failure(f"no relations found: {error.message}") from error
    if made.id in there:
        ends = " ".join(str(end) for end in reversed(made.ends))
        raise failure.Failure(f'cannot add relation "{ends}": relation {ends} already exists')


@command.command("remove-relation")
@click.argument("ends", nargs=-1, required=True, metavar="APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT]|NUMBER")
@click.option("--force", is_flag=True, hidden=True)
async def remove_relation(ctx: Context, ends: tuple[str, ...], force: bool) -> None:
    """Remove the relation of two applications, or the one with a number."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    source = ctx.client.applications
    if force:
        ctx.note("--force has no effect: a relation ends when its units were told; juju resolved helps those in error")
    match ends:
        case [number] if number.isdecimal():
            await source.unrelate(number=int(number), namespace=ctx.namespace)
        case [first, second]:
            try:
                await source.unrelate(first, second, namespace=ctx.namespace)
            except errors.EndpointMismatch as error:
                raise failure.Failure(f'relation "{first} {second}" not found: {error.message}') from error
        case _:
            raise failure.Usage("a relation must involve two applications")
