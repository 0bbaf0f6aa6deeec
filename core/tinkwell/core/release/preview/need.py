"""Which other resources must be looked at before a resource, and why.

A resource needs those that it depends on. A text of its config that names `subcharts` or `inputs` also needs the
sources of these: all outputs of a chart are evaluated together, from all resources that they name, and so are the
inputs. Other waiting, for a batch for instance, only affects the time of an installation and not its result.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.late import Late, named_subcharts, names_inputs, paths_of
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.value.document import JsonObject

# By path of a resource: the resources that it needs, with the reason, such as "config.url needs bar.outputs.url".
Needs: TypeAlias = Mapping[str, Mapping[str, str]]

_INPUT = re.compile(r"inputs\s*+\.\s*+(\w+)")
_OUTPUT = re.compile(r"outputs\s*+\.\s*+(\w+)")


class _Side(StrEnum):
    INPUTS = "inputs"
    OUTPUTS = "outputs"


class _Wire(NamedTuple):
    chart: str
    side: _Side


def needs(manifest: RenderedManifest) -> Needs:
    """Return for each resource of a manifest the resources that it needs, each with the first reason."""
    wires = _Wires(manifest)
    return {path: _of_resource(manifest, path, wires) for path in manifest.installed}


def _of_resource(manifest: RenderedManifest, path: str, wires: "_Wires") -> Mapping[str, str]:
    resource, chart = manifest.resources[path], name.split_chart(path)[0]
    found: dict[str, str] = {}
    for field, text in _texts("config", resource.config, resource.late):
        for root, target in resource.late.names.items():
            if re.search(rf"\b{re.escape(root)}\b", text):
                for source in paths_of(target):
                    found.setdefault(source, f"{field} needs {source}")
        for wire, what in _named(manifest, chart, text):
            for source in wires.sources(wire):
                found.setdefault(source, f"{field} needs {what}")
    for source in resource.prerequisites:
        found.setdefault(source, f"it depends on {source}")
    return found


class _Wires:
    """Finds the sources of the inputs and outputs of charts."""

    def __init__(self, manifest: RenderedManifest) -> None:
        self._manifest = manifest
        self._known: dict[_Wire, tuple[str, ...]] = {}

    def sources(self, wanted: _Wire) -> tuple[str, ...]:
        """Return the resources that a wire comes from; it uses no recursion, so long chains of charts are safe."""
        waiting, seen = [wanted], {wanted}
        while waiting:
            wire = waiting[-1]
            before = list(self._before(wire))
            missing = [each for each in before if each not in self._known and each not in seen]
            if missing:
                waiting += missing
                seen.update(missing)
                continue
            waiting.pop()
            own = [path for target in self._written(wire)[2].names.values() for path in paths_of(target)]
            others = [path for each in before for path in self._known.get(each, ())]
            self._known[wire] = tuple(dict.fromkeys((*own, *others)))
        return self._known[wanted]

    def _before(self, wire: _Wire) -> Iterator[_Wire]:
        place, document, late = self._written(wire)
        for _, text in _texts("", document, late):
            for before, _ in _named(self._manifest, place, text):
                yield before

    def _written(self, wire: _Wire) -> tuple[str, JsonObject, Late]:
        """Return the chart whose files have the wire's expressions, the document, and its late texts."""
        chart = self._manifest.charts[wire.chart]
        if wire.side is _Side.OUTPUTS:
            return wire.chart, chart.outputs, chart.late_outputs
        return wire.chart.rpartition(".")[0] or wire.chart, chart.inputs, chart.late_inputs


def _texts(field: str, document: JsonObject, late: Late) -> Iterable[tuple[str, str]]:
    """Yield the late texts of a document with the paths of their fields."""
    found = (name.locate(field, document, pointer) for pointer in late.pointers)
    return [(at, text) for at, text in found if isinstance(text, str)]


def _named(manifest: RenderedManifest, chart: str, text: str) -> Iterator[tuple[_Wire, str]]:
    """Yield the wires that a late text in a chart names, each with its name for messages."""
    if not manifest.charts:
        return
    if names_inputs(text):
        yield _Wire(chart, _Side.INPUTS), f"inputs{_member(_INPUT, text)}"
    for child in sorted(named_subcharts(text)):
        if (path := f"{chart}.{child}") in manifest.charts:
            yield _Wire(path, _Side.OUTPUTS), f"{child}.outputs{_output(text, child)}"


def _output(text: str, child: str) -> str:
    """Return the output of a subchart that a text names, with a dot in front; "" if it names none.

    Each line is searched once, after the first place that names the subchart.
    """
    behind = (line.partition(child)[2] for line in text.split("\n"))
    return next(filter(None, (_member(_OUTPUT, each) for each in behind)), "")


def _member(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return f".{found[1]}" if found else ""
