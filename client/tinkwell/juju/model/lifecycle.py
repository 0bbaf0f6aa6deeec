"""`add-model`, `destroy-model` and `switch`."""

import asyncio
import contextlib

import click

from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.kinds import EventState
from tinkwell.juju.model import config
from tinkwell.juju.shell import command, controller, duration, failure, model_name, removal, setting
from tinkwell.juju.shell.context import Context

# How often the model is read again if no event tells of a change.
_LONGEST_SECONDS = 2.0
# How long the applications of a model may take to end, by themselves or by force.
_PATIENCE_SECONDS = 1800.0
_TYPES = (ResourceType.APPLICATION, ResourceType.UNIT)


@command.command("add-model", has_model=False)
@click.argument("name")
@click.argument("cloud", required=False)
@click.option("-c", "--controller", "place", default=controller.NAME, metavar="NAME", help="Controller to add it to.")
@click.option("--config", "settings", multiple=True, metavar="NAME=VALUE|FILE", help="Settings of the model.")
@click.option("--no-switch", is_flag=True, help="Let the current model be the same as before.")
@click.option("--credential", hidden=True)
@click.option("--owner", hidden=True)
async def add_model(
    ctx: Context,
    name: str,
    cloud: str | None,
    place: str,
    settings: tuple[str, ...],
    no_switch: bool,
    credential: str | None,
    owner: str | None,
) -> None:
    """Add a model, which is a namespace; the name of a cloud and a credential are ignored.

    A destroyed model may be added again, because it is empty.
    """
    model_name.check_controller(place)
    namespace = model_name.parse(name)
    if await _is_there(ctx, namespace) and not await _is_empty(ctx, namespace):
        raise failure.Failure(f'failed to create new model: model "{namespace}" for {controller.USER} already exists')
    edits: dict[str, str] = {}
    for each in settings:
        found = setting.pairs([each], "--config") if "=" in each else setting.mapping(each)
        edits |= {key: str(value) for key, value in found.items()}
    # A namespace that existed before loses its former settings.
    await config.change(ctx, namespace, config.DEFAULTS | config.check(ctx, edits))
    ctx.note(f"Added '{namespace}' model on {controller.CLOUD} for user '{controller.USER}'")
    if not no_switch:
        model_name.keep(namespace)


@command.command("destroy-model", has_model=False)
@click.argument("reference", metavar="MODEL")
@click.option("--no-prompt", "-y", is_flag=True, help="Do not ask.")
@click.option("--destroy-storage", is_flag=True, help="Destroy what is stored, as is done anyway.")
@click.option("--release-storage", is_flag=True, help="Leave what is stored on the machines.")
@click.option("--force", is_flag=True, help="End what does not end by itself.")
@click.option("--no-wait", is_flag=True, help="With --force: end it at once.")
@click.option("--timeout", "-t", type=duration.Duration(), help="How long it may take before it is ended by force.")
async def destroy_model(
    ctx: Context,
    reference: str,
    no_prompt: bool,
    destroy_storage: bool,
    release_storage: bool,
    force: bool,
    no_wait: bool,
    timeout: float | None,
) -> None:
    """Destroy everything in a model, and wait until it is gone.

    The namespace itself stays, empty, because the log has events about it.
    """
    namespace = model_name.parse(reference)
    if not await _is_there(ctx, namespace):
        raise failure.Failure(f"model {controller.NAME}:{model_name.qualified(namespace)} not found")
    if destroy_storage and release_storage:
        raise failure.Usage("--destroy-storage and --release-storage cannot both be specified")
    grace = removal.grace_seconds(force=force, no_wait=no_wait)
    if timeout is not None:
        grace, force = int(timeout), True
    removal.confirm(f"All that is in {namespace} is destroyed.", is_sure=no_prompt)
    ctx.note("Destroying model")
    await _destroy(ctx, namespace, grace_seconds=grace if force else None, keeps_storage=release_storage)
    model_name.forget(namespace)
    ctx.note("Model destroyed.")


@command.command("switch", has_model=False)
@click.argument("reference", required=False, metavar="[MODEL]")
async def switch(ctx: Context, reference: str | None) -> None:
    """Print the current model, or change it."""
    if not reference:
        ctx.line(f"{controller.NAME}:{ctx.model}")
        return
    namespace = ctx.namespace if reference == controller.NAME else model_name.parse(reference)
    if namespace != model_name.DEFAULT:
        await ctx.client.namespaces.get(namespace)
    model_name.keep(namespace)
    before, after = (f"{controller.NAME}:{model_name.qualified(each)}" for each in (ctx.namespace, namespace))
    ctx.note(f"{before} -> {after}")


async def _destroy(ctx: Context, namespace: str, *, grace_seconds: int | None, keeps_storage: bool) -> None:
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    async for each in ctx.client.applications.list(namespace):
        with contextlib.suppress(errors.NotFound):  # it is gone already
            await ctx.client.applications.remove(
                each.name,
                force=grace_seconds is not None,
                grace_seconds=grace_seconds or 0,
                keep_storage=keeps_storage,
                namespace=namespace,
            )
    await _vanished(ctx, namespace, within_seconds=_PATIENCE_SECONDS + (grace_seconds or 0))
    async for secret in ctx.client.secrets.list(namespace=namespace):
        with contextlib.suppress(errors.NotFound):
            await ctx.client.secrets.remove(secret.name, namespace=namespace)
    if not keeps_storage:
        async for storage in ctx.client.applications.storages(namespace=namespace):
            with contextlib.suppress(errors.NotFound):
                await ctx.client.applications.remove_storage(storage.name, namespace=namespace)


async def _vanished(ctx: Context, namespace: str, *, within_seconds: float) -> None:
    """Wait until a namespace has no applications, and tell the user what it waits for. Raises `Failure`."""
    said = ""
    try:
        async with (
            asyncio.timeout(within_seconds),
            ctx.client.applications.watch(resource_types=_TYPES, now=True) as events,
        ):
            await events.wait_live()
            while told := await _waiting(ctx, namespace):
                if told != said:
                    ctx.note(told)
                    said = told
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LONGEST_SECONDS):
                        await anext(events)
    except TimeoutError as error:
        raise failure.Failure(
            f"timed out waiting for the end of model {namespace}; its applications go on ending: "
            "juju resolved helps units in error, and juju destroy-model --force does not wait for them"
        ) from error


async def _waiting(ctx: Context, namespace: str) -> str:
    """Describe what the command waits for; empty for nothing. It names units in error: they may block it for ever."""
    found = [each async for each in ctx.client.applications.list(namespace)]
    if not found:
        return ""
    units = [each async for each in ctx.client.applications.units(namespace=namespace)]
    failed = [each.name for each in units if each.event is not None and each.event.state is EventState.ERROR]
    errors = f"{len(failed)} error(s): {', '.join(failed)}; " if failed else ""
    counted = f"{len(found)} application(s), {sum(each.units for each in found)} unit(s)"
    return f"Waiting for model to be removed, {errors}{counted}..."


async def _is_there(ctx: Context, namespace: str) -> bool:
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        await ctx.client.namespaces.get(namespace)
    except errors.NotFound:
        return False
    return True


async def _is_empty(ctx: Context, namespace: str) -> bool:
    async for _ in ctx.client.applications.list(namespace):
        return False
    async for _ in ctx.client.secrets.list(namespace=namespace):
        return False
    return True
