"""What holds of charts by chance on the process runtime, by the event log alone: every edge, barrier and reverse.

Who waits for whom is told from the charts as they were drawn; no plan is asked.
"""

import asyncio
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from unit.core.release_chart_plan import ROOT, draw_charts

from support.chart_stage import Files, chart, packed
from support.release_history import order
from support.release_history.record import OWN, Charts, Event, Node, Plan
from support.release_stage import Stage
from tinkwell.client.watch import event as watched
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, Wait
from tinkwell.core.release.manifest.name import split_chart
from tinkwell.core.release.manifest.rendered import RenderedManifest

# So many, installed in each of the three ways to wait; dozens of them take minutes.
CHARTS = int(os.environ.get("RANDOM_CHARTS", "1"))
PART = 10
# Whoever has to share a machine with others may take long.
SECONDS = 300.0
AT_ONCE = 6
BEGINNING = {NodeTask.INSTALL: NodeState.INSTALLING, NodeTask.REMOVE: NodeState.REMOVING}
END = {NodeTask.INSTALL: NodeState.READY, NodeTask.REMOVE: NodeState.REMOVED}


@dataclass(frozen=True)
class Case:
    """Charts by chance, and how they are waited for."""

    name: str
    wait: Wait
    rendered: RenderedManifest

    @property
    def charts(self) -> Charts:
        """Who waits for whom."""
        children: dict[str, tuple[str, ...]] = {}
        edges: dict[str, frozenset[tuple[str, str]]] = {}
        for path, each in self.rendered.charts.items():
            own = path.rpartition(".")[2]
            children[path] = tuple(name for batch in each.batches for name in batch if name != own)
            edges[path] = frozenset((before, OWN if after == own else after) for before, after in each.edges)
        return Charts(self.wait, children, edges)

    def files(self, chance: random.Random, path: str = ROOT) -> Files:
        """Give the files of a chart and all that is in it."""
        charts = self.charts
        resources = {}
        for each, resource in self.rendered.resources.items():
            where, name = split_chart(each)
            if where == path:
                config = {"path": f"{{{{ values.global.folder }}}}/{each}", "slow": chance.random() < 0.3}
                named = {f"a{n}": split_chart(other)[1] for n, other in enumerate(resource.prerequisites)}
                resources[name] = {"type": "quick", "config": config, "dependencies": named}
        waits: dict[str, list[str]] = {name: [] for name in (*charts.children[path], OWN)}
        for before, after in sorted(charts.edges[path]):
            waits[after].append(before)
        return chart(
            path.rpartition(".")[2],
            resources,
            subcharts={name: self.files(chance, f"{path}.{name}") for name in charts.children[path]},
            dependencies={name: {"depends-on": waits[name]} for name in charts.children[path]},
            waits_for=tuple(waits[OWN]),
        )


def draw(seeds: Iterable[int]) -> list[Case]:
    """Draw charts, each of them with every way to wait."""
    found = []
    for seed in seeds:
        chance = random.Random(seed)
        rendered = RenderedManifest()
        # Where nothing was installed nothing is removed, and no chart of it is told of.
        while not rendered.resources:
            rendered = draw_charts(chance.choice, levels=2, subcharts=(1, 2, 2, 3), inside=(0, 1, 1, 2))
        found += [Case(f"shop-{seed}-{wait}", wait, rendered) for wait in Wait]
    return found


async def live(stage: Stage, case: Case, places: asyncio.Semaphore) -> tuple[Case, str, str]:
    """Install and uninstall charts; returns the ids of the operations."""
    releases = stage.client.releases
    folder = stage.folder / case.name
    folder.mkdir()
    paths = sorted(case.rendered.resources)
    async with places, asyncio.timeout(SECONDS):
        data = packed(case.files(random.Random(case.name)))
        values = {"global": {"folder": str(folder)}}
        installed = await releases.install(case.name, data, values=values, wait=case.wait)
        assert (await releases.wait(installed.id)).state is State.SUCCEEDED
        assert sorted(path.name for path in folder.iterdir()) == paths
        removed = await releases.uninstall(case.name)
        assert (await releases.wait(removed.id)).state is State.SUCCEEDED
    assert list(folder.iterdir()) == []
    return case, installed.id, removed.id


async def read(stage: Stage, ends: int) -> list[Event]:
    """Read the events of nodes, in the order of the log, until so many nodes have ended."""
    found: list[Event] = []
    async with (
        asyncio.timeout(SECONDS),
        stage.client.releases.watch(from_revision=1, resource_types=[ResourceType.NODE]) as watch,
    ):
        async for event in watch:
            if event.data["kind"] == NodeKind.EVENT:
                continue
            found.append(to_record(event))
            ends -= NodeState(found[-1].state).is_final
            if not ends:
                return found
    raise AssertionError("the watch ended")


def to_record(event: watched.Event) -> Event:
    """Give an event of a node as the judge has it."""
    data = event.data
    return Event(
        revision=event.revision,
        at=event.created_at.timestamp() if event.created_at else 0.0,
        resource_type=event.resource_type,
        resource_id=event.resource_id,
        release_id=event.parent_id,
        event_type=event.event_type,
        version=event.version,
        state=data["state"],
        operation_id=data["operation_id"],
        path=data["path"],
        task=NodeTask(data["task"]),
    )


def check_all_told(events: Iterable[Event], case: Case, operation_id: str, task: NodeTask) -> None:
    """Check that each chart and resource has begun once and ended well, a resource after those that it names."""
    states = {NodeState.READY: 1, NodeState.INSTALLING: 0, NodeState.REMOVED: 1, NodeState.REMOVING: 0}
    moments: dict[str, list[int]] = {}
    for event in events:
        if event.operation_id == operation_id:
            state = NodeState(event.state)
            assert state in (BEGINNING[task], END[task]), event
            moments.setdefault(event.path, []).append(event.revision)
            assert len(moments[event.path]) == states[state] + 1, event
    assert moments.keys() == case.rendered.charts.keys() | case.rendered.resources.keys()
    for path, resource in case.rendered.resources.items():
        for other in resource.prerequisites:
            first, second = (other, path) if task is NodeTask.INSTALL else (path, other)
            assert moments[first][1] < moments[second][0], f"{second} began before {first} had ended"


async def check(stage: Stage, seeds: Iterable[int]) -> None:
    cases = draw(seeds)
    places = asyncio.Semaphore(AT_ONCE)
    async with stage.provisioner("--log-level", "warning"):
        lived = await asyncio.gather(*(live(stage, case, places) for case in cases))
    ends = sum(2 * (len(case.rendered.charts) + len(case.rendered.resources)) for case in cases)
    events = await read(stage, ends)
    plans, nodes = [], []
    for case, installed, removed in lived:
        for operation_id, task in ((installed, NodeTask.INSTALL), (removed, NodeTask.REMOVE)):
            check_all_told(events, case, operation_id, task)
            charts = case.charts if task is NodeTask.INSTALL else None
            plans.append(Plan(operation_id, case.name, frozenset({State.SUCCEEDED}), charts=charts))
            nodes += [
                Node(id=path, operation_id=operation_id, path=path, task=task, state=END[task])
                for path in (*case.rendered.charts, *case.rendered.resources)
            ]
    assert list(order.check(events, nodes, plans)) == []


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("first", range(0, CHARTS, PART))
async def test_every_edge_barrier_and_reverse_is_kept_by_the_event_log(stage: Stage, first: int) -> None:
    await check(stage, range(first, min(first + PART, CHARTS)))
