"""`tinkwell hardware`: the machines."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.document import files as document_file
from tinkwell.cli.event import watching
from tinkwell.cli.hardware import push as hardware_push
from tinkwell.cli.hardware import tinkerbell
from tinkwell.cli.shell import command, option, output, session, several
from tinkwell.core import errors
from tinkwell.core.value import document
from tinkwell.core.value import parse as value

if TYPE_CHECKING:
    from tinkwell.client import Client, Hardware

_HEADER = ("ID", "MAC", "IP", "HOSTNAME", "VERSION")
_KINDS = (("id", value.parse_uuid), ("mac", value.parse_mac), ("ip", value.parse_ip))


class Key(NamedTuple):
    """A key of a machine: its kind, `id`, `mac` or `ip`, and its value."""

    kind: str
    text: str


class KeyType(click.ParamType[Key]):
    """An id, a MAC or an IP address; its form tells which."""

    name = "machine"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Key:
        """Tell from the form which key it is."""
        if isinstance(value, Key):
            return value
        for kind, parse in _KINDS:
            try:
                return Key(kind, parse("", str(value)))
            except errors.InvalidField:
                continue
        raise click.BadParameter(f"{value!r} is neither an id (UUID) nor a MAC or IP address", ctx=ctx, param=param)


@click.group(cls=command.Group)
def hardware() -> None:
    """Machines: their addresses, metadata and boot settings."""


@hardware.command()
@click.argument("files", nargs=-1, type=click.Path(), metavar="[FILE|FOLDER|-]...")
@click.option("--file", "more_files", multiple=True, type=click.Path(), help="The same as FILE.")
@option.object_format
@session.connected
async def push(
    client: "Client", files: tuple[str, ...], more_files: tuple[str, ...], output_format: output.Format
) -> None:
    """Create or replace machines, and print the id, version and revision of each.

    FILE holds one machine, a list of machines, or one after another (JSON lines, YAML documents), as JSON or YAML;
    FOLDER holds such files; - is standard input, which is also read where no FILE is given. All input is read before
    the first machine is pushed. The first machine that the server refuses ends the command; those before it are stored.

    Tinkerbell's files of kind: Hardware are accepted, too, and lists of them, as kubectl get hardware -o yaml prints
    them. docs/how-to/tinkerbell-files.md says how each field is converted.

    More than 100 machines are pushed by one call, and one line (with -o json or yaml one object) says how many there
    are, how many changed, and the last revision. For thousands of machines take JSON, which is read far faster than
    YAML.
    """
    inputs = [file for name in _inputs(files + more_files) for file in document_file.expand(name)]
    read = (part for file in inputs for part in document_file.parts(document_file.read(file)))
    parts = [machine for part in read for machine in tinkerbell.machines(part)]
    if not parts:
        raise failure.Failure("there is no machine in the input")
    push_all = hardware_push.many if len(parts) > hardware_push.MAX_SINGLE else hardware_push.each
    await push_all(client, parts, output_format)


@hardware.command()
@click.argument("machines", nargs=-1, required=True, type=KeyType(), metavar="ID|MAC|IP...")
@option.object_format
@session.connected
async def get(client: "Client", machines: tuple[Key, ...], output_format: output.Format) -> None:
    """Show machines by id, MAC or IP address, a line for each interface.

    With -o json or yaml, one argument gives an object, and several give a list.
    """
    is_list = len(machines) > 1
    await several.show(
        machines, lambda key: _find(client, key), lambda found: _show(found, output_format, is_list=is_list)
    )


@hardware.command("list")
@option.object_format
@session.connected
async def list_(client: "Client", output_format: output.Format) -> None:
    """List all machines, oldest first, a line for each interface."""
    _show([machine async for machine in client.hardware.all()], output_format, is_list=True)


@hardware.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@session.connected
async def delete(client: "Client", ids: tuple[str, ...]) -> None:
    """Delete machines. Those that do not exist are reported at the end; the others are deleted."""
    await several.delete(ids, lambda machine_id: client.hardware.delete(machine_id))


@hardware.command("phone-home")
@click.argument("machine", type=KeyType(), metavar="ID|MAC|IP")
@click.option("--data", type=option.JsonObject(), help="The machine's message, as a JSON object.")
@option.object_format
@session.connected
async def phone_home(
    client: "Client", machine: Key, data: document.JsonObject | None, output_format: output.Format
) -> None:
    """Record that a machine has phoned home; watchers get a HARDWARE_PHONE_HOME event."""
    text = None if data is None else document.dump_json(data)
    change = await client.hardware.phone_home(**{machine.kind: machine.text}, data=text)
    if output_format is output.Format.TABLE:
        output.line(f"{machine.text}  {output.revision(change.revision)}")
    else:
        output.whole(change.to_json(), output_format)


@hardware.command()
@click.argument("machine_id", required=False, metavar="[ID]")
@watching.options
@session.streaming
async def watch(client: "Client", machine_id: str | None, wanted: watching.Wanted) -> None:
    """Show the events of machines, or of one machine, as they happen.

    It begins and ends as `tinkwell events watch` does.
    """
    await watching.follow(client.hardware.watch, wanted, resource_id=machine_id)


def _inputs(files: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files to read: standard input if none is named, unless that is a terminal."""
    if not files and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("give a FILE, or - for standard input")
    return files or ("-",)


async def _find(client: "Client", key: Key) -> "Hardware":
    match key.kind:
        case "mac":
            return await client.hardware.by_mac(key.text)
        case "ip":
            return await client.hardware.by_ip(key.text)
        case _:
            return await client.hardware.by_id(key.text)


def _show(machines: "list[Hardware]", output_format: output.Format, *, is_list: bool) -> None:
    if output_format is output.Format.TABLE:
        output.table(_HEADER, _rows(machines))
    elif is_list:
        output.objects(machines, output_format)
    else:
        output.whole(machines[0].to_json(), output_format)


def _rows(machines: "Iterable[Hardware]") -> Iterator[tuple[str, ...]]:
    for machine in machines:
        for interface in machine.network.get("interfaces") or [{}]:
            dhcp = interface.get("dhcp", {})
            address = dhcp.get("ip", {}).get("address", "")
            yield machine.id, dhcp.get("mac", ""), address, dhcp.get("hostname", ""), str(machine.version)
