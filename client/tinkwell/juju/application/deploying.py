"""`deploy` and `refresh`: deploy charms of this machine as applications of a model, and replace them."""

import click

from tinkwell.core.unit.kinds import Profile
from tinkwell.juju.application import ignored, option
from tinkwell.juju.shell import command, failure, setting
from tinkwell.juju.shell.context import Context


@command.command("deploy")
@click.argument("charm")
@click.argument("name", required=False, metavar="[APPLICATION]")
@option.num_units
@option.config
@option.resources
@option.storage
@option.to
@ignored.options
async def deploy(
    ctx: Context,
    charm: str,
    name: str | None,
    units: int,
    settings: tuple[str, ...],
    resources: tuple[str, ...],
    storages: tuple[str, ...],
    places: tuple[str, ...],
) -> None:
    """Deploy a local charm as an application: a folder, or a package such as ./web.charm.

    Its events come in Juju's order for any charm. Without --to its units are on no machine, and any agent serves them.
    """
    local = option.charm(charm, resources)
    application = name or local.name or (await ctx.client.applications.charm(charm)).name
    await _refuse_taken(ctx, application)
    await ctx.client.applications.deploy(
        application,
        local.given,
        units=units,
        config=setting.mixed(settings, application, "--config"),
        storage=option.counts(storages),
        profile=Profile.JUJU,
        namespace=ctx.namespace,
        **await option.place(ctx, places),
    )
    ctx.note(f'Deploying "{application}" from local charm "{local.name or charm}"')


@command.command("refresh")
@click.argument("name", metavar="APPLICATION")
@click.option("--path", help="Folder or package of the new charm.")
@option.config
@option.resources
@option.storage
@ignored.options
async def refresh(
    ctx: Context,
    name: str,
    path: str | None,
    settings: tuple[str, ...],
    resources: tuple[str, ...],
    storages: tuple[str, ...],
) -> None:
    """Give an application another local charm; a unit in error uses it from its next attempt on."""
    if path is None:
        raise failure.Failure(
            f'application "{name}": Tinkwell does not ask Charmhub for newer charms; give the path of one with --path'
        )
    if storages:
        raise failure.Failure("--storage is not supported: existing units get storage with juju attach-storage")
    local = option.charm(path, resources)
    found = await ctx.client.applications.get(name, namespace=ctx.namespace)
    edits = setting.mixed(settings, name, "--config")
    changed = await ctx.client.applications.refresh(name, local.given, config=edits or None, namespace=ctx.namespace)
    if changed.charm == found.charm:
        ctx.note(f'charm "{local.name or path}": already up-to-date')
    else:
        ctx.note(f'Added local charm "{local.name or path}" to the model')


async def _refuse_taken(ctx: Context, application: str) -> None:
    """Raise `Failure` in Juju's words if a name is taken.

    If it is taken after this check, the server refuses it in its own words.
    """
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        await ctx.client.applications.get(application, namespace=ctx.namespace)
    except (errors.NotFound, errors.InvalidField):
        return
    raise failure.Failure(f'cannot add application "{application}": application already exists')
