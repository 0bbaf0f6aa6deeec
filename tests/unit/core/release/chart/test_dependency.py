"""Which subcharts are enabled, which vendored charts they are, and what is said where there is none."""

import dataclasses

import pytest
from unit.core.release_chart import chart, depends, enabled, family

from tinkwell.core.release.chart import process, selection
from tinkwell.core.release.chart.fault import ChartFaulty, FaultKind
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.file.metadata import Dependency
from tinkwell.core.value.document import JsonObject


def tagged(name: str, *tags: str, alias: str = "", condition: str = "") -> Dependency:
    return Dependency(name=name, alias=alias, tags=tags, condition=condition)


def umbrella() -> Chart:
    """Make the parent with two subcharts, one of them twice, that have two subcharts each."""
    first = chart(
        "subchart1",
        chart("subcharta"),
        chart("subchartb"),
        dependencies=[
            tagged("subcharta", "front-end", "subcharta", condition="subcharta.enabled"),
            tagged("subchartb", "front-end", "subchartb", condition="subchartb.enabled"),
        ],
    )
    second = chart(
        "subchart2",
        chart("subchartb"),
        chart("subchartc"),
        dependencies=[
            tagged("subchartb", "back-end", "subchartb", condition="subchartb.enabled"),
            tagged("subchartc", "back-end", "subchartc", condition="subchartc.enabled"),
        ],
    )
    return chart(
        "parent",
        first,
        second,
        dependencies=[
            tagged("subchart1", "front-end", "subchart1", condition="subchart1.enabled"),
            tagged("subchart2", "back-end", "subchart2", condition="subchart2.enabled"),
            tagged("subchart2", alias="subchart2alias", condition="subchart2alias.enabled"),
        ],
        values={"tags": {"front-end": True, "back-end": False}, "subchart2alias": {"enabled": False}},
    )


ON: JsonObject = {"enabled": True}
OFF: JsonObject = {"enabled": False}
FIRST = {"subchart1", "subchart1.subcharta", "subchart1.subchartb"}
SECOND = {"subchart2", "subchart2.subchartb", "subchart2.subchartc"}
ENABLED: list[tuple[JsonObject, set[str]]] = [
    ({"tags": {"nothinguseful": False}}, FIRST),
    ({"tags": {"front-end": False}}, set()),
    ({"tags": {"front-end": False, "back-end": True}}, SECOND),
    ({"tags": {"subcharta": False, "subchartb": False}}, FIRST),
    ({"tags": {"front-end": False, "subchart1": True, "back-end": False}}, {"subchart1"}),
    ({"subchart1": ON, "subchart2": ON}, {*FIRST, "subchart2"}),
    ({"subchart1": OFF, "subchart2": OFF}, set()),
    ({"subchart1": {"subcharta": OFF}}, {"subchart1", "subchart1.subchartb"}),
    (
        {"tags": {"back-end": True}, "subchart2": {"subchartc": OFF}},
        {*FIRST, "subchart2", "subchart2.subchartb"},
    ),
    ({"subchart1": OFF, "tags": {"front-end": True}}, set()),
    (
        {"subchart1": OFF, "subchart2alias": {**ON, "subchartb": ON}},
        {"subchart2alias", "subchart2alias.subchartb"},
    ),
]


@pytest.mark.parametrize("values, expected", ENABLED)
def test_conditions_and_tags_enable_subcharts(values: JsonObject, expected: set[str]) -> None:
    assert enabled(process.process(umbrella(), values)) == expected


REASONS: list[tuple[str, str, tuple[str, ...], JsonObject, JsonObject, bool, str]] = [
    ("nothing", "", (), {}, {}, True, "no condition and no tag says otherwise"),
    ("what is not there", "a.on, b.on", ("x",), {}, {}, True, "no condition and no tag says otherwise"),
    ("the first that is there", "a.on,b.on", (), {"b": OFF | {"on": False}}, {}, False, "condition b.on is false"),
    ("the first of two", "a.on,b.on", (), {"b": {"on": False}, "a": {"on": True}}, {}, True, "condition a.on is true"),
    ("conditions over tags", "a.on", ("x",), {"a": {"on": False}, "tags": {"x": True}}, {}, False, "condition a.on is"),
    ("one true tag", "", ("x", "y"), {"tags": {"x": False, "y": True}}, {}, True, "tag y is true"),
    ("false tags alone", "", ("x", "y", "z"), {"tags": {"x": False, "y": False}}, {}, False, "tags x, y are false"),
    ("globals", "global.on", (), {"global": {"on": False}}, {}, False, "condition global.on is false"),
    ("the subchart itself", "sub.on", (), {}, {"on": False}, False, "condition sub.on is false"),
    ("its parent over it", "sub.on", (), {"sub": {"on": True}}, {"on": False}, True, "condition sub.on is true"),
    ("null takes it away", "sub.on", (), {"sub": {"on": None}}, {"on": False}, True, "no condition and no tag"),
    ("no object on the way", "sub.on.off", (), {"sub": {"on": 1}}, {"on": {"off": False}}, True, "no condition and"),
]


@pytest.mark.parametrize(
    "condition, tags, values, own, is_enabled, why", [row[1:] for row in REASONS], ids=[row[0] for row in REASONS]
)
def test_what_has_decided_is_known(
    condition: str, tags: tuple[str, ...], values: JsonObject, own: JsonObject, is_enabled: bool, why: str
) -> None:
    found = chart("parent", chart("sub", values=own), dependencies=[tagged("sub", *tags, condition=condition)])
    for unit in (process.process(found, values), process.process(dataclasses.replace(found, values=values), {})):
        decision = unit.decisions["sub"]
        assert decision.is_enabled is is_enabled
        assert decision.why.startswith(why)
        assert set(unit.children) == ({"sub"} if is_enabled else set())


def test_users_win_over_parents_and_those_over_their_subcharts_also_further_down() -> None:
    leaf = chart("leaf", values={"on": False})
    middle = chart("middle", leaf, dependencies=[tagged("leaf", condition="leaf.on")])
    root = chart("root", middle, dependencies=[tagged("middle", alias="m")])
    assert enabled(process.process(root, {})) == {"m"}
    assert enabled(process.process(root, {"m": {"leaf": {"on": True}}})) == {"m", "m.leaf"}
    by_root = dataclasses.replace(root, values={"m": {"leaf": {"on": True}}})
    assert enabled(process.process(by_root, {})) == {"m", "m.leaf"}
    unit = process.process(by_root, {"m": {"leaf": {"on": False}}})
    assert unit.children["m"].decisions["leaf"].why == "condition m.leaf.on is false"
    # A condition may be that of a subchart of a subchart.
    deep = chart("root", middle, chart("x"), dependencies=[depends("middle"), tagged("x", condition="middle.leaf.on")])
    assert enabled(process.process(deep, {})) == {"middle"}
    # Globals reach all levels, those of the root first.
    by_global = chart("middle", leaf, dependencies=[tagged("leaf", condition="global.on")], values={"global": OFF})
    root = chart("root", by_global, dependencies=[depends("middle")])
    assert enabled(process.process(root, {"global": {"on": False}, "middle": {"global": {"on": True}}})) == {"middle"}
    assert enabled(process.process(root, {"middle": {"global": {"on": False}}})) == {"middle"}


def test_what_is_neither_true_nor_false_decides_nothing_and_warns() -> None:
    found = chart("parent", chart("sub"), dependencies=[tagged("sub", "x", "y", condition="a,b")])
    unit = process.process(found, {"a": "no", "b": False, "tags": {"x": 1, "y": True}})
    assert not unit.decisions["sub"].is_enabled
    assert unit.sequence.warnings == (
        "Chart.yaml.dependencies[0].condition: a is a string, and decides nothing; make it true or false",
    )
    unit = process.process(found, {"tags": {"x": 1, "y": False}})
    assert unit.decisions["sub"].why == "tag y is false"
    assert unit.sequence.warnings == ("Chart.yaml.dependencies[0].tags: the tag x is a number; make it true or false",)


def faults(found: Chart, values: JsonObject | None = None) -> list[tuple[FaultKind, str]]:
    with pytest.raises(ChartFaulty) as refusal:
        process.process(found, values or {})
    return [(fault.kind, f"{fault.field}: {fault.description}") for fault in refusal.value.faults]


def test_all_that_is_enabled_and_not_vendored_is_told_at_once() -> None:
    found = chart(
        "parent",
        chart("there", version="1.2.3"),
        chart("old", version="1.0.0"),
        dependencies=[
            Dependency(name="there", version="^1.2"),
            Dependency(name="gone", version="1.x"),
            Dependency(name="old", version=">=2"),
            Dependency(name="off", condition="off.enabled"),
            Dependency(name="away", alias="far"),
        ],
    )
    assert faults(found, {"off": OFF}) == [
        (
            FaultKind.MISSING,
            (
                "Chart.yaml.dependencies: charts/ lacks gone 1.x (dependencies[1]), old >=2 "
                "(dependencies[2], beside 1.0.0), away (dependencies[4]); vendor what is missing into it, or disable it"
            ),
        )
    ]
    nested = chart("root", found, dependencies=[depends("parent")])
    [(_, sentence)] = faults(nested, {"parent": {"off": OFF}})
    assert sentence.startswith(
        "charts/parent-1.0.0/Chart.yaml.dependencies: charts/parent-1.0.0/charts/ lacks gone 1.x"
    )


def test_the_highest_version_in_the_range_is_taken() -> None:
    versions = ["1.9.0", "1.10.0", "2.0.0", "1.10.0-rc.1"]
    found = chart(
        "parent",
        *(chart("db", version=version) for version in versions),
        dependencies=[
            Dependency(name="db", version="^1.0.0", alias="one"),
            Dependency(name="db", alias="any"),
            Dependency(name="db", version="1.9", alias="old"),
        ],
    )
    unit = process.process(found, {})
    assert {name: child.chart.metadata.version for name, child in unit.children.items()} == {
        "one": "1.10.0",
        "any": "2.0.0",
        "old": "1.9.0",
    }
    assert unit.sequence.warnings == ("charts/db-1.10.0-rc.1: no dependency of parent asks for version 1.10.0-rc.1",)


@pytest.mark.parametrize(
    "found, sentence",
    [
        (
            family("parent", "a as parent"),
            "Chart.yaml.dependencies[0].alias: parent is the name of its parent as well; give it an alias",
        ),
        (
            chart("parent", family("a", "a as x"), family("x", "y as x"), dependencies=[depends("a"), depends("x")]),
            "charts/x-1.0.0/Chart.yaml.dependencies[0].alias: x is the name of its parent as well; give it an alias",
        ),
        (
            family("parent", "global"),
            "Chart.yaml.dependencies[0].name: global means something else in values; give it an alias",
        ),
        (
            family("parent", "tags"),
            "Chart.yaml.dependencies[0].name: tags means something else in values; give it an alias",
        ),
        (
            chart("parent", chart("a.b")),
            (
                'charts/a.b-1.0.0: "a.b" is not a name that a chart can have in a release; give it an alias '
                "of letters, digits, _ and -, the first none of the last two, at most 63 in all"
            ),
        ),
        (
            family("parent", "a as b", vendored=[chart("a"), chart("b")]),
            "charts/b-1.0.0: there is another b; list both as dependencies, one of them with an alias",
        ),
        (
            chart("parent", chart("a"), chart("a", version="2.0.0")),
            "charts/a-2.0.0: there is another a; list both as dependencies, one of them with an alias",
        ),
    ],
)
def test_names_that_a_subchart_cannot_have_are_refused(found: Chart, sentence: str) -> None:
    assert faults(found) == [(FaultKind.NAME, sentence)]


def test_subcharts_levels_and_entries_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = chart("leaf")
    for level in range(archive.MAX_LEVELS - 1):
        deep = family(f"level{level}", deep.metadata.name, vendored=[deep])
    assert len(list(process.units(process.process(deep, {})))) == archive.MAX_LEVELS
    [(kind, sentence)] = faults(family("one-more", deep.metadata.name, vendored=[deep]))
    assert kind is FaultKind.LIMIT
    assert sentence.endswith("Chart.yaml: its subcharts are nested deeper than 10 levels")
    # A chart that has itself many times over takes little to write down.
    bomb = chart("leaf")
    for level in range(5):
        bomb = family(f"level{level}", *(f"{bomb.metadata.name} as a{level}-{at}" for at in range(50)), vendored=[bomb])
    [(kind, sentence)] = faults(bomb)
    assert kind is FaultKind.LIMIT
    assert "more than 2,000 subcharts" in sentence
    monkeypatch.setattr(selection, "MAX_LOOKED_AT", 7)
    assert (
        "more than 7 dependencies, conditions, tags and imports" in faults(family("parent", "a", "b", "c", "d"))[0][1]
    )
