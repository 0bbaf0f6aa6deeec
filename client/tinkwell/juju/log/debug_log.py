"""`debug-log`: the log lines of a model's units, in the order of their times."""

import collections
import fnmatch
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tinkwell.juju.shell import command, failure
from tinkwell.juju.shell.context import Context

if TYPE_CHECKING:
    from tinkwell.client import UnitLogLine

_LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR")
# The output of scripts is logged at the levels that Juju uses.
_OUTPUT = {"STDOUT": "DEBUG", "STDERR": "WARNING"}
_EPOCH = datetime.fromtimestamp(0, UTC)


@command.command("debug-log")
@click.option(
    "--limit", "-n", type=click.IntRange(min=0), default=0, metavar="N", help="Only the newest lines; 0 for all."
)
@click.option("--lines", type=click.IntRange(min=0), metavar="N", hidden=True)
@click.option(
    "--include", "-i", "included", multiple=True, metavar="NAME", help="Only web, web/0 or unit-web-0. Repeatable."
)
@click.option("--exclude", "-x", "excluded", multiple=True, metavar="NAME", help="All but these. Repeatable.")
@click.option(
    "--level", "-l", type=click.Choice(_LEVELS, case_sensitive=False), help="Only this level and higher ones."
)
@click.option("--replay", is_flag=True, hidden=True)
@click.option("--no-tail", "--notail", "ends", is_flag=True, hidden=True)
@click.option("--tail", is_flag=True, hidden=True)
@click.option("--color", is_flag=True, hidden=True)
@click.option("--utc", is_flag=True, help="Times are in UTC, which they are in any case.")
@click.option("--date", is_flag=True, help="Write the date, too.")
@click.option("--ms", "has_milliseconds", is_flag=True, help="Write milliseconds, too.")
async def debug_log(
    context: Context,
    limit: int,
    lines: int | None,
    included: tuple[str, ...],
    excluded: tuple[str, ...],
    level: str | None,
    replay: bool,
    ends: bool,
    tail: bool,
    color: bool,
    utc: bool,
    date: bool,
    has_milliseconds: bool,
) -> None:
    """Print the log of the units of a model, oldest first, and end."""
    if tail:
        raise failure.Usage("--tail: debug-log ends with the last line; `tinkwell unit logs NAME --follow` goes on")
    wanted = _wanted(included, excluded, level or _LEVELS[0])
    found = await _lines(context, limit or lines or 0, wanted, has_all=not (included or excluded or level))
    write = writer(has_date=date, has_milliseconds=has_milliseconds)
    for each in found:
        for text in write(each):
            context.line(text)


async def _lines(
    context: Context, limit: int, wanted: "Callable[[UnitLogLine], bool]", *, has_all: bool
) -> "Iterable[UnitLogLine]":
    """Return the newest wanted lines of all applications, all of them for a limit of 0, in the order of time."""
    source = context.client.applications
    found: list[UnitLogLine] = []
    names = [each.name async for each in source.list(context.namespace)]
    for name in names:
        own: collections.deque[UnitLogLine] = collections.deque(maxlen=limit or None)
        # If lines are filtered out here, the server cannot count the wanted ones, so it sends all.
        async for each in source.logs(name, namespace=context.namespace, limit=limit if has_all else 0):
            if wanted(each):
                own.append(each)
        found += own
    found.sort(key=lambda each: (each.created_at or _EPOCH, each.unit, each.ordinal, each.attempt, each.number))
    return found[-limit:] if limit else found


def _wanted(included: Iterable[str], excluded: Iterable[str], level: str) -> "Callable[[UnitLogLine], bool]":
    chosen, left_out = [*included], [*excluded]
    least = _LEVELS.index(level.upper())

    def wanted(line: "UnitLogLine") -> bool:
        names = (line.unit, line.unit.rpartition("/")[0], _tag(line.unit))
        if chosen and not _is_one(names, chosen):
            return False
        return not _is_one(names, left_out) and _LEVELS.index(_level(line)) >= least

    return wanted


def _is_one(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _tag(unit: str) -> str:
    return f"unit-{unit.replace('/', '-')}"


def _level(line: "UnitLogLine") -> str:
    found = _OUTPUT.get(line.level, line.level)
    return found if found in _LEVELS else "INFO"


def writer(*, has_date: bool, has_milliseconds: bool) -> "Callable[[UnitLogLine], Iterable[str]]":
    """Return a function that formats a log line as Juju does, as one line for each line of its text."""
    pattern = f"{'%Y-%m-%d ' if has_date else ''}%H:%M:%S{'.%f' if has_milliseconds else ''}"

    def write(line: "UnitLogLine") -> Iterable[str]:
        time = (line.created_at or _EPOCH).astimezone(UTC).strftime(pattern)
        # The fraction has six digits; the first three are milliseconds.
        time = time[:-3] if has_milliseconds else time
        module = f"unit.{line.unit}.{line.event_name if line.level in _OUTPUT else 'juju-log'}"
        for text in line.text.splitlines() or [""]:
            yield f"{_tag(line.unit)}: {time} {_level(line)} {module} {text}"

    return write
