"""`status`: shows a model."""

import click

from tinkwell.juju.shell import command
from tinkwell.juju.shell.context import Context
from tinkwell.juju.status import model, snapshot, tabular


@command.command("status", formats=command.TABULAR_FIRST, checks_model=False)
@click.argument("patterns", nargs=-1, metavar="[APPLICATION|UNIT...]")
@click.option("--relations", "--integrations", "with_relations", is_flag=True, help="Show relations, too.")
@click.option("--storage", is_flag=True, hidden=True)
@click.option("--utc", is_flag=True, hidden=True)
@click.option("--color/--no-color", "colour", default=False, hidden=True)
async def status(
    ctx: Context, patterns: tuple[str, ...], with_relations: bool, storage: bool, utc: bool, colour: bool
) -> None:
    """Show a model: its applications with their units, machines, relations and storage."""
    taken = await snapshot.take(ctx, patterns)
    found = model.describe(ctx.namespace, taken)
    ctx.show(found, lambda: tabular.lines(found, taken, with_relations=with_relations))
    if not taken.applications:
        ctx.note(f'Model "{ctx.model}" is empty.' if not patterns else "Nothing matched specified filters.")
