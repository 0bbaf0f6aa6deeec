"""`tinkwell chart`: the charts of a server. The provisioner adds the commands that need no server, by entry points."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.shell import command, option, output, session

if TYPE_CHECKING:
    from tinkwell.client import Chart, Client

# The modules that only the provisioner's commands need.
_NEEDS = ("jinja2", "networkx", "semantic_version")
_HEADER = ("NAME", "VERSION", "APP VERSION", "SIZE", "CREATED", "DIGEST")


@click.group(cls=command.OpenGroup, entry_point_group="tinkwell.commands.chart", needs=_NEEDS)
def chart() -> None:
    """Charts: upload, list and check what releases are made of."""


@chart.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path), metavar="CHART")
@option.object_format
@session.connected
async def push(client: "Client", path: Path, output_format: output.Format) -> None:
    """Upload a chart, a folder or an archive, so that it can be installed by its digest.

    `tinkwell release install` uploads its chart itself. The server deletes a chart after a day if no release uses it.
    """
    from tinkwell.client import errors  # gRPC costs start-up time, see main
    from tinkwell.core.release.chart import place

    try:
        found = await client.releases.upload_chart(path)
    except errors.ChartInvalid as error:
        raise failure.Failure(*(place.describe(each, str(path)) for each in error.violations)) from error
    for warning in found.warnings:
        output.note(f"Warning: {warning}")
    if output_format is output.Format.TABLE:
        output.line(f"{found.name} {found.chart_version}  {found.digest}")
    else:
        output.whole(found.to_json(), output_format)


@chart.command("list")
@click.option("--name", default="", metavar="NAME", help="Only charts of this name.")
@option.object_format
@session.connected
async def list_(client: "Client", name: str, output_format: output.Format) -> None:
    """List the charts on the server, by name, then newest first."""
    found = [each async for each in client.releases.charts(name)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
    else:
        output.objects(found, output_format)


def _row(found: "Chart") -> tuple[str, ...]:
    created = output.moment(found.created_at)
    return found.name, found.chart_version, found.app_version, str(found.size), created, found.digest
