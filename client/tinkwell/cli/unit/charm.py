"""`tinkwell charm`: the programs that applications run."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.shell import command, output, session
from tinkwell.cli.shell import option as shell_option
from tinkwell.cli.unit import option
from tinkwell.cli.unit.source import charm_of, is_program, packed, refused

if TYPE_CHECKING:
    from tinkwell.client import Charm, Client

_HEADER = ("NAME", "KIND", "SIZE", "CREATED", "DIGEST")


@click.group(cls=command.Group)
def charm() -> None:
    """Charms: upload, list and check what units run."""


@charm.command()
@click.argument("source", metavar="CHARM")
@option.resources
@shell_option.object_format
@session.connected
async def push(client: "Client", source: str, resources: tuple[str, ...], output_format: output.Format) -> None:
    """Upload a charm, a folder, a package or a program, so that it can be deployed by its digest.

    `tinkwell app deploy` uploads its charm itself.
    """
    with refused(source):
        found = await client.applications.upload_charm(charm_of(source, resources))
    for warning in found.warnings:
        output.note(f"Warning: {warning}")
    if output_format is output.Format.TABLE:
        output.line(f"{found.name}  {found.digest}")
    else:
        output.whole(found.to_json(), output_format)


@charm.command(epilog="No server is needed.")
@click.argument("source", metavar="CHARM")
@option.resources
@shell_option.object_format
def inspect(source: str, resources: tuple[str, ...], output_format: output.Format) -> None:
    """Check a charm, a folder, a package or a program, and show its declarations, without uploading it."""
    import io  # it costs start-up time with ruamel.yaml, see main

    from tinkwell.client.unit import package
    from tinkwell.core import errors
    from tinkwell.core.charm import package as core_package

    try:
        files = option.files_of(resources)
        given = packed(source) if is_program(source) else package.read(Path(source), files)
        found = core_package.check(io.BytesIO(given))
    except FileNotFoundError as error:
        if error.filename and str(error.filename) != source:
            raise failure.Failure(f"{error.filename}: there is no such file") from error
        raise failure.Failure(f"{source}: there is no such charm; name a folder, a package or a program") from error
    except errors.CharmRefused as error:
        raise failure.Failure(*(f"{source}: {each.field}: {each.description}" for each in error.violations)) from error
    for warning in found.warnings:
        output.note(f"Warning: {warning}")
    declared = found.manifest.as_json()
    chosen = output.Format.YAML if output_format is output.Format.TABLE else output_format
    output.whole({**declared, "digest": found.digest, "size": found.size}, chosen)


@charm.command("list")
@click.option("--name", default="", metavar="NAME", help="Only charms of this name.")
@shell_option.object_format
@session.connected
async def list_(client: "Client", name: str, output_format: output.Format) -> None:
    """List the charms on the server, by name, then newest first."""
    found = [each async for each in client.applications.charms(name)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
    else:
        output.objects(found, output_format)


def _row(found: "Charm") -> tuple[str, ...]:
    return found.name, found.kind.lower(), str(found.size), output.moment(found.created_at), found.digest
