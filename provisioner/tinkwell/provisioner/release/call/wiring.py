"""Evaluates the values that charts pass to each other: the inputs of a chart, and the outputs of its subcharts.

Inputs and outputs are evaluated once, when a resource first needs them. That resource has waited for the resources that
they name, whose states no longer change within the operation. A new owner of the operation evaluates them again.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.late import Late, named_subcharts, names_inputs
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import INPUTS, SUBCHARTS, Names
from tinkwell.provisioner.release.resource import Resources


class _Kind(StrEnum):
    INPUTS = "inputs"
    OUTPUTS = "outputs"


class _Wire(NamedTuple):
    """A wire: the inputs or the outputs of one chart."""

    chart: str
    kind: _Kind


class Wiring:
    """Evaluates inputs and outputs of one manifest's charts; `names_of` gives the names that a chart may use."""

    def __init__(self, expressions: Expressions, names_of: Callable[[str], Names]) -> None:
        self._expressions = expressions
        self._names_of = names_of
        self._known: dict[_Wire, JsonObject] = {}

    async def names(
        self, manifest: RenderedManifest, chart: str, document: JsonValue, late: Late, resources: Resources
    ) -> JsonObject:
        """Return `inputs` and `subcharts` for the late texts of a document in a chart.

        Raises `errors.InvalidField` with the paths of texts that cannot be evaluated.
        """
        if not manifest.charts:
            return {}
        needed = list(_needed(manifest, chart, chart.rpartition(".")[2], document, late))
        for wire in needed:
            await self._evaluate(manifest, wire, resources)
        return self._named(chart, needed)

    async def outputs(self, manifest: RenderedManifest, resources: Resources) -> JsonObject:
        """Return the outputs of the release, whose resources must all be ready; raises `errors.InvalidField`."""
        if not manifest.charts:
            known, late = resources.names(manifest.late_outputs.names), manifest.late_outputs
            return await self._expressions.resolve(
                manifest.outputs, late, known, names=self._names_of(""), field="outputs"
            )
        root = _Wire(manifest.root, _Kind.OUTPUTS)
        await self._evaluate(manifest, root, resources)
        return self._known[root]

    async def _evaluate(self, manifest: RenderedManifest, wanted: _Wire, resources: Resources) -> None:
        """Evaluate a wire after the wires that it needs; a loop, since recursion would be too deep for long chains."""
        waiting = [wanted]
        while waiting:
            wire = waiting[-1]
            place, after, document, late = _written(manifest, wire)
            needed = list(_needed(manifest, place, after, document, late))
            if missing := [each for each in needed if each not in self._known]:
                waiting += missing
                continue
            if wire not in self._known:
                field = f"{parse.child('charts', wire.chart)}.{wire.kind}"
                known = {**resources.names(late.names), **self._named(place, needed)}
                self._known[wire] = await self._expressions.resolve(
                    document, late, known, names=self._names_of(place), field=field
                )
            waiting.pop()

    def _named(self, chart: str, wires: list[_Wire]) -> JsonObject:
        """Return the values of wires as `inputs` and `subcharts` of a chart."""
        outputs = {wire.chart: self._known[wire] for wire in wires if wire.kind is _Kind.OUTPUTS}
        subcharts: JsonObject = {path.removeprefix(f"{chart}."): {"outputs": given} for path, given in outputs.items()}
        inputs = self._known.get(_Wire(chart, _Kind.INPUTS), {})
        return {INPUTS: inputs, SUBCHARTS: subcharts}


def _written(manifest: RenderedManifest, wire: _Wire) -> tuple[str, str, JsonObject, Late]:
    """Return the chart whose file defines a wire, the node that waits for it, the document, and its late texts."""
    chart = manifest.charts[wire.chart]
    parent, _, own = wire.chart.rpartition(".")
    if wire.kind is _Kind.OUTPUTS:
        return wire.chart, own, chart.outputs, chart.late_outputs
    return parent or wire.chart, own, chart.inputs, chart.late_inputs


def _needed(manifest: RenderedManifest, chart: str, after: str, document: JsonValue, late: Late) -> Iterator[_Wire]:
    """Iterate over the wires that late texts of a document in a chart may name, if `after` has waited for them."""
    texts = [text for _, text in (name.locate("", document, pointer) for pointer in late.pointers)]
    written = [text for text in texts if isinstance(text, str)]
    if any(map(names_inputs, written)):
        yield _Wire(chart, _Kind.INPUTS)
    named = frozenset().union(*map(named_subcharts, written))
    for before, waiting in manifest.charts[chart].edges if named else ():
        if waiting == after and before in named:
            yield _Wire(f"{chart}.{before}", _Kind.OUTPUTS)
