"""`models`, `show-model`, `whoami`, `controllers` and `show-controller`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from tinkwell.juju.shell import command, controller, model_name, moment, output
from tinkwell.juju.shell.context import Context, Desk

if TYPE_CHECKING:
    from tinkwell.client import Namespace


@command.command("models", formats=command.TABULAR_FIRST, has_model=False)
@click.option("-c", "--controller", "place", default=controller.NAME, metavar="NAME", help="Controller to ask.")
@click.option("--all", "is_all", is_flag=True, hidden=True)
@click.option("--user", hidden=True)
async def models(ctx: Context, place: str, is_all: bool, user: str | None) -> None:
    """List all models, which are the server's namespaces."""
    model_name.check_controller(place)
    found = [each async for each in ctx.client.namespaces.list()]
    current = ctx.namespace

    def rows() -> Iterable[str]:
        yield f"Controller: {controller.NAME}"
        yield ""
        marked = ((f"{each.name}*" if each.name == current else each.name, "available") for each in found)
        yield from output.table(("Model", "Status"), marked)

    ctx.show({"models": [describe(each) for each in found], "current-model": current}, rows)


@command.command("show-model", formats=command.YAML_FIRST, checks_model=False)
@click.argument("reference", required=False, metavar="[MODEL]")
async def show_model(ctx: Context, reference: str | None) -> None:
    """Show a model, or the current one."""
    namespace = model_name.parse(reference) if reference else ctx.namespace
    ctx.show({namespace: describe(await ctx.client.namespaces.get(namespace))})


@command.offline("whoami", formats=command.TABULAR_FIRST)
def whoami(desk: Desk) -> None:
    """Print the current controller, model and user."""
    found = {"controller": controller.NAME, "model": model_name.current(), "user": controller.USER}
    desk.show(found, lambda: (f"{key.capitalize() + ':':<12}{value}" for key, value in found.items()))


@command.command("controllers", formats=command.TABULAR_FIRST, has_model=False)
@click.option("--managed", is_flag=True, hidden=True)
@click.option("--refresh", is_flag=True, hidden=True)
async def controllers(ctx: Context, managed: bool, refresh: bool) -> None:
    """List the only controller, which is the server."""
    found = {**_details(ctx), "current-model": ctx.model, "user": controller.USER, "access": "superuser"}
    header = ("Controller", "Model", "User", "Cloud/Region", "Version")
    row = (f"{controller.NAME}*", ctx.namespace, controller.USER, controller.CLOUD, controller.VERSION)
    value = {"controllers": {controller.NAME: found}, "current-controller": controller.NAME}
    ctx.show(value, lambda: output.table(header, [row]))


@command.command("show-controller", formats=command.YAML_FIRST, has_model=False)
@click.argument("names", nargs=-1, metavar="[NAME...]")
async def show_controller(ctx: Context, names: tuple[str, ...]) -> None:
    """Show the controller with its models."""
    for each in names:
        model_name.check_controller(each)
    namespaces = [each async for each in ctx.client.namespaces.list()]
    found = {
        "details": _details(ctx),
        "models": {each.name: {"model-uuid": each.id} for each in namespaces},
        "current-model": ctx.model,
        "account": {"user": controller.USER, "access": "superuser"},
    }
    ctx.show({controller.NAME: found})


def describe(found: "Namespace") -> dict[str, Any]:
    """Describe a model as `show-model` does."""
    return {
        "name": model_name.qualified(found.name),
        "short-name": found.name,
        "model-uuid": found.id,
        "model-type": "iaas",
        "controller-uuid": controller.UUID,
        "controller-name": controller.NAME,
        "is-controller": False,
        "owner": controller.USER,
        "cloud": controller.CLOUD,
        "type": controller.CLOUD,
        "life": "alive",
        "status": {"current": "available", "since": moment.juju(found.created_at)},
        "users": {controller.USER: {"access": "admin", "last-connection": "just now"}},
        "agent-version": controller.VERSION,
    }


def _details(ctx: Context) -> dict[str, Any]:
    return {
        "uuid": controller.UUID,
        "controller-uuid": controller.UUID,
        "api-endpoints": [ctx.client.address],
        "cloud": controller.CLOUD,
        "agent-version": controller.VERSION,
    }
