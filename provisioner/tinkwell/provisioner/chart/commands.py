"""The commands of the group `tinkwell chart` that need no server.

The command line imports this module to show its help, so what costs time is imported inside the functions.
"""

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.core import errors
from tinkwell.core.process_log import terminal
from tinkwell.core.release.chart.value import flag

if TYPE_CHECKING:
    from tinkwell.core.release.chart.value.user_values import Given

_chart = click.argument("chart", type=click.Path(exists=True, path_type=Path), metavar="CHART")
_strict = click.option("--strict", is_flag=True, help="Refuse a chart in which a part depends on a disabled part.")


def _values(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options by which a chart is given values to a command, which is given their texts as `given`."""

    @functools.wraps(command)
    def with_given(*args: Any, **kwargs: Any) -> object:
        given = {each.key: kwargs.pop(each.key) for each in flag.FLAGS}
        return command(*args, given=given, **kwargs)

    result: Callable[..., object] = with_given
    for each in reversed(flag.FLAGS):
        words = f"{each.help} Repeatable."
        add = click.option(*each.options, each.key, multiple=True, metavar=each.metavar, help=words)
        result = add(result)
    return result


def _output(*formats: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    return click.option(
        *("-o", "--output", "output_format"),
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        metavar="|".join(formats),
        help="Format of the output.",
    )


@click.command()
@_chart
@_values
@click.option("--strict", is_flag=True, help="Fail for warnings as well.")
@click.option("--quiet", is_flag=True, help="Leave out what is neither wrong nor a warning.")
@_output("text", "json")
@click.pass_context
def lint(ctx: click.Context, /, chart: Path, given: "Given", strict: bool, quiet: bool, output_format: str) -> None:
    """Say what is wrong with a chart, a folder or an archive, with its subcharts and its values.

    Exit codes: 0 nothing is wrong, 1 something is, or with --strict a warning.
    """
    import asyncio

    from tinkwell.provisioner.chart import lint as linting

    found = asyncio.run(linting.lint(chart, given, show=(lambda _: None) if quiet else _aside))
    shown = [each for each in found if not quiet or each.severity is not linting.Severity.INFO]
    if output_format == "json":
        click.echo(_json([each.as_json() for each in shown]))
    else:
        for each in shown:
            _echo(f"{each.severity:<7}  {each.message}")
        click.echo(linting.summary(found))
    if any(each.severity is linting.Severity.ERROR for each in found) or (strict and linting.has_warning(found)):
        ctx.exit(1)


@click.command()
@_chart
@_values
@_strict
@click.option("--name", default="release-name", show_default=True, metavar="NAME", help="Name of the release.")
@click.option("-n", "--namespace", default="default", show_default=True, metavar="NAME", help="Its namespace.")
@click.option("--is-upgrade", is_flag=True, help="Render what an upgrade would.")
@_output("yaml", "json")
def template(
    *, chart: Path, given: "Given", strict: bool, name: str, namespace: str, is_upgrade: bool, output_format: str
) -> None:
    """Print what a chart renders to, in the order in which it is installed, and its notes.

    Expressions that need the state of a resource stay as they are.
    """
    import asyncio

    from tinkwell.core.release.lifecycle_event.name import Event
    from tinkwell.provisioner.chart import rendering, source, spoken

    say = spoken.teller(str(chart), line=_aside, warning=_warn)
    with _told(chart):
        opened = source.open_chart(chart, given)
        release = rendering.release_of(name, namespace, is_upgrade=is_upgrade)
        root = opened.process(strict=strict)
        rendered = asyncio.run(rendering.render_checked(root, release, say=say, last=Event.POST_TEMPLATE))
    for warning in rendered.warnings:
        _warn(warning)
    if output_format == "json":
        click.echo(_json(rendered.as_json()))
    else:
        for line in rendering.text(rendered):
            _echo(line)


@click.command()
@_chart
@_values
@_strict
@_output("text", "json", "dot", "mermaid")
@click.pass_context
def dag(ctx: click.Context, /, chart: Path, given: "Given", strict: bool, output_format: str) -> None:
    """Show in which order the subcharts of a chart are installed, and why."""
    from tinkwell.core.release.chart import process
    from tinkwell.provisioner.chart import drawing, fault, source

    try:
        opened = source.open_chart(chart, given)
        unit = opened.process(strict=strict)
    except errors.InvalidField as error:
        if output_format != "json":
            raise source.explain(error, str(chart)) from error
        click.echo(_json({"error": fault.as_json(error)}))
        ctx.exit(1)
    if output_format == "json":
        click.echo(_json(process.dag(unit)))
    else:
        draw = {"text": drawing.text, "dot": drawing.dot, "mermaid": drawing.mermaid}[output_format]
        for line in draw(unit):
            _echo(line)


@click.command()
@_chart
@click.option(
    "-d",
    "--destination",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    help="Folder to write the archive to.",
)
def package(*, chart: Path, destination: Path) -> None:
    """Pack the folder of a chart into an archive NAME-VERSION.tgz, and print its name and its digest.

    The same files give the same archive. Files that .helmignore names stay out, and dependencies with a repository
    file://… are vendored.
    """
    import asyncio

    from tinkwell.core.release.chart.file import archive
    from tinkwell.provisioner.chart import packaging, source, spoken

    with _told(chart):
        opened = source.open_chart(chart, {})
        found = opened.chart.metadata
        path = destination / f"{found.name}-{found.version}.tgz"
        say = spoken.teller(str(chart), line=_aside, warning=_warn)
        asyncio.run(packaging.write(opened, path, say))
    _echo(f"{path}  {archive.digest(opened.data)}")


@click.command()
@click.argument("archive", type=click.Path(path_type=Path), metavar="ARCHIVE")
@click.option("--keyring", type=click.Path(path_type=Path), required=True, help="Keys, as gpg --export writes them.")
def verify(*, archive: Path, keyring: Path) -> None:
    """Check that a chart's archive is what was signed by ARCHIVE.prov, by a key of the keyring."""
    from tinkwell.client.release import provenance
    from tinkwell.core.release.chart.file import archive as archives

    found = provenance.verify(archive, keyring)
    _echo(f"{archive}  {archives.digest(found.data)}")
    _echo(f"signed by {found.signer}, key {found.fingerprint}")


@click.command()
@_chart
@click.argument("part", type=click.Choice(["values", "dependencies"]), metavar="values|dependencies")
@_values
@_output("text", "json")
def explain(*, chart: Path, part: str, given: "Given", output_format: str) -> None:
    """Say where each value of a chart is from, or why each of its dependencies is enabled or not."""
    from tinkwell.provisioner.chart import explanation, source

    with _told(chart):
        opened = source.open_chart(chart, given)
        found = explanation.values(opened) if part == "values" else explanation.dependencies(opened)
    if output_format == "json":
        click.echo(_json(found.as_json()))
    else:
        for line in found.lines():
            _echo(line)


@contextlib.contextmanager
def _told(chart: Path) -> Iterator[None]:
    """Say where in the chart something is wrong."""
    from tinkwell.provisioner.chart import source

    try:
        yield
    except errors.InvalidField as error:
        raise source.explain(error, str(chart)) from error


def _echo(line: str) -> None:
    """Write a line to standard output. Whoever made the chart may have put anything into it."""
    click.echo(terminal.escaped(line))


def _aside(text: str) -> None:
    click.echo(terminal.escaped(text), err=True)


def _warn(text: str) -> None:
    _aside(f"Warning: {text}")


def _json(value: object) -> str:
    is_ascii = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    return terminal.in_json(json.dumps(value, indent=2, ensure_ascii=is_ascii, default=float))
