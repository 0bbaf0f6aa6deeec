"""Reads a chart and the values that are given to it, from files of this machine."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import rich_click as click

from tinkwell.client.release import package
from tinkwell.core import errors
from tinkwell.core.process_log import terminal
from tinkwell.core.release.chart import place, process
from tinkwell.core.release.chart.file import archive, chart
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.value import user_values
from tinkwell.core.release.chart.value.user_values import Given, UserValues

MAX_FILE_BYTES = 1024 * 1024


class Refused(click.ClickException):
    """A chart, or what was given to it, is wrong; each sentence is shown in a line of its own."""

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences

    def show(self, file: object = None) -> None:
        """Write the sentences to standard error."""
        for sentence in self.sentences:
            click.echo(f"Error: {terminal.escaped(sentence)}", err=True)


@dataclass(frozen=True, slots=True)
class Opened:
    """A chart as it would be installed: its archive and files, and what it says together with values."""

    path: str
    data: bytes
    chart: Chart
    given: UserValues

    def process(self, *, strict: bool) -> Unit:
        """Process the chart with its values. Raises `errors.InvalidField`."""
        return process.process(self.chart, self.given.values, strict=strict)


def explain(error: errors.InvalidField, path: str) -> Refused:
    """Say where in the chart something is wrong."""
    is_chart = isinstance(error, errors.ChartInvalid)
    sentences = [place.describe(each, path) for each in error.violations] if is_chart else _plain(error)
    return Refused(sentences)


def open_chart(path: Path, given: Given) -> Opened:
    """Read a chart, a folder or an archive, and values for it. Raises `errors.InvalidField` and `OSError`."""
    values = user_values.unite(given, read_text)
    data = package.read(path)
    return Opened(str(path), data, chart.load(archive.unpack(data)), values)


def read_text(path: str) -> str:
    """Read a file of values, or standard input for `-`. Raises `errors.InvalidField` and `OSError`."""
    name = "standard input" if path == "-" else path
    if path == "-":
        content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    else:
        with Path(path).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise errors.InvalidField.of(name, f"has more than {MAX_FILE_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.InvalidField.of(name, f"must be UTF-8; the byte at place {error.start:,} is not") from error


def _plain(error: errors.InvalidField) -> list[str]:
    return [f"{each.field}: {each.description}" if each.field else each.description for each in error.violations]
