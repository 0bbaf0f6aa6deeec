"""The page, and the table at the end of a run."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.result import Outcome, Table, Verdict, number

_INTRODUCTION = """\
# Benchmarks

Written by `{command}`, which runs all of it and takes every figure on this page from that one run. Everything,
PostgreSQL, servers, load generators and peers, runs on the same machine over loopback or Unix sockets, so the parts
compete for the same cores: read ratios, not absolute figures. Variants are run in turn (A B B A …), {pairs} of each,
over fresh databases; a figure is the median of those runs with the smallest and the largest in brackets, and a ratio is
the median of the ratios pair by pair.
"""


def write(
    path: Path,
    outcomes: Sequence[Outcome],
    failures: Mapping[str, str],
    *,
    machine: Mapping[str, str],
    command: str,
    pairs: int,
) -> None:
    """Write the page; `failures` are the reasons of benchmarks that could not be run, by name."""
    parts = [
        _INTRODUCTION.format(command=command, pairs=pairs),
        "## What was asked, and what was measured\n",
        _table(verdicts(outcomes)),
        *(f"**{name} could not be run.**\n\n```\n{reason}\n```\n" for name, reason in failures.items()),
        "## On what\n",
        _table(Table("", ("", ""), tuple(machine.items()))),
    ]
    for outcome in outcomes:
        parts += [f"## {outcome.title}\n", outcome.compares.strip() + "\n"]
        for table in outcome.tables:
            parts += [f"**{table.title}**\n", _table(table)]
        parts += ["\n".join(f"* {note}" for note in outcome.notes) + "\n"] if outcome.notes else []
    path.write_text("\n".join(parts))


def verdicts(outcomes: Iterable[Outcome]) -> Table:
    """Put all verdicts into one table."""
    rows = [
        (verdict.what, _measured(verdict), f"{verdict.relation} {number(verdict.bound)}{_unit(verdict)}", verdict.word)
        for outcome in outcomes
        for verdict in outcome.verdicts
    ]
    return Table("", ("", "measured", "asked", ""), tuple(rows))


def plain(table: Table) -> str:
    """Lay a table out for a terminal."""
    lines = [[cell.replace("**", "") for cell in line] for line in (table.header, *table.rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _measured(verdict: Verdict) -> str:
    if verdict.value is None:
        return "–"
    around = ""
    if verdict.low is not None and verdict.high is not None:
        around = f" ({number(verdict.low)} – {number(verdict.high)})"
    return f"{number(verdict.value)}{_unit(verdict)}{around}"


def _unit(verdict: Verdict) -> str:
    return verdict.unit if verdict.unit == "×" else f" {verdict.unit}".rstrip()


def _table(table: Table) -> str:
    lines = [table.header, ("---",) * len(table.header), *table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
