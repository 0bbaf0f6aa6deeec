"""`tinkwell template`: templates, from which workflows are made."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.document import files as document_file
from tinkwell.cli.event import watching
from tinkwell.cli.shell import command, option, output, session, several
from tinkwell.core import errors
from tinkwell.core.value import parse

if TYPE_CHECKING:
    from tinkwell.client import Change, Client, Template

_HEADER = ("ID", "NAME", "VERSION", "CREATED", "UPDATED")


@click.group(cls=command.Group)
def template() -> None:
    """Templates: the steps to run, and on which machine."""


@template.command()
@click.argument("file", type=click.Path(), metavar="FILE|-")
@click.option("--name", help="Name to use in place of the one in the YAML.")
@option.object_format
@session.connected
async def create(client: "Client", file: str, name: str | None, output_format: output.Format) -> None:
    """Create a template from YAML, and print its id.

    FILE may also hold a Tinkerbell object of kind: Template; the template then gets the object's name.
    """
    from tinkwell.cli.template import source as template_source  # it costs start-up time, see main
    from tinkwell.client import errors as client_errors  # gRPC costs start-up time, see main

    written = template_source.read_one(file, is_named=name is not None)
    try:
        created = await client.templates.create(written.text, name=name or written.name)
    except client_errors.InvalidField as error:
        raise written.explain(error.violations) from error
    if output_format is output.Format.TABLE:
        output.line(created.id)
    else:
        output.whole(created.to_json(), output_format)


@template.command()
@click.argument("name_or_id", metavar="ID|NAME")
@click.option("--data", "only_data", is_flag=True, help="Print the YAML as it was written, and nothing else.")
@option.object_format
@session.connected
async def get(client: "Client", name_or_id: str, only_data: bool, output_format: output.Format) -> None:
    """Show a template."""
    found = await client.templates.get(**_key(name_or_id))
    if only_data:
        output.text((found.data or "").removesuffix("\n"))
    elif output_format is output.Format.TABLE:
        output.table(_HEADER, [_row(found)])
    else:
        output.whole(found.to_json(), output_format)


@template.command("list")
@click.option("--name", default="", help="Only names like this, ignoring case; * matches any characters.")
@option.object_format
@session.connected
async def list_(client: "Client", name: str, output_format: output.Format) -> None:
    """List templates, oldest first, without their YAML."""
    found = [item async for item in client.templates.list(name)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
    else:
        output.objects(found, output_format)


@template.command()
@click.argument("name_or_id", metavar="ID|NAME")
@click.argument("file", type=click.Path(), required=False, metavar="[FILE|-]")
@click.option("--name", help="New name.")
@option.object_format
@session.connected
async def update(
    client: "Client", name_or_id: str, file: str | None, name: str | None, output_format: output.Format
) -> None:
    """Change a template's YAML or its name; existing workflows do not change.

    FILE may also hold a Tinkerbell object of kind: Template; the object's name is ignored.
    """
    from tinkwell.cli.template import source as template_source  # it costs start-up time, see main
    from tinkwell.client import errors as client_errors  # gRPC costs start-up time, see main

    if file is None and name is None:
        raise click.UsageError("give a FILE with the new YAML, or a new --name")
    written = template_source.read_one(file) if file is not None else None
    template_id = await _id(client, name_or_id)
    try:
        change = await client.templates.update(template_id, name=name, data=written.text if written else None)
    except client_errors.InvalidField as error:
        explain = written.explain if written else document_file.Source(name_or_id, "").explain
        raise explain(error.violations) from error
    if output_format is output.Format.TABLE:
        output.line(f"{template_id}  version {change.version}  {output.revision(change.revision)}")
    else:
        output.whole({"id": template_id, **change.to_json()}, output_format)


@template.command()
@click.argument("names_or_ids", nargs=-1, required=True, metavar="ID|NAME...")
@session.connected
async def delete(client: "Client", names_or_ids: tuple[str, ...]) -> None:
    """Delete templates; workflows made from them stay. Those that do not exist are reported; the others are deleted."""

    async def delete_one(name_or_id: str) -> "Change":
        return await client.templates.delete(**_key(name_or_id))

    await several.delete(names_or_ids, delete_one)


@template.command(epilog="No server is needed.")
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE|-...")
def validate(files: tuple[str, ...]) -> None:
    """Check that files are valid templates, and print the place of each mistake.

    A file may hold Tinkerbell objects of kind: Template, one after another.
    """
    sentences: list[str] = []
    for file in files:
        try:
            for line in _validate(file):
                output.line(line)
        except failure.Failure as error:
            sentences.extend(error.sentences)
    if sentences:
        raise failure.Failure(*sentences)


@template.command()
@click.argument("name_or_id", required=False, metavar="[ID|NAME]")
@watching.options
@session.streaming
async def watch(client: "Client", name_or_id: str | None, wanted: watching.Wanted) -> None:
    """Show the events of templates, or of one template, as they happen.

    It begins and ends as `tinkwell events watch` does.
    """
    template_id = None if name_or_id is None else await _id(client, name_or_id)
    await watching.follow(client.templates.watch, wanted, resource_id=template_id)


def _validate(file: str) -> Iterator[str]:
    """Yield a sentence for each valid template of a file. Raises `Failure` at the end, with the mistakes in others."""
    from tinkwell.cli.template import source as template_source  # it costs start-up time, see main
    from tinkwell.core.template import template as core_template  # ruamel.yaml costs start-up time, see main

    sentences: list[str] = []
    for written in template_source.read(file):
        try:
            found = core_template.parse_template(written.text)
        except errors.InvalidField as error:
            sentences.extend(written.explain(error.violations).sentences)
            continue
        actions = sum(len(task.actions) for task in found.tasks)
        name = "standard input" if file == "-" else file
        counts = f"{_count(len(found.tasks), 'task')}, {_count(actions, 'action')}"
        yield f"{name}: {written.name or found.name}, {counts}"
    if sentences:
        raise failure.Failure(*sentences)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _key(name_or_id: str) -> Mapping[str, str]:
    """Return an id or a name as an argument for the client."""
    try:
        return {"id": parse.parse_uuid("", name_or_id)}
    except errors.InvalidField:
        return {"name": name_or_id}


async def _id(client: "Client", name_or_id: str) -> str:
    key = _key(name_or_id)
    return key["id"] if "id" in key else (await client.templates.get(name=name_or_id)).id


def _row(item: "Template") -> tuple[str, ...]:
    return item.id, item.name, str(item.version), output.moment(item.created_at), output.moment(item.updated_at)
