"""What commands that make releases of charts share: the options, the chart itself, and its notes."""

import dataclasses
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.release import values
from tinkwell.cli.shell import command, output
from tinkwell.core import errors
from tinkwell.core.release.kinds import Wait

if TYPE_CHECKING:
    from tinkwell.client import Client, OperationHandle, Revision
    from tinkwell.core.release.chart.value.user_values import Given, UserValues

_HIDDEN = "•••"


class Command(command.Command):
    """A command whose option `--wait` may go without its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write out the value of a bare `--wait`, because click would take the next argument for it."""
        try:
            return super().parse_args(ctx, written_out(args))
        except click.UsageError as error:
            # What follows a bare --wait is taken for an argument, of which there is then one too many.
            if "--wait" in args and type(error) is click.UsageError:
                told = f"{error.message.rstrip('.')}; --wait takes {', '.join(Wait)}, or nothing"
                raise click.UsageError(told, ctx=error.ctx) from error
            raise


_FLAGS = (
    values.options,
    click.option(
        "--wait",
        type=click.Choice([each.value for each in Wait]),
        metavar="|".join(Wait),
        help="Order of subcharts: ordered installs batch after batch, eager installs each subchart as soon as all are "
        "ready that it depends on, and none installs all at once. [default: ordered]",
    ),
    click.option("--strict", is_flag=True, help="Refuse a chart in which a part depends on a disabled part."),
    click.option("--verify", is_flag=True, help="Check the signature of the archive CHART before it is uploaded."),
    click.option(
        "--keyring",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Keys for --verify, as gpg --export writes them.",
    ),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The values of the options; `chart` is empty where none was named."""

    given: "Given"
    wait: str | None
    strict: bool
    verify: bool
    keyring: Path | None
    chart: str = ""

    @property
    def is_default(self) -> bool:
        """Whether no chart was named and no option was given."""
        has_flags = any(self.given.values()) or self.wait or self.strict or self.verify or self.keyring
        return not self.chart and not has_flags

    def source(self) -> "Path | bytes | str":
        """Return the chart as the client takes it: a path, verified bytes, or a digest. Raises `Failure`."""
        if not self.chart:
            raise click.UsageError("Missing argument 'CHART'.")
        if self.verify != (self.keyring is not None):
            raise click.UsageError("--verify and --keyring FILE go together")
        if self.keyring is not None:
            return self._verified(self.keyring)
        from tinkwell.core.release.chart.file import archive

        if self.chart.startswith(archive.DIGEST):
            return self.chart
        if not Path(self.chart).exists():
            known = "name a folder, an archive, or the digest of a chart that the server has (sha256:…)"
            raise failure.Failure(f"{self.chart}: there is no such chart; {known}")
        return Path(self.chart)

    async def begin(
        self, call: "Callable[..., Awaitable[OperationHandle]]", name: str, fields: Mapping[str, Any]
    ) -> "OperationHandle":
        """Begin an operation with the chart; raises `Failure` that says where in the chart something is wrong."""
        from tinkwell.client import errors as client_errors  # gRPC costs start-up time, see main

        source, found = self.source(), self.values()
        try:
            return await call(name, source, values=found.values, secret_values=found.secrets, **fields)
        except client_errors.ChartInvalid as error:
            raise self.explain(error.violations) from error

    def values(self) -> "UserValues":
        """Read the values; raises `Failure`."""
        return values.read(self.given)

    def explain(self, violations: Sequence[errors.Violation]) -> failure.Failure:
        """Say where in the chart each violation is."""
        from tinkwell.core.release.chart import place

        return failure.Failure(*(place.describe(each, self.chart) for each in violations))

    def _verified(self, keyring: Path) -> bytes:
        from tinkwell.client.release import provenance  # it costs start-up time, see main

        try:
            found = provenance.verify(Path(self.chart), keyring)
        except errors.ChartInvalid as error:
            raise failure.Failure(str(error)) from error
        output.note(f"{self.chart} is signed by {found.signer}, key {found.fingerprint}.")
        return found.data


def flags(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options of charts to a command, which is given their values as `chosen`, without a chart."""

    @functools.wraps(command)
    def with_chosen(*args: Any, **kwargs: Any) -> object:
        fields = {field.name: kwargs.pop(field.name) for field in dataclasses.fields(Wanted) if field.name in kwargs}
        return command(*args, chosen=Wanted(**fields), **kwargs)

    result: Callable[..., object] = with_chosen
    for add in reversed(_FLAGS):
        result = add(result)
    return result


def options(command: Callable[..., object]) -> Callable[..., object]:
    """Add a chart, which may be left out, and its options to a command, which is given their values as `chosen`."""
    return click.argument("chart", default="", required=False, metavar="CHART")(flags(command))


async def show_notes(client: "Client", name: str, namespace: str) -> None:
    """Print the notes of a release's chart for its users."""
    found = await client.releases.revision(name, namespace=namespace)
    if text := notes(found):
        output.line("")
        output.line(text)


def notes(revision: "Revision") -> str:
    """Return the notes of a revision's chart, without those of its subcharts; empty if there are none.

    Notes that contain a secret are never shown.
    """
    charts: dict[str, Any] = (revision.manifest or {}).get("charts", {})
    text: str | None = next((chart.get("notes", "") for path, chart in charts.items() if "." not in path), "")
    if text is None:
        return _HIDDEN
    return output.clean_lines(text)


def written_out(args: Sequence[str]) -> list[str]:
    """Return the words of a command line, with `--wait=ordered` for each `--wait` without a value."""
    found: list[str] = []
    for place, word in enumerate(args):
        if word == "--":
            return [*found, *args[place:]]
        following = args[place + 1] if place + 1 < len(args) else ""
        found.append(f"--wait={Wait.ORDERED}" if word == "--wait" and following not in set(Wait) else word)
    return found
