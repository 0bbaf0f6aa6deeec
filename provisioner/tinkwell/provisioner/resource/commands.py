"""The group `tinkwell resource`.

The command line imports this module to show its help, so what costs time is imported inside the functions.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.core import errors
from tinkwell.core.process_log import terminal

if TYPE_CHECKING:
    from tinkwell.core.value.document import JsonObject

MAX_CONFIG_BYTES = 4 * 1024 * 1024


@click.group()
def resource() -> None:
    """Types of resources: begin one, and try it out."""


@resource.command()
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path), required=False, metavar="[DIR]")
def init(name: str, folder: Path | None) -> None:
    """Write a new type of resources, called NAME such as acme/note, into the folder DIR, which is NAME by itself.

    It works as it is: a text file in Python, with a Dockerfile, a config to test it with, and a manifest of a release.
    Files that are there already are never written over.
    """
    from tinkwell.provisioner.resource import scaffold

    made = scaffold.write(name, folder)
    for file in made.files:
        click.echo(f"{file}")
    click.echo("Next:")
    for line in made.commands:
        click.echo(f"  {line}")


@resource.command()
@click.argument("image", metavar="IMAGE|DIR")
@click.option(
    "--config",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    required=True,
    metavar="FILE",
    help="A config in JSON, of a resource that does not exist yet. It is made, and destroyed again.",
)
@click.option(
    "--then",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="Another config of the same resource, to which it is then changed.",
)
@click.option(
    "--plug",
    "plugs",
    multiple=True,
    metavar="NAME=PATH[:ro]",
    help="What the type uses as this plug; repeatable.  [default: an empty folder for each that it asks for]",
)
@click.option(
    "--process-images",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    help="Take IMAGE from this folder of images, and run it as processes.",
)
@click.option(
    *("-o", "--output", "output_format"),
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    metavar="text|json",
    help="Format of the output.",
)
@click.pass_context
def test(
    ctx: click.Context,
    /,
    image: str,
    config: Path,
    then: Path | None,
    plugs: tuple[str, ...],
    process_images: Path | None,
    output_format: str,
) -> None:
    """Try out a type of resources: a folder with an executable run, or an image of the Docker Engine.

    Each answer is held against the protocol, and the state against its contract, through the whole life of one
    resource. Nothing isolates what runs as processes.

    Exit codes: 0 nothing is wrong, 1 a check has failed.
    """
    import asyncio

    from tinkwell.provisioner.resource import finding, target
    from tinkwell.provisioner.runtime import port

    try:
        work = target.try_out(
            image,
            _read(config),
            then=_read(then) if then is not None else None,
            plugs=target.parse_plugs(plugs),
            images=process_images,
        )
        findings = asyncio.run(work)
    except port.RunError as error:
        raise click.ClickException(f"{error}; a folder is tried out without an engine") from error
    if output_format == "json":
        click.echo(terminal.in_json(json.dumps([each.as_json() for each in findings], indent=2)))
    else:
        for line in finding.table(findings):
            click.echo(line)
    if finding.has_failed(findings):
        ctx.exit(1)


def _read(path: Path) -> "JsonObject":
    from tinkwell.core.value import document

    try:
        return document.parse_json_object("", path.read_bytes(), max_bytes=MAX_CONFIG_BYTES)
    except errors.InvalidField as error:
        raise click.ClickException("; ".join(f"{path}: {each.description}" for each in error.violations)) from error
