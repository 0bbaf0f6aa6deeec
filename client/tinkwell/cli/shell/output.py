"""Writes the output of commands: tables for people, JSON and YAML for programs, colours only on terminals.

Everything goes through `click.echo`, which flushes, so a reader at the other end of a pipe sees each event at once.
On a terminal, control characters in the texts of others are escaped; a pipe and a file get the texts unchanged.
Tables are aligned with spaces and never cut: an id can always be copied, and a line can always be split at blanks.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

import rich_click as click

from tinkwell.core.process_log import terminal


class Format(StrEnum):
    """How a value is written."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    JSONL = "jsonl"


class Shaped(Protocol):
    """An object of the client with a fixed JSON form."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""


_COLOURS = {
    "CREATED": "green",
    "UPDATED": "cyan",
    "DELETED": "magenta",
    "STARTED": "blue",
    "RUNNING": "blue",
    "INPROGRESS": "cyan",
    "RETRYING": "yellow",
    "SUCCEEDED": "green",
    "FAILED": "red",
    "TIMEOUT": "red",
    "CANCELLED": "magenta",
    "HOME": "cyan",
    "CUSTOM": "yellow",
    "DEPLOYED": "green",
    "READY": "green",
    "VALID": "green",
    "INSTALLING": "blue",
    "REMOVING": "blue",
    "UNINSTALLING": "blue",
    "REMOVED": "magenta",
    "UNINSTALLED": "magenta",
    "SKIPPED": "yellow",
    "LEFT": "yellow",
    "STALE": "yellow",
    "COMMITTED": "green",
    "ERROR": "red",
    "WITHDRAWN": "yellow",
    "ABANDONED": "magenta",
    "CHANGED": "cyan",
}


def has_colour() -> bool:
    """Whether standard output is a terminal that shows colours, and the user wants them (NO_COLOR)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def colour(kind: str) -> str | None:
    """Return the colour of a state, or of an event type, by its last word."""
    return _COLOURS.get(kind.rpartition("_")[2])


def paint(text: str, kind: str) -> str:
    """Colour a text by its state or event type."""
    chosen = colour(kind)
    return click.style(text, fg=chosen) if chosen and has_colour() else text


def emphasise(text: str) -> str:
    """Make a text stand out on a terminal."""
    return click.style(text, bold=True) if has_colour() else text


def line(text: str) -> None:
    """Write a line of our own to standard output. On a terminal, all control sequences except colours are escaped."""
    _write(terminal.coloured(text) if sys.stdout.isatty() else text)


def text(content: str) -> None:
    """Write a text that does not come from this program."""
    _write(shown(content))


def shown(content: str, *, is_raw: bool = False) -> str:
    """Return a text that does not come from this program, for standard output: escaped for a terminal, no colours."""
    return content if is_raw or not sys.stdout.isatty() else terminal.plain(content)


def part(text: str) -> None:
    """Write a text unchanged to standard output, without a line end."""
    click.echo(text, color=True, nl=False)


def note(text: str, *, is_dim: bool = False) -> None:
    """Write a note to standard error, so that it does not mix with results."""
    shown = terminal.escaped(text)
    click.echo(click.style(shown, dim=True) if is_dim else shown, err=True)


def objects(values: Sequence[Shaped], chosen: Format) -> None:
    """Write a list as one JSON array or one YAML list."""
    whole([value.to_json() for value in values], chosen)


def whole(value: object, chosen: Format) -> None:
    """Write a JSON value in full, as JSON or YAML."""
    match chosen:
        case Format.YAML:
            _write(_yaml(value))
        case Format.JSONL:
            _write(terminal.in_json(json.dumps(value, ensure_ascii=_is_ascii(), separators=(",", ":"))))
        case Format.JSON | Format.TABLE:
            _write(terminal.in_json(json.dumps(value, ensure_ascii=_is_ascii(), indent=2)))


def item(value: object, chosen: Format) -> None:
    """Write one value of a stream: indented JSON, a YAML document, or one line of compact JSON."""
    if chosen is Format.YAML:
        line("---")
    whole(value, chosen)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write rows in aligned columns under a header; a column named STATE is coloured, an empty cell is a dash."""
    cells = [[clean(cell) or "-" for cell in row] for row in rows]
    widths = [max(_width(row[place]) for row in [header, *cells]) for place in range(len(header))]
    line(emphasise(_aligned(header, header, widths)))
    for row in cells:
        painted = [paint(cell, cell) if name == "STATE" else cell for name, cell in zip(header, row, strict=True)]
        line(_aligned(row, painted, widths))


def fields(pairs: Sequence[tuple[str, str]]) -> None:
    """Write one object as a column of names and a column of values; empty values are left out."""
    shown = [(name, clean(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        line(f"{emphasise(name.ljust(width))}  {paint(value, value) if name == 'STATE' else value}")


def revision(number: int) -> str:
    """Describe a change by its revision; 0 means that nothing had to change."""
    return f"revision {number}" if number else "unchanged"


def clean(text: str) -> str:
    """Escape characters that do not print, so that no value can move the cursor or break a line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def clean_output(text: str) -> str:
    """Remove colours from an output line, and escape other characters that do not print."""
    return clean(terminal.plain(text).expandtabs())


def cut(text: str, columns: int) -> str:
    """Cut a text to a number of columns of a terminal."""
    while _width(text) > columns:
        text = text[: len(text) - max((_width(text) - columns) // 2, 1)]
    return text


def clean_lines(text: str) -> str:
    """Escape characters that do not print, except line ends."""
    return "\n".join(map(clean, text.rstrip("\n").split("\n")))


def moment(value: datetime | None, *, digits: int = 0) -> str:
    """Format a time in UTC, with `digits` decimals of the seconds; empty for None."""
    if value is None:
        return ""
    text = value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return f"{text[: 20 + digits] if digits else text[:19]}Z"


def _aligned(plain: Sequence[str], painted: Sequence[str], widths: Sequence[int]) -> str:
    gaps = (" " * (width - _width(cell)) for cell, width in zip(plain, widths, strict=True))
    return "  ".join(cell + gap for cell, gap in zip(painted, gaps, strict=True)).rstrip()


def _width(text: str) -> int:
    """Count the columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _is_ascii() -> bool:
    # If standard output cannot hold all of Unicode, JSON writes the other characters as escapes.
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"


def _yaml(value: object) -> str:
    from tinkwell.core.value.yaml import text as yaml_text

    # This puts texts with characters that do not print into double quotes.
    return terminal.in_yaml(yaml_text.dump(value))


def _write(text: str) -> None:
    # Without `color`, click would remove colours, and other sequences with them, from output that is no terminal.
    click.echo(text, color=True)
