"""`tinkwell namespace`: namespaces, in which names of applications are unique, and their settings."""

from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli.event import watching
from tinkwell.cli.shell import command, duration, output, session
from tinkwell.cli.shell import option as shell_option

if TYPE_CHECKING:
    from tinkwell.client import Client, Namespace

_HEADER = ("NAME", "UPDATE STATUS", "EVENT TIMEOUT", "RETRY", "CREATED")

_name = click.argument("name", default="default", metavar="[NAME]")


@click.group(cls=command.Group)
def namespace() -> None:
    """Namespaces, which hold applications, and their settings."""


@namespace.command("list")
@shell_option.object_format
@session.connected
async def list_(client: "Client", output_format: output.Format) -> None:
    """List namespaces by name; the first application of a namespace creates it."""
    found = [each async for each in client.namespaces.list()]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
    else:
        output.objects(found, output_format)


@namespace.command()
@_name
@shell_option.object_format
@session.connected
async def get(client: "Client", name: str, output_format: output.Format) -> None:
    """Show a namespace."""
    _show(await client.namespaces.get(name), output_format)


@namespace.command("set")
@_name
@click.option("--update-status", type=duration.Duration(), help="Interval of the event update-status: from 10s to 1h.")
@click.option("--event-timeout", type=duration.Duration(), help="Longest time for an attempt at an event: up to 1d.")
@click.option(
    "--retry/--no-retry", "retrying", default=None, help="Whether the server retries failed events by itself."
)
@shell_option.object_format
@session.connected
async def set_(
    client: "Client",
    name: str,
    update_status: float | None,
    event_timeout: float | None,
    retrying: bool | None,
    output_format: output.Format,
) -> None:
    """Change the settings of a namespace, which is created if needed."""
    changed = await client.namespaces.set(
        name,
        update_status_seconds=_whole(update_status),
        event_timeout_seconds=_whole(event_timeout),
        retrying=retrying,
    )
    _show(changed, output_format)


@namespace.command()
@watching.options
@session.streaming
async def watch(client: "Client", wanted: watching.Wanted) -> None:
    """Show the events of namespaces as they happen; begins and ends as `tinkwell events watch` does."""
    await watching.follow(client.namespaces.watch, wanted, resource_id=None)


def _show(found: "Namespace", chosen: output.Format) -> None:
    if chosen is output.Format.TABLE:
        output.table(_HEADER, [_row(found)])
    else:
        output.whole(found.to_json(), chosen)


def _row(found: "Namespace") -> tuple[str, ...]:
    return (
        found.name,
        duration.show(found.update_status_seconds),
        duration.show(found.event_timeout_seconds),
        "yes" if found.retrying else "no",
        output.moment(found.created_at),
    )


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)
