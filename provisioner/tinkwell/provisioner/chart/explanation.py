"""Explains which source gave each value of a chart, and why each dependency is enabled or disabled."""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tinkwell.core.release.chart.value import origin
from tinkwell.core.release.chart.value.origin import Source
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.chart.source import Opened

_HIDDEN = "•••"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, and the same for programs."""

    cells: tuple[str, ...]
    fields: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]

    def as_json(self) -> list[JsonObject]:
        """Give the JSON form."""
        return [row.fields for row in self.rows]

    def lines(self) -> Iterator[str]:
        """Give the lines of the table, in aligned columns; an empty cell is a dash."""
        cells = [self.header, *(tuple(map(_shown, row.cells)) for row in self.rows)]
        widths = [max(_width(row[column]) for row in cells) for column in range(len(self.header))]
        for row in cells:
            padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(padded).rstrip()


def values(opened: Opened) -> Table:
    """Say of each value which file or flag has decided it, and which ones it went before."""
    rows = []
    for each in origin.values(opened.process(strict=False), opened.given.parts):
        shown = _HIDDEN if each.is_secret else document.dump_json(each.value)
        *former, last = map(str, each.sources) if each.sources else ("",)
        fields: JsonObject = {
            "key": each.key,
            "value": None if each.is_secret else each.value,
            "from": last,
            "before": [*reversed(former)],
        }
        rows.append(Row((each.key, shown, last, ", ".join(reversed(former))), fields))
    return Table(("KEY", "VALUE", "FROM", "BEFORE"), tuple(rows))


def dependencies(opened: Opened) -> Table:
    """Say of each dependency whether it is enabled, why, and what it waits for."""
    rows = []
    for each in origin.dependencies(opened.process(strict=False), opened.given.parts):
        is_enabled = each.decision.is_enabled
        why, sources = each.decision.why, _names(each.sources)
        after = [edge.before for edge in each.edges]
        fields: JsonObject = {
            "path": each.path,
            "enabled": is_enabled,
            "why": why,
            "from": [*sources],
            "after": [*after],
        }
        state = "enabled" if is_enabled else "disabled"
        rows.append(Row((each.path, state, why, ", ".join(sources), ", ".join(after)), fields))
    return Table(("CHART", "STATE", "WHY", "FROM", "AFTER"), tuple(rows))


def _names(sources: Iterable[Source]) -> list[str]:
    """Give the sources, the one that counts first."""
    return [str(source) for source in sources][::-1]


def _shown(cell: str) -> str:
    return parse.escape(cell) or "-"


def _width(text: str) -> int:
    """Count the columns that a text takes on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
