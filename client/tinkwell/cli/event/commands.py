"""`tinkwell events`: watch the log of events, and publish to it."""

from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli.event import watching
from tinkwell.cli.shell import command, option, output, session
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.value import document

if TYPE_CHECKING:
    from tinkwell.client import Client


@click.group(cls=command.Group)
def events() -> None:
    """Watch the log of all changes, and record events of your own."""


@events.command()
@click.option(
    "--resource-type",
    "resource_types",
    type=option.Member(ResourceType),
    multiple=True,
    help="Only events about resources of this type. Repeatable.",
)
@click.option(
    "--resource-id", metavar="ID", help="Only events about this resource or its parts; needs --resource-type."
)
@watching.options
@session.streaming
async def watch(
    client: "Client", resource_types: tuple[ResourceType, ...], resource_id: str | None, wanted: watching.Wanted
) -> None:
    """Show events as they happen, beginning with those of the last 5 minutes.

    An event is shown if it meets all conditions. The watch reconnects after a lost connection. It ends with exit code 0
    after --count events, after an --until event, on Ctrl-C, on SIGTERM, and when the reader of its output is gone.
    """
    if resource_id and not resource_types:
        raise click.UsageError("--resource-id needs a --resource-type")
    await watching.follow(client.events.watch, wanted, resource_id=resource_id, resource_types=resource_types)


@events.command()
@click.argument("name")
@click.option("--resource-id", metavar="ID", default="", help="The id of the resource that the event is about (UUID).")
@click.option("--data", type=option.JsonObject(), help="The data of the event, as a JSON object.")
@option.object_format
@session.connected
async def publish(
    client: "Client", name: str, resource_id: str, data: document.JsonObject | None, output_format: output.Format
) -> None:
    """Record an event of your own, with a dotted NAME such as rack.door_opened."""
    text = None if data is None else document.dump_json(data)
    published = await client.events.publish(name, resource_id=resource_id, data=text)
    if output_format is output.Format.TABLE:
        output.line(f"{published.id}  revision {published.revision}")
    else:
        output.whole(published.to_json(), output_format)
