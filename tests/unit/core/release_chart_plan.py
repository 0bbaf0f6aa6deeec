"""Charts by chance, and the plans that install and remove them."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from tinkwell.core.release.graph import build
from tinkwell.core.release.graph.life import Life
from tinkwell.core.release.kinds import OperationKind, PlanKind, ResourceStatus, Wait
from tinkwell.core.release.manifest.hook import Hook, HookEvent
from tinkwell.core.release.manifest.name import parent_chart
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest, RenderedResource
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.record import Resource

T = TypeVar("T")

NOW = datetime.datetime(2026, 11, 26, tzinfo=datetime.UTC)
ROOT = "shop"
MAX_LEVELS = 3
_CHANGES = (OperationKind.INSTALL, OperationKind.UPGRADE, OperationKind.ROLLBACK)
_HEARD = [event.value for event in HookEvent] + ["wait", "ready"]
_WEIGHTS = (0.0, 0.0, -1.0, 2.5)
# By level, so that no chart is called as its parent.
_LETTERS = ".cba"


class Choose(Protocol):
    """Chooses one of several."""

    def __call__(self, options: Sequence[T], /) -> T: ...


def chart(own: str, names: Iterable[str] = (), edges: Iterable[tuple[str, str]] = ()) -> RenderedChart:
    """Make a chart with these subcharts, whose batches are the layers of its edges."""
    edges = tuple(sorted(edges))
    waiting = {name for edge in edges for name in edge} - {own}
    last = (*sorted({*names} - waiting), own)
    layers: list[tuple[str, ...]] = []
    while waiting:
        layer = {name for name in waiting if not any(after == name and before in waiting for before, after in edges)}
        layers.append(tuple(sorted(layer)))
        waiting -= layer
    return RenderedChart(name=own, version="1.0.0", batches=(*layers, last), edges=edges)


def draw_charts(
    choose: Choose,
    *,
    levels: int = MAX_LEVELS,
    subcharts: Sequence[int] = range(5),
    inside: Sequence[int] = (0, 1, 1, 2, 3),
) -> RenderedManifest:
    """Draw a chart with subcharts, so many levels of them, and so many subcharts and resources in each."""
    charts: dict[str, RenderedChart] = {}
    resources: dict[str, RenderedResource] = {}

    def draw(path: str, below: int) -> None:
        own = path.rpartition(".")[2]
        names = [f"{_LETTERS[below]}{number}" for number in range(choose(subcharts) if below else 0)]
        edges = [(one, other) for n, other in enumerate(names) for one in names[:n] if choose((True, False, False))]
        edges += [(name, own) for name in names if choose((True, False, False))]
        charts[path] = chart(own, names, edges)
        paths: list[str] = []
        for number in range(choose(inside)):
            targets = sorted({choose(paths) for _ in range(choose((0, 0, 1, 2)))}) if paths else []
            dependencies = {f"a{n}": target for n, target in enumerate(targets)}
            paths.append(f"{path}:r{number}")
            resources[paths[-1]] = RenderedResource(type="x", dependencies=dependencies)
        for name in names:
            draw(f"{path}.{name}", below - 1)

    draw(ROOT, levels)
    return RenderedManifest(charts=charts, resources=resources)


def draw_chart_plan(choose: Choose) -> Plan:
    """Draw the plan of an operation that installs a small chart, or removes one, or both."""
    former, new = (
        draw_charts(choose, levels=choose((1, 1, 2)), subcharts=(0, 1, 2), inside=(0, 1)) if is_there else None
        for is_there in choose(((True, True), (True, False), (False, True)))
    )
    before = build.build_plan(former, [], {}, wait=choose(tuple(Wait)))
    rows = existing(dict.fromkeys(former.resources if former is not None else (), 1))
    wait, kind = choose(tuple(Wait)), OperationKind.UNINSTALL if new is None else choose(_CHANGES)
    life = None if choose((False, False, True)) else draw_life(choose, kind, new, former, wait)
    return build.build_plan(new if life is None else life.manifest, rows, {1: before}, wait=wait, life=life)


def draw_life(
    choose: Choose, kind: OperationKind, new: RenderedManifest | None, former: RenderedManifest | None, wait: Wait
) -> Life:
    """Draw what is heard of charts, and their hooks."""
    return Life(
        kind=kind,
        manifest=None if new is None else with_hooks(choose, new),
        heard=_draw_heard(choose, new),
        former=None if former is None else with_hooks(choose, former),
        former_heard=_draw_heard(choose, former),
        wait=wait,
    )


def with_hooks(choose: Choose, rendered: RenderedManifest) -> RenderedManifest:
    """Draw hooks for the charts of a manifest."""
    hooks = {
        f"{path}:h{number}": RenderedResource(
            type="x",
            hook=Hook(events=tuple({choose(tuple(HookEvent)): None for _ in range(3)}), weight=choose(_WEIGHTS)),
        )
        for path in rendered.charts
        for number in range(choose((0, 0, 1, 2)))
    }
    return replace(rendered, resources={**rendered.resources, **hooks})


def _draw_heard(choose: Choose, rendered: RenderedManifest | None) -> dict[str, set[str]]:
    charts = rendered.charts if rendered is not None else {}
    return {path: {choose(_HEARD) for _ in range(3)} for path in charts if choose((True, False))}


def existing(revisions: Mapping[str, int], status: ResourceStatus = ResourceStatus.VALID) -> list[Resource]:
    """Make the rows of resources by the revisions that have installed them."""
    return [
        Resource(
            path=path,
            revision=revision,
            status=status,
            owned=True,
            observed_at=NOW,
            release_id="r",
            type="x",
            image_id="",
            init="",
            config="",
            state="",
        )
        for path, revision in revisions.items()
    ]


def charts_of(plan: Plan, node: PlanNode) -> list[str]:
    """Return the charts that a node is in, and that the plan does the same with."""
    own = parent_chart(node.path)
    found = {own.rsplit(".", count)[0] for count in range(own.count(".") + 1)}
    charts = {each.path for each in plan.nodes if each.kind is PlanKind.CHART and each.task is node.task}
    return sorted(found & charts)
