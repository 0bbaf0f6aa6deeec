"""The order in which a chart's subcharts are installed, and the chart's own resources after them.

Edges come from `depends-on` of dependencies, and from the annotation `helm.sh/depends-on/subcharts`, which lists the
subcharts that the chart's own resources wait for. Subcharts with an edge are ordered in layers; the others come last,
together with the chart itself. Edges join only subcharts of one chart, and the chart itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tinkwell.core.release.chart.fault import Fault, FaultKind, Faults
from tinkwell.core.release.chart.file import archive, metadata
from tinkwell.core.release.chart.selection import Selected
from tinkwell.core.release.graph import order
from tinkwell.core.value import closed_object, parse

MAX_EDGES = 20_000
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Edge:
    """`after` waits for `before`; `after` may be the chart itself.

    `origins` are such as `Chart.yaml dependencies[2].depends-on`.
    """

    before: str
    after: str
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """The batches of a chart by the names of its subcharts; the last batch ends with the chart's own name.

    `warnings` are all warnings about the chart and its values, not only about the order.
    """

    batches: tuple[tuple[str, ...], ...]
    edges: tuple[Edge, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def sequenced(self) -> tuple[str, ...]:
        """The subcharts that have an edge; the others may be installed at any time with their parent."""
        return tuple(name for batch in self.batches[:-1] for name in batch)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A reference: `after` waits for the subchart written as `spelling`; errors name the place by `field`."""

    after: str
    spelling: str
    origin: str
    field: str


class Sequencer:
    """Makes the sequences of the charts of a release. Faults are noted; exceeding a limit raises them."""

    def __init__(self, faults: Faults, *, strict: bool) -> None:
        self._faults = faults
        self._strict = strict
        self._references = 0

    def sequence(self, node: Selected) -> Sequence:
        """Put the subcharts of a chart in order; faulty references are left out."""
        origins: dict[tuple[str, str], list[str]] = {}
        for reference in _references(node):
            self._count(node)
            before = self._resolve(node, reference)
            if before and self._is_edge(node, before, reference):
                found = origins.setdefault((before, reference.after), [])
                if reference.origin not in found:
                    found.append(reference.origin)
        edges = tuple(Edge(*pair, tuple(found)) for pair, found in sorted(origins.items()))
        layers = self._layers(node, edges)
        sequenced = {name for layer in layers for name in layer}
        last = (*sorted(node.children.keys() - sequenced), node.name)
        return Sequence((*map(tuple, layers), last), edges, tuple(node.warnings))

    def _count(self, node: Selected) -> None:
        self._references += 1
        if self._references > MAX_EDGES:
            description = f"the charts of the release wait for each other by more than {MAX_EDGES:,} names"
            place = node.chart.path(archive.METADATA)
            self._faults.stop(Fault(kind=FaultKind.LIMIT, chart_path=node.path, field=place, description=description))

    def _resolve(self, node: Selected, reference: _Reference) -> str:
        """Return the name in the release that a reference means; "" if the reference is faulty."""
        candidates = node.entries.references.get(reference.spelling, ())
        if len(candidates) == 1 and candidates[0] != reference.after:
            return candidates[0]
        if not self._faults.is_full:
            self._note_reference(node, reference, tuple(candidates))
        return ""

    def _note_reference(self, node: Selected, reference: _Reference, candidates: tuple[str, ...]) -> None:
        waiting, spelling = f"{reference.after} waits", parse.show(reference.spelling)
        if len(candidates) > 1:
            kind = FaultKind.AMBIGUOUS
            description = (
                f"{waiting} for {spelling}, which may be {' or '.join(candidates[:_SHOWN])}; use the alias of one"
            )
        elif candidates or reference.spelling == node.name:
            kind = FaultKind.ITSELF
            description = f"{waiting} for {spelling}, which is the same; take it out"
        else:
            kind = FaultKind.UNKNOWN
            known = [*node.entries.references]
            hint = closed_object.nearest(reference.spelling, known)
            if reference.spelling in node.decisions:
                hint = "it is vendored, and needs an entry there"
            description = f"{waiting} for {spelling}, which is not among the dependencies; {hint}"
        about = (reference.after, reference.spelling)
        self._faults.note(node.fault(kind, reference.field, description, about))

    def _is_edge(self, node: Selected, before: str, reference: _Reference) -> bool:
        """Return whether a reference makes an edge, because both of its ends are installed."""
        after_is_there = reference.after == node.name or reference.after in node.children
        decision = node.decisions[before]
        if decision.is_enabled or not after_is_there:
            return after_is_there and before in node.children
        if self._strict:
            description = f"{reference.after} waits for {before}, which is disabled: {decision.why}; take it out"
            about = (reference.after, before)
            self._faults.note(node.fault(FaultKind.DISABLED, reference.field, description, about))
        else:
            sentence = f"{reference.after} does not wait for {before}, which is disabled: {decision.why}"
            node.warn(f"{reference.field}: {sentence}")
        return False

    def _layers(self, node: Selected, edges: tuple[Edge, ...]) -> list[list[str]]:
        if not edges:  # the usual case, and a release may have many charts
            return []
        before: dict[str, list[str]] = {}
        for edge in edges:
            before.setdefault(edge.before, [])
            if edge.after != node.name:
                before.setdefault(edge.after, []).append(edge.before)
        if loop := order.find_loop(before):
            self._note_loop(node, loop, {(edge.before, edge.after): edge for edge in edges})
            return []
        return order.generations(before)

    def _note_loop(self, node: Selected, loop: list[str], edges: Mapping[tuple[str, str], Edge]) -> None:
        steps = [edges[before, after] for after, before in zip(loop, [*loop[1:], loop[0]], strict=True)]
        shown = "; ".join(
            f"{edge.after} waits for {edge.before} by {' and '.join(edge.origins)}" for edge in steps[:_SHOWN]
        )
        description = f"subcharts of {node.path} wait for each other in a loop: {order.show(loop)} ({shown})"
        file = node.chart.path(archive.METADATA)
        place = f"{file}.{steps[0].origins[0].removeprefix(f'{file} ')}"
        self._faults.note(node.fault(FaultKind.CYCLE, place, description, tuple(loop)))


def _references(node: Selected) -> Iterator[_Reference]:
    file = node.chart.path(archive.METADATA)
    for each in node.entries.all:
        for spelling in dict.fromkeys(each.entry.depends_on):
            key = f"dependencies[{each.index}].depends-on"
            yield _Reference(each.name, spelling, f"{file} {key}", f"{each.field}.depends-on")
    place = parse.child(f"{file}.annotations", metadata.DEPENDS_ON)
    for spelling in dict.fromkeys(node.chart.metadata.depends_on):
        yield _Reference(node.name, spelling, f"{file} annotations {metadata.DEPENDS_ON}", place)
