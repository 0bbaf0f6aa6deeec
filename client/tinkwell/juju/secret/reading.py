"""`secrets` and `show-secret`."""

from typing import TYPE_CHECKING, Any

import click

from tinkwell.juju.secret import shape
from tinkwell.juju.shell import command, failure, output
from tinkwell.juju.shell.context import Context
from tinkwell.juju.shell.output import Format

if TYPE_CHECKING:
    from tinkwell.client import Secret

_HEADER = ("ID", "Name", "Owner", "Rotation", "Revision", "Last updated")


@command.command("secrets", formats=command.TABULAR_FIRST)
@click.option("--owner", metavar="OWNER", help="Only what this one owns: web, web/0, or <model>.")
async def secrets(context: Context, owner: str | None) -> None:
    """List the secrets of a model, without content."""
    found = [
        each
        async for each in context.client.secrets.list(namespace=context.namespace)
        if owner is None or shape.is_owned(each, owner)
    ]
    context.show({each.name: shape.whole(each) for each in found}, lambda: output.table(_HEADER, map(_row, found)))


@command.command("show-secret", formats=command.YAML_FIRST)
@click.argument("identifier", metavar="SECRET")
@click.option("--reveal", is_flag=True, help="Show what it holds, too. Only administrators may.")
@click.option("--revision", "-r", type=click.IntRange(min=1), metavar="N", help="Which one. [default: newest]")
@click.option("--revisions", is_flag=True, help="Show all revisions, without what they hold.")
async def show_secret(context: Context, identifier: str, reveal: bool, revision: int | None, revisions: bool) -> None:
    """Show a secret."""
    if revisions and (reveal or revision is not None):
        raise failure.Usage(f"specify either --revisions or {'--reveal' if reveal else '--revision'}, not both")
    name = shape.name(identifier)
    found = await context.client.secrets.get(name, namespace=context.namespace)
    known = shape.whole(found, has_grants=True, has_revisions=revisions)
    if revision is not None:
        if all(each.revision != revision for each in found.revisions):
            raise failure.Failure(f'secret revision "{found.name}/{revision}" not found')
        known["revision"] = revision
    if reveal:
        known["content"] = await _content(context, found, revision)
    context.show({found.name: known})


async def _content(context: Context, secret: "Secret", revision: int | None) -> dict[str, Any]:
    revealed = await context.client.secrets.reveal(secret.name, revision=revision or 0, namespace=context.namespace)
    # As Juju writes it: the JSON has a field around the content, the YAML has none.
    return {"Data": revealed.content} if context.format is Format.JSON else dict(revealed.content)


def _row(secret: "Secret") -> tuple[str, ...]:
    known = shape.whole(secret)
    return (
        secret.name,
        secret.label or "-",
        known["owner"],
        secret.rotation.lower(),
        str(secret.latest),
        known.get("updated", ""),
    )
