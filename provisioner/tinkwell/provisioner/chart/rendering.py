"""Renders a chart as an operation would, and writes what comes of it in the order in which it is installed."""

from collections.abc import Iterator
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.release.manifest import name as names
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonObject
from tinkwell.core.value.yaml import text as yaml_text
from tinkwell.provisioner.chart import life
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import Release
from tinkwell.provisioner.release.lifecycle import saying
from tinkwell.provisioner.release.prepare.chart_source import Charts
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.release.schema.values import check_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """What a chart renders to, and sentences for its author."""

    root: Unit
    manifest: RenderedManifest
    warnings: tuple[str, ...]

    def as_json(self) -> JsonObject:
        """Give the JSON form: the manifest, and beside it which texts are evaluated late."""
        return {
            "manifest": self.manifest.as_json(),
            "late": self.manifest.late_as_json(),
            "notes": self.manifest.charts[self.root.path].notes,
        }


def release_of(name: str, namespace: str, *, is_upgrade: bool) -> Release:
    """Return what expressions would know of a release."""
    return {
        "name": name,
        "namespace": namespace,
        "revision": 2 if is_upgrade else 1,
        "is_install": not is_upgrade,
        "is_upgrade": is_upgrade,
    }


async def render(
    root: Unit, release: Release, *, say: saying.Say, wait: Wait = Wait.ORDERED, last: Event | None = None
) -> Rendering:
    """Render a chart, with all that its handlers do about that; `last` is an event that comes after it.

    `say` is told what scripts print, and what they warn of.

    Raises `errors.ChartInvalid` with all that is wrong, and `sandbox.errors.SandboxError`.
    """
    charts.check_usable(unit.chart for unit in process.units(root))
    known = life.occasion(release, wait=wait)
    async with life.of_chart(Charts(root), known, say) as lived, Expressions() as expressions:
        try:
            await lived.read()
            rendered = await lived.render(release, expressions, wait=wait)
            if last is not None:
                await lived.announce(last)
        except errors.ChartInvalid:
            raise
        except errors.InvalidField as error:
            # Whatever is wrong from here on stands in a file of the chart.
            raise errors.ChartInvalid(error.violations) from error
    return Rendering(root=lived.root, manifest=lived.manifest, warnings=rendered.warnings)


async def render_checked(root: Unit, release: Release, *, say: saying.Say, last: Event | None = None) -> Rendering:
    """Render a chart whose values match its schemas; raises `errors.InvalidField`, too."""
    await check_schemas(root)
    return await render(root, release, say=say, last=last)


async def check_schemas(root: Unit) -> None:
    """Check the values of all charts against their schemas; raises `errors.InvalidField`."""
    schemas = Schemas()
    try:
        await check_values(root, schemas)
    finally:
        await schemas.close()


def text(rendered: Rendering) -> Iterator[str]:
    """Give the lines of a YAML document for each chart that has something, and at last the notes."""
    for unit in installation(rendered.root):
        found = _part(rendered.manifest, unit.path)
        if found:
            yield "---"
            yield f"# {unit.path}"
            yield yaml_text.dump(found)
    if notes := rendered.manifest.charts[rendered.root.path].notes.rstrip("\n"):
        yield "---"
        yield "# NOTES"
        for line in notes.split("\n"):
            yield f"# {parse.escape(line)}".rstrip()


def installation(unit: Unit) -> Iterator[Unit]:
    """Iterate over a chart and its subcharts in the order in which their own resources are installed."""
    for name in (name for batch in unit.sequence.batches for name in batch):
        if name in unit.children:
            yield from installation(unit.children[name])
        else:
            yield unit


def _part(manifest: RenderedManifest, path: str) -> JsonObject:
    """Return what the manifest has of one chart, as that would write it, without what is empty."""
    chart = manifest.charts[path]
    found: JsonObject = {
        "inputs": chart.inputs,
        "plugs": {_own(key): plug.as_json() for key, plug in manifest.plugs.items() if _chart(key) == path},
        "resources": {
            _own(key): _within(each.as_json()) for key, each in manifest.resources.items() if _chart(key) == path
        },
        "outputs": chart.outputs,
    }
    return {key: value for key, value in found.items() if value}


def _within(resource: JsonObject) -> JsonObject:
    """Return a resource with the paths of its dependencies as its chart knows them."""
    given = resource.get("dependencies")
    if not isinstance(given, dict):
        return resource
    own: JsonObject = {}
    for alias, target in given.items():
        own[alias] = [_own(str(each)) for each in target] if isinstance(target, list) else _own(str(target))
    return {**resource, "dependencies": own}


def _own(key: str) -> str:
    return names.split_chart(key)[1]


def _chart(key: str) -> str:
    return names.split_chart(key)[0]
