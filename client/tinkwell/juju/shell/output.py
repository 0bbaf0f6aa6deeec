"""Writes the output of commands: one line of JSON or a YAML document for programs, tables and words for people."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

import click

from tinkwell.core.process_log import terminal


class Format(StrEnum):
    """How a value is written."""

    TABULAR = "tabular"
    SMART = "smart"
    YAML = "yaml"
    JSON = "json"


# The values of `--format`; the first one is the default.
TABULAR_FIRST = (Format.TABULAR, Format.YAML, Format.JSON)
YAML_FIRST = (Format.YAML, Format.JSON)
SMART_FIRST = (Format.SMART, Format.YAML, Format.JSON)


def line(text: str) -> None:
    """Write a line to standard output; for a terminal, its control characters are escaped."""
    click.echo(terminal.plain(text) if sys.stdout.isatty() else text, color=True)


def note(text: str) -> None:
    """Write a line about the work itself to standard error."""
    click.echo(terminal.escaped(text), err=True)


def show(value: object, chosen: Format, tabular: Callable[[], Iterable[str]] | None = None) -> None:
    """Write a JSON value in a format; as a table, write the lines of `tabular` if it is given."""
    match chosen:
        case Format.JSON:
            line(json.dumps(value, separators=(",", ":")))
        case Format.TABULAR | Format.SMART if tabular is not None:
            for each in tabular():
                line(each)
        case _:
            from tinkwell.core.value.yaml import text  # ruamel.yaml costs start-up time, see main

            line(terminal.in_yaml(text.dump(value)))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose columns are two blanks apart."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
