"""What a benchmark hands back: tables to show, verdicts on what was asked, and the notes that make both honest."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from bench.statistic import Spread

Relation = Literal["≥", "≤"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure that was asked for. `value` is None where it could not be measured; `reason` says why then."""

    what: str
    value: float | None
    relation: Relation
    bound: float
    unit: str = "×"
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @classmethod
    def of(cls, what: str, measured: Spread, relation: Relation, bound: float, *, unit: str = "×") -> Self:
        """Judge the median; the spread is shown beside it."""
        return cls(what, measured.median, relation, bound, unit, measured.low, measured.high)

    @classmethod
    def missing(cls, what: str, relation: Relation, bound: float, *, reason: str, unit: str = "×") -> Self:
        """Say that the figure could not be measured, and why."""
        return cls(what, None, relation, bound, unit, reason=reason)

    @property
    def is_held(self) -> bool:
        """Whether the figure was measured and is as good as asked."""
        if self.value is None:
            return False
        return self.value >= self.bound if self.relation == "≥" else self.value <= self.bound

    @property
    def word(self) -> str:
        """The verdict in words."""
        if self.value is None:
            return f"not measured: {self.reason}"
        return "held" if self.is_held else "**missed**"


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, ready to be shown."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that one benchmark found. `compares` and `notes` are Markdown: what is compared on what, what limits it."""

    title: str
    compares: str
    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        saved: dict[str, Any] = json.loads(path.read_text())
        return cls(
            title=saved["title"],
            compares=saved["compares"],
            tables=tuple(
                Table(table["title"], tuple(table["header"]), tuple(tuple(row) for row in table["rows"]))
                for table in saved["tables"]
            ),
            verdicts=tuple(Verdict(**verdict) for verdict in saved["verdicts"]),
            notes=tuple(saved["notes"]),
        )


def number(value: float) -> str:
    """Write a figure with the digits that mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def span(measured: Spread, *, scale: float = 1.0) -> str:
    """Write a median with its spread, each multiplied by the scale."""
    low, high = number(measured.low * scale), number(measured.high * scale)
    return f"{number(measured.median * scale)} ({low} – {high})"
