"""`tinkwell secret`: secrets, whose content only charms may read, and the keys with which a server seals them."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.document import files
from tinkwell.cli.event import watching
from tinkwell.cli.shell import command, output, session
from tinkwell.cli.shell import option as shell_option
from tinkwell.cli.unit import option
from tinkwell.core.unit import limit

if TYPE_CHECKING:
    from tinkwell.client import Client, Secret

_HEADER = ("SECRET", "NAMESPACE", "OWNER", "LABEL", "REVISION", "ROTATION", "DESCRIPTION")
_REVISION_HEADER = ("REVISION", "CREATED", "EXPIRES", "READ BY")
# Where installed components have their commands; see `main`.
_ENTRY_POINT_GROUP = "tinkwell.commands"
_URI = re.compile(r"secret:(?://[^/\s]+/)?")


class SecretGroup(command.Group):
    """The commands of this module, and those for the keys of a server if the server is installed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        theirs = self._theirs()
        return [*super().list_commands(ctx), *(theirs.list_commands(ctx) if theirs else ())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command of this module, or import the server's command of that name."""
        own = super().get_command(ctx, cmd_name)
        theirs = None if own else self._theirs()
        return theirs.get_command(ctx, cmd_name) if theirs else own

    def _theirs(self) -> click.Group | None:
        from importlib import metadata

        for each in metadata.entry_points(group=_ENTRY_POINT_GROUP, name="secret"):
            found = command.Component("secret", each.value, "", "server").load()
            return found if isinstance(found, click.Group) else None
        return None


class SecretName(click.ParamType[str]):
    """A secret: its name, with or without "secret:" before it, or the label of a user's secret."""

    name = "secret"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as the server takes it."""
        found = _URI.sub("", str(value).strip(), count=1)
        return found or self.fail("it is empty; give the name of a secret, or its label", param, ctx)


_name = click.argument("name", type=SecretName(), metavar="SECRET")
_pairs = click.argument("pairs", nargs=-1, metavar="[KEY|KEY#file=FILE]...")
_file = click.option("--file", "file", type=click.Path(), metavar="FILE|-", help="Keys and values as YAML or JSON.")
_description = click.option("--description", metavar="TEXT", help="What the secret is for; everybody can read this.")


@click.group(cls=SecretGroup)
def secret() -> None:
    """Secrets, which only charms may read, and the keys that encrypt them."""


@secret.command()
@click.argument("label", metavar="LABEL")
@_pairs
@_file
@_description
@option.namespace
@shell_option.object_format
@session.connected
async def add(
    client: "Client",
    label: str,
    pairs: tuple[str, ...],
    file: str | None,
    description: str | None,
    namespace: str,
    output_format: output.Format,
) -> None:
    """Create a secret, which units may read after `grant`.

    A value is read from a FILE, or from standard input for -, without a line break at its end. For a KEY without a
    file, the command asks for the value. A value cannot stand on the command line, because others could see it there.
    """
    made = await client.secrets.create(
        _content(pairs, file), label=label, description=description or "", namespace=namespace
    )
    if output_format is output.Format.TABLE:
        output.line(f"{label}  secret:{made.name}")
    else:
        output.whole(made.to_json(), output_format)


@secret.command()
@_name
@_pairs
@_file
@click.option("--label", metavar="LABEL", help="New label.")
@_description
@option.namespace
@shell_option.object_format
@session.connected
async def update(
    client: "Client",
    name: str,
    pairs: tuple[str, ...],
    file: str | None,
    label: str | None,
    description: str | None,
    namespace: str,
    output_format: output.Format,
) -> None:
    """Give a secret a new revision, and notify its readers; keys and values are given as for `add`."""
    content = _content(pairs, file) if pairs or file is not None else None
    if content is None and label is None and description is None:
        raise click.UsageError("there is nothing to change; give keys, --file, --label or --description")
    changed = await client.secrets.update(name, content, label=label, description=description, namespace=namespace)
    if output_format is output.Format.TABLE:
        output.line(f"{changed.label or changed.name}: revision {changed.latest}")
    else:
        output.whole(changed.to_json(), output_format)


@secret.command("list")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only this namespace. [default: all]")
@click.option("--owner", default="", metavar="UNIT|APPLICATION", help="Only secrets of this owner.")
@shell_option.object_format
@session.connected
async def list_(client: "Client", namespace: str, owner: str, output_format: output.Format) -> None:
    """List secrets without their content, by namespace and owner; those of users have no owner."""
    found = [each async for each in client.secrets.list(namespace=namespace, owner=owner)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
    else:
        output.objects(found, output_format)


@secret.command()
@_name
@option.namespace
@shell_option.object_format
@session.connected
async def show(client: "Client", name: str, namespace: str, output_format: output.Format) -> None:
    """Show a secret without its content: its revisions, and who may read it."""
    found = await client.secrets.get(name, namespace=namespace)
    if output_format is not output.Format.TABLE:
        output.whole(found.to_json(), output_format)
        return
    output.fields(_fields(found))
    if found.revisions:
        output.line("")
        rows = (
            (str(each.revision), output.moment(each.created_at), output.moment(each.expires_at), " ".join(each.readers))
            for each in found.revisions
        )
        output.table(_REVISION_HEADER, rows)


@secret.command()
@_name
@click.option("--revision", type=click.IntRange(min=1), metavar="N", help="Revision to show. [default: newest]")
@click.option("--key", metavar="KEY", help="Only the value of this key, as it is.")
@option.namespace
@shell_option.object_format
@session.connected
async def reveal(
    client: "Client", name: str, revision: int | None, key: str | None, namespace: str, output_format: output.Format
) -> None:
    """Show the content of a secret. Only administrators may do this."""
    found = await client.secrets.reveal(name, revision=revision or 0, namespace=namespace)
    if key is not None:
        if key not in found.content:
            known = ", ".join(sorted(found.content))
            raise failure.Failure(f"{name} has no key {key} in revision {found.revision}; it has {known}")
        output.part(output.shown(found.content[key]))
    elif output_format is output.Format.TABLE:
        output.table(("KEY", "VALUE"), sorted(found.content.items()))
    else:
        output.whole(found.to_json(), output_format)


@secret.command()
@_name
@click.argument("applications", nargs=-1, required=True, type=option.ApplicationName(), metavar="APPLICATION...")
@option.namespace
@session.connected
async def grant(client: "Client", name: str, applications: tuple[str, ...], namespace: str) -> None:
    """Let the units of applications read a user's secret."""
    for each in applications:
        found = await client.secrets.grant(name, each, namespace=namespace)
        output.line(f"{each}: may read {found.label or found.name} as secret:{found.name}")


@secret.command()
@_name
@click.argument("applications", nargs=-1, required=True, type=option.ApplicationName(), metavar="APPLICATION...")
@option.namespace
@session.connected
async def revoke(client: "Client", name: str, applications: tuple[str, ...], namespace: str) -> None:
    """Take from the units of applications the right to read a user's secret."""
    for each in applications:
        found = await client.secrets.revoke(name, each, namespace=namespace)
        output.line(f"{each}: may no longer read {found.label or found.name}")


@secret.command()
@_name
@click.option("--revision", type=click.IntRange(min=1), metavar="N", help="Only this revision. [default: all]")
@option.namespace
@session.connected
async def remove(client: "Client", name: str, revision: int | None, namespace: str) -> None:
    """Remove a user's secret, or one of its revisions."""
    await client.secrets.remove(name, revision=revision or 0, namespace=namespace)
    output.line(f"{name}: {f'revision {revision} ' if revision else ''}is removed")


@secret.command()
@watching.options
@session.streaming
async def watch(client: "Client", wanted: watching.Wanted) -> None:
    """Show the events of secrets, without content; begins and ends as `tinkwell events watch` does."""
    await watching.follow(client.secrets.watch, wanted, resource_id=None)


def _content(pairs: Iterable[str], file: str | None) -> dict[str, str]:
    """Read the keys and values that were given."""
    found = _of_file(file) if file is not None else {}
    for each in pairs:
        key, hash_, source = each.partition("#file=")
        if not hash_ and "=" in key:
            name = key.partition("=")[0]
            known = f"write {name}#file=FILE, or {name} alone to be asked for it"
            raise click.UsageError(f"{name}: a value on the command line can be seen by others; {known}")
        if not key or (hash_ and not source):
            raise click.UsageError(f"{each!r} is neither KEY nor KEY#file=FILE, such as password#file=password.txt")
        found[key] = _of_one(source) if hash_ else _asked(key)
    if not found:
        raise click.UsageError("it holds nothing; give at least one KEY#file=FILE, or --file")
    return found


def _of_file(file: str) -> dict[str, str]:
    found = option.of_file(file, what="keys of the secret", max_bytes=limit.SECRET_BYTES)
    for key, value in found.items():
        if not isinstance(value, str):
            raise failure.Failure(f"{file}: {key}: must be text; put quotes around it")
    return {key: str(value) for key, value in found.items()}


def _of_one(file: str) -> str:
    text = files.read(file, max_bytes=limit.SECRET_BYTES).text
    return text.removesuffix("\n").removesuffix("\r")


def _asked(key: str) -> str:
    value: str = click.prompt(key, hide_input=True, confirmation_prompt=True, err=True)
    return value


def _row(found: "Secret") -> tuple[str, ...]:
    return (
        found.name,
        found.namespace,
        found.owner,
        found.label,
        str(found.latest),
        found.rotation.lower(),
        found.description,
    )


def _fields(found: "Secret") -> list[tuple[str, str]]:
    granted = (
        f"{each.unit or each.application}{f' (relation {each.relation})' if each.relation else ''}"
        for each in found.grants
    )
    return [
        ("SECRET", f"secret:{found.name}"),
        ("NAMESPACE", found.namespace),
        ("OWNER", found.owner or "a user"),
        ("LABEL", found.label),
        ("DESCRIPTION", found.description),
        ("ROTATION", found.rotation.lower()),
        ("ROTATES", output.moment(found.rotates_at)),
        ("MAY BE READ BY", ", ".join(granted)),
        ("CREATED", output.moment(found.created_at)),
        ("UPDATED", output.moment(found.updated_at)),
    ]
