"""`add-secret`, `update-secret`, `grant-secret`, `revoke-secret` and `remove-secret`."""

import click

from tinkwell.juju.secret import content, shape
from tinkwell.juju.shell import command, failure
from tinkwell.juju.shell.context import Context

_secret = click.argument("identifier", metavar="SECRET")
_pairs = click.argument("pairs", nargs=-1, metavar="[KEY[#base64|#file]=VALUE...]")
_file = click.option("--file", metavar="FILE", help="Keys and values as YAML; - for standard input.")
_info = click.option("--info", metavar="TEXT", help="What it is for; anyone may read that.")
_applications = click.argument("applications", metavar="APPLICATION,...")


@command.command("add-secret")
@click.argument("name", metavar="NAME")
@_pairs
@_file
@_info
async def add_secret(context: Context, name: str, pairs: tuple[str, ...], file: str | None, info: str | None) -> None:
    """Create a secret, and print its URI; units may read it after it is granted to their application."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    given = content.read(pairs, file)
    if not given:
        raise failure.Usage("missing secret value or filename")
    try:
        made = await context.client.secrets.create(
            given, label=name, description=info or "", namespace=context.namespace
        )
    except errors.AlreadyExists as error:
        raise failure.Failure(f'secret with name "{name}" already exists') from error
    context.line(shape.uri(made))


@command.command("update-secret")
@_secret
@_pairs
@_file
@_info
@click.option("--name", metavar="NAME", help="Another name.")
@click.option("--auto-prune", "prunes", is_flag=True, hidden=True)
async def update_secret(
    context: Context,
    identifier: str,
    pairs: tuple[str, ...],
    file: str | None,
    info: str | None,
    name: str | None,
    prunes: bool,
) -> None:
    """Give a secret a new revision, another name or another description."""
    if prunes:
        raise failure.Usage("--auto-prune: revisions are kept until remove-secret --revision removes them")
    given = content.read(pairs, file) or None
    if given is None and info is None and name is None:
        raise failure.Usage("must specify something to change: a value, --info or --name")
    await context.client.secrets.update(
        shape.name(identifier), given, label=name, description=info, namespace=context.namespace
    )


@command.command("grant-secret")
@_secret
@_applications
async def grant_secret(context: Context, identifier: str, applications: str) -> None:
    """Let the units of applications read a user's secret."""
    for each in _names(applications):
        await context.client.secrets.grant(shape.name(identifier), each, namespace=context.namespace)


@command.command("revoke-secret")
@_secret
@_applications
async def revoke_secret(context: Context, identifier: str, applications: str) -> None:
    """Take from the units of applications the right to read a user's secret."""
    for each in _names(applications):
        await context.client.secrets.revoke(shape.name(identifier), each, namespace=context.namespace)


@command.command("remove-secret")
@_secret
@click.option("--revision", type=click.IntRange(min=1), metavar="N", help="Only this one. [default: all]")
async def remove_secret(context: Context, identifier: str, revision: int | None) -> None:
    """Remove a user's secret, or one of its revisions."""
    await context.client.secrets.remove(shape.name(identifier), revision=revision or 0, namespace=context.namespace)


def _names(text: str) -> list[str]:
    return [each for each in text.split(",") if each]
