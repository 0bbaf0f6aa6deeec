"""`show-application`: all data of applications."""

from typing import TYPE_CHECKING, Any

import click

from tinkwell.juju.shell import command
from tinkwell.juju.shell.context import Context

if TYPE_CHECKING:
    from tinkwell.client import Application, Charm

_SPACE = "alpha"


@command.command("show-application", formats=command.YAML_FIRST)
@click.argument("names", nargs=-1, required=True, metavar="APPLICATION...")
async def show_application(context: Context, names: tuple[str, ...]) -> None:
    """Show all data of applications."""
    found = {}
    for name in names:
        application = await context.client.applications.get(name, namespace=context.namespace)
        charm = await context.client.applications.charm(application.charm)
        found[name] = _whole(application, charm)
    context.show(found)


def _whole(application: "Application", charm: "Charm") -> dict[str, Any]:
    return {
        "charm": application.charm_name,
        # For a charm from a store, Juju shows the revision here.
        "charm-digest": application.charm,
        "principal": True,
        "exposed": False,
        "remote": False,
        "life": application.life.lower(),
        "endpoint-bindings": dict.fromkeys(("", *(each.name for each in charm.endpoints)), _SPACE),
    }
