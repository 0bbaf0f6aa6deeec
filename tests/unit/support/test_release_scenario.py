"""What chaos sends of charts is what its judge holds them against, and nothing reads what is not there yet."""

import random

import pytest

from support.release_chaos import chart, scenario
from support.release_chaos.scenario import Change
from support.release_history.life import is_prepared
from support.release_history.record import OWN
from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.lifecycle_event.name import Event


def changes(seed: int) -> list[Change]:
    drawn = scenario.errands(random.Random(seed), 20, over_seconds=1.0, pace=1.0)
    return [change for errand in drawn for change in errand.changes]


@pytest.mark.parametrize("seed", range(5))
def test_charts_have_the_subcharts_and_edges_that_the_judge_knows(seed: int) -> None:
    sent = [change for change in changes(seed) if change.chart]
    assert {change.charts.wait for change in sent if change.charts} == {*Wait}
    for change in sent:
        assert change.charts is not None
        root = process.process(charts.load(archive.unpack(change.chart)), {}, strict=True)
        units = {unit.path: unit for unit in process.units(root)}
        assert {path: {*unit.children} for path, unit in units.items()} == {
            path: {*names} for path, names in change.charts.children.items()
        }
        for path, unit in units.items():
            own = {unit.name: OWN}
            edges = {(edge.before, own.get(edge.after, edge.after)) for edge in unit.sequence.edges}
            assert edges == change.charts.edges[path]


@pytest.mark.parametrize("seed", range(5))
def test_what_resources_are_to_hold_has_no_expression_left(seed: int) -> None:
    for change in changes(seed):
        assert not any("{{" in text for text in change.wants.values())
        assert bool(change.wants) == (change.installs or bool(change.revision) or change.looks is not None)


@pytest.mark.parametrize("seed", range(5))
def test_charts_have_scripts_for_all_that_is_heard_but_hooks(seed: int) -> None:
    sent = [change for change in changes(seed) if change.chart]
    scripted = 0
    for change in sent:
        assert change.charts is not None
        files = archive.unpack(change.chart)
        scripts = [name for name in files if name.endswith(chart.SCRIPT)]
        scripted += bool(scripts)
        assert len(scripts) in (0, len(change.charts.children))
        assert change.charts.heard.keys() == change.charts.children.keys()
        for events in change.charts.heard.values():
            assert {*events} <= {event.value for event in Event} | {"test"}
        chart_of, _, event = change.culprit.rpartition("/")
        if "/" in change.culprit and not is_prepared(change.culprit):
            assert event in change.charts.heard[chart_of]
    assert scripted
