"""`trust`: has no effect, because there is no cloud whose credentials an application could get."""

import click

from tinkwell.juju.shell import command
from tinkwell.juju.shell.context import Context


@command.command("trust")
@click.argument("name", metavar="APPLICATION")
@click.option("--remove", is_flag=True, hidden=True)
@click.option("--scope", hidden=True)
async def trust(ctx: Context, name: str, remove: bool, scope: str | None) -> None:
    """Check that the application exists; trusting it, or not, has no effect."""
    await ctx.client.applications.get(name, namespace=ctx.namespace)
    ctx.note("trust has no effect: there are no credentials of a cloud that a charm might be trusted with")
