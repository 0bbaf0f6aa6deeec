"""Finds what is wrong with a chart, with its subcharts and with values for it."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.release.chart import place, process
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.value.user_values import Given
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.chart import rendering, source, spoken
from tinkwell.provisioner.chart.source import Opened

_RELEASE = "release-name"


class Severity(StrEnum):
    """How much a finding matters: an ERROR keeps the chart from being installed."""

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence, with the file and the place that it is about."""

    severity: Severity
    message: str

    def as_json(self) -> JsonObject:
        """Give the JSON form."""
        return {"severity": self.severity.value, "message": self.message}


async def lint(chart: Path, given: Given, *, show: Callable[[str], None]) -> list[Finding]:
    """Return all findings, the worst ones first; `show` is told what scripts print.

    Raises `OSError` and `sandbox.errors.SandboxError`.
    """
    found: list[Finding] = []
    say = spoken.teller(str(chart), line=show, warning=lambda text: found.append(Finding(Severity.WARNING, text)))
    try:
        opened = source.open_chart(chart, given)
        found += _about_files(opened)
        # What is refused is told by now, and what is wrong besides is told as well.
        root = process.process(_without_refusals(opened.chart), opened.given.values)
        found += _about_units(root)
        found += await _about_values(root, opened.path)
        release = rendering.release_of(_RELEASE, "default", is_upgrade=False)
        rendered = await rendering.render(root, release, say=say, last=Event.PRE_LINT)
        found += (Finding(Severity.WARNING, warning) for warning in rendered.warnings)
    except errors.InvalidField as error:
        found += _wrong(error, str(chart))
    order = list(reversed(Severity))
    return sorted(dict.fromkeys(found), key=lambda each: order.index(each.severity))


def has_warning(found: Iterable[Finding]) -> bool:
    """Tell whether there is a finding that is no mere hint."""
    return any(each.severity is not Severity.INFO for each in found)


def summary(found: Iterable[Finding]) -> str:
    """Count the findings in a sentence."""
    counts = {severity: sum(each.severity is severity for each in found) for severity in Severity}
    number, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
    return f"{number} error{'' if number == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}"


def _about_files(opened: Opened) -> Iterator[Finding]:
    """Say what nobody reads, or knows, in the files of all charts, enabled or not."""
    for each in charts.every(opened.chart):
        yield from _wrong(errors.ChartInvalid(each.refusals), opened.path)
        for warning in each.warnings:
            yield Finding(Severity.WARNING, f"{opened.path.rstrip('/')}/{warning}")
        if each.metadata.deprecated:
            yield Finding(Severity.WARNING, f"{opened.path.rstrip('/')}/{each.path(archive.METADATA)}: is deprecated")


def _about_units(root: Unit) -> Iterator[Finding]:
    """Say what is odd about a chart with its subcharts and values."""
    for warning in process.warnings(root):
        yield Finding(Severity.WARNING, warning)
    paths: dict[tuple[str, str], list[str]] = {}
    for unit in process.units(root):
        paths.setdefault((unit.chart.metadata.name, unit.chart.metadata.version), []).append(unit.path)
    for (name, version), found in paths.items():
        if len(found) > 1:
            yield Finding(Severity.INFO, f"{name} {version} is installed {len(found)} times: {', '.join(found)}")


async def _about_values(root: Unit, path: str) -> list[Finding]:
    """Say which values do not match the schemas of their charts."""
    try:
        await rendering.check_schemas(root)
    except errors.InvalidField as error:
        return list(_wrong(error, path))
    return []


def _without_refusals(chart: Chart) -> Chart:
    """Return a chart of which nothing is known that is refused."""
    inner = {name: _without_refusals(each) for name, each in chart.charts.items()}
    return dataclasses.replace(chart, refusals=(), charts=inner)


def _wrong(error: errors.InvalidField, path: str) -> Iterator[Finding]:
    is_chart = isinstance(error, errors.ChartInvalid)
    for each in error.violations:
        field = f"{each.field}: " if each.field else ""
        yield Finding(Severity.ERROR, place.describe(each, path) if is_chart else f"{field}{each.description}")
