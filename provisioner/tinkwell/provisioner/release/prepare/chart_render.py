"""Renders the charts of a release, one after the other, and joins the results to one manifest.

One child process evaluates all charts, with limits for each chart. Errors name the file, such as
`charts/store/templates/site.yaml.resources.web.type`.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release.chart import awaited, dependency, process
from tinkwell.core.release.chart.file import chart as chart_files
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.manifest import name, reader
from tinkwell.core.release.manifest.chart_assembly import Joining, Part
from tinkwell.core.release.manifest.late import NONE_LATE, Late
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.core.release.manifest.reader import Templates
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.core.value.yaml import position
from tinkwell.provisioner.release.expression.evaluate import Expressions, Inputs, RenderedPart
from tinkwell.provisioner.release.expression.naming import Release
from tinkwell.provisioner.release.prepare.chart_source import Charts

_NOTES = "templates/NOTES.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The manifest of a release, and warnings for the authors of its charts."""

    manifest: RenderedManifest
    warnings: tuple[str, ...]


async def render(charts: Charts, release: Release, expressions: Expressions, *, wait: Wait) -> Rendered:
    """Render all charts; raises `errors.InvalidField` with every violation, and `sandbox.errors.SandboxError`."""
    rendering = _Rendering(charts, release, expressions, wait)
    for unit in process.units(charts.root):
        if not (rendering.checks.is_full or rendering.is_too_much):
            await rendering.add(unit)
    rendering.checks.finish()
    warnings = (*process.warnings(charts.root), *rendering.warnings)
    return Rendered(manifest=rendering.joining.manifest, warnings=warnings)


class _Rendering:
    """The results of the charts rendered so far; `checks` collects the violations."""

    def __init__(self, charts: Charts, release: Release, expressions: Expressions, wait: Wait) -> None:
        self.checks = check.Checks(most=document.MAX_VIOLATIONS)
        self.joining = Joining()
        self.warnings: list[str] = []
        # Whether the charts together exceed the limits of a manifest.
        self.is_too_much = False
        self._charts = charts
        self._release = release
        self._expressions = expressions
        self._wait = wait
        self._inputs: dict[str, tuple[JsonObject, Late]] = {charts.root.path: ({}, NONE_LATE)}
        self._uses = Counter(id(unit.chart) for unit in process.units(charts.root))
        # The templates of charts that are used more than once, by `id` of the chart; None if they cannot be read.
        self._read: dict[int, Templates | None] = {}

    async def add(self, unit: Unit) -> None:
        """Render a chart, after its parent."""
        templates = await self._templates(unit)
        if templates is None:
            return
        try:
            part = await self._render(unit, templates)
        except errors.InvalidField as error:
            self.checks.note(self._located(unit, templates, error))
            return
        try:
            await asyncio.to_thread(self._join, unit, part)
        except errors.InvalidField as error:
            self.checks.note(error)
            self.is_too_much = True

    async def _templates(self, unit: Unit) -> Templates | None:
        key = id(unit.chart)
        if key in self._read:
            return self._read[key]
        found: Templates | None = None
        try:
            found = await asyncio.to_thread(_read, unit, is_root=unit is self._charts.root)
        except errors.InvalidField as error:
            self.checks.note(error)
        if self._uses[key] > 1:
            self._read[key] = found
        return found

    async def _render(self, unit: Unit, templates: Templates) -> RenderedPart:
        if self._wait is Wait.NONE:
            subcharts = awaited.by_nobody(unit)
            siblings = dict.fromkeys(unit.children, subcharts)
        else:
            subcharts, siblings = awaited.by_chart(unit), awaited.by_subcharts(unit)
        inputs = {child: Inputs(each.inputs, siblings[child]) for child, each in unit.children.items()}
        return await self._expressions.render_chart(
            templates.manifest,
            self._charts.names(unit.path, self._release),
            subcharts=subcharts,
            inputs=inputs,
            notes=unit.chart.notes if unit is self._charts.root else "",
        )

    def _join(self, unit: Unit, part: RenderedPart) -> None:
        # A parent with errors gives no inputs; its errors are reported anyway.
        inputs, late_inputs = self._inputs.pop(unit.path, ({}, NONE_LATE))
        chart = RenderedChart(
            name=unit.chart.metadata.name,
            version=unit.chart.metadata.version,
            batches=unit.sequence.batches,
            edges=tuple((edge.before, edge.after) for edge in unit.sequence.edges),
            inputs=inputs,
            late_inputs=late_inputs,
            notes=part.notes,
            values=unit.values if unit is self._charts.root and self._charts.is_changed else None,
            sensitive=self._charts.secret if unit is self._charts.root else (),
        )
        for child, given in part.inputs.items():
            self._inputs[unit.children[child].path] = given
        self.warnings += [f"{unit.path}: {warning}" for warning in part.warnings]
        self.joining.add(Part(path=unit.path, chart=chart, manifest=part.manifest))

    def _located(self, unit: Unit, templates: Templates, error: errors.InvalidField) -> errors.InvalidField:
        """Add to each violation its file, and the path of the chart if the chart is used more than once."""
        where = f"in {unit.path}: " if self._uses[id(unit.chart)] > 1 else ""
        return errors.InvalidField(
            errors.Violation(_place(unit, templates, violation.field), f"{where}{violation.description}")
            for violation in error.violations
        )


def _read(unit: Unit, *, is_root: bool) -> Templates:
    """Read the templates of a chart; raises `errors.InvalidField`."""
    chart_files.check_usable([unit.chart])
    chart_files.check_mended(unit.chart)
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    found = Templates(Manifest(), {})
    try:
        found = reader.read_templates(unit.chart.templates, folder=unit.chart.folder)
    except errors.InvalidField as error:
        checks.note(error)
    try:
        if is_root:
            reader.check_notes(unit.chart.path(_NOTES), unit.chart.notes)
    except errors.InvalidField as error:
        checks.note(error)
    checks.finish()
    return found


def _place(unit: Unit, templates: Templates, field: str) -> str:
    """Convert a path in the rendered chart to the path of a file followed by the path in that file."""
    match position.parse_path(field):
        case ("plugs" | "resources" | "outputs" as kind, str(key), *_):
            written, _ = name.split_path(key)
            file = templates.files.get(parse.child(kind, written))
            return f"{file}.{field}" if file else unit.chart.path("templates")
        case ("inputs", str(child), *_):
            declared = dependency.read_entries(unit.chart).by_name.get(child)
            rest = field.removeprefix(parse.child("inputs", child))
            return f"{declared.field}.inputs{rest}" if declared else unit.chart.path(f"Chart.yaml.{field}")
        case ("notes", *_):
            return unit.chart.path(_NOTES)
        case _:
            return unit.chart.path("templates")
