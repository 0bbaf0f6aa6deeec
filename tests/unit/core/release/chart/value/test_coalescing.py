"""What each chart of a release sees as its values."""

import copy
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.core.release_chart import chart, depends, family, off

from tinkwell.core import errors
from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.fault import ChartFaulty
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.file.metadata import Dependency
from tinkwell.core.release.chart.value import coalescing
from tinkwell.core.value.document import JsonObject, JsonValue


def seen(found: Chart, values: JsonObject | None = None) -> JsonObject:
    """Give what the root sees, without the globals of subcharts where there are none."""
    return _without_globals(process.process(found, values or {}).values)


def _without_globals(values: JsonObject) -> JsonObject:
    return {
        key: _without_globals(value) if isinstance(value, dict) else value
        for key, value in values.items()
        if key != "global" or value
    }


def of(name: str, values: JsonObject, *vendored: Chart) -> Chart:
    return chart(name, *vendored, values=values, dependencies=[depends(child.metadata.name) for child in vendored])


def line(top: JsonObject, middle: JsonObject, leaf: JsonObject) -> Chart:
    """Make three charts, one in another."""
    return of("top", top, of("middle", middle, of("leaf", leaf)))


@pytest.mark.parametrize(
    "own, given, expected",
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
        ({"a": [1, 2, {"b": 3}]}, {"a": [{"c": None}]}, {"a": [{"c": None}]}),
        ({"a": "text"}, {"a": ""}, {"a": ""}),
        ({"a": {"b": 1}}, {"a": "text"}, {"a": "text"}),
        ({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": None}}}, {"a": {"b": {"d": 2}}}),
        ({"a": {"b": 1}, "c": 1}, {"a": None}, {"c": 1}),
        ({"a": {"b": None}, "c": None}, {}, {"a": {}}),
        ({"a": 1}, {"b": None, "c": {"d": None}}, {"a": 1, "c": {}}),
        ({"a": None}, {"a": 1}, {"a": 1}),
    ],
)
def test_values_of_users_lie_over_those_of_charts(own: JsonObject, given: JsonObject, expected: JsonObject) -> None:
    assert seen(chart("top", values=own), given) == expected
    # The same is true for what a parent says of its subchart, and for both together.
    assert seen(of("top", {"sub": given}, chart("sub", values=own))) == {"sub": expected}
    assert seen(of("top", {"sub": own}, chart("sub")), {"sub": given}) == {"sub": expected}


def test_a_parent_sees_the_values_of_its_subcharts_and_they_only_theirs() -> None:
    found = line(
        {"a": 1, "middle": {"b": 2, "leaf": {"c": 3}}}, {"b": 0, "b2": 1, "leaf": {"c": 0, "c2": 1}}, {"c3": 1}
    )
    unit = process.process(found, {"middle": {"leaf": {"c3": 9}}})
    leaf: JsonObject = {"c": 3, "c2": 1, "c3": 9, "global": {}}
    assert unit.values == {"a": 1, "middle": {"b": 2, "b2": 1, "leaf": leaf, "global": {}}}
    assert unit.children["middle"].values == {"b": 2, "b2": 1, "leaf": leaf, "global": {}}
    assert unit.children["middle"].children["leaf"].values == leaf


def test_a_subchart_has_values_under_its_alias() -> None:
    found = family(
        "top",
        "db as one",
        "db as two",
        values={"one": {"a": 1}, "db": {"a": 2}},
        vendored=[chart("db", values={"a": 0, "b": 0})],
    )
    assert seen(found) == {"one": {"a": 1, "b": 0}, "two": {"a": 0, "b": 0}, "db": {"a": 2}}


def test_what_is_given_for_a_disabled_subchart_stays_without_its_defaults() -> None:
    found = family("top", "db", vendored=[chart("db", values={"a": 1})])
    assert seen(found, {"db": {"enabled": False, "b": None}}) == {"db": {"enabled": False}}


@pytest.mark.parametrize(
    "by_user, by_top, by_middle",
    [
        ({"middle": {"leaf": {"a": {"b": None}}}}, {}, {}),
        ({}, {"middle": {"leaf": {"a": {"b": None}}}}, {}),
        ({}, {}, {"leaf": {"a": {"b": None}}}),
        ({}, {"middle": {"leaf": {"a": {"b": 2}}}}, {"leaf": {"a": {"b": None}}}),
        ({"middle": {"leaf": {"a": {"b": None}}}}, {"middle": {"leaf": {"a": {"b": 2}}}}, {}),
    ],
)
def test_a_null_takes_away_what_lies_below_it_at_every_level(
    by_user: JsonObject, by_top: JsonObject, by_middle: JsonObject
) -> None:
    found = line(by_top, by_middle, {"a": {"b": 1, "c": 2}, "object": {"d": 1}})
    unit = process.process(found, by_user)
    kept = {"c": 2, "b": 2} if by_top and by_middle else {"c": 2}
    assert unit.children["middle"].children["leaf"].values == {"a": kept, "object": {"d": 1}, "global": {}}
    without = process.process(found, {"middle": {"leaf": {"object": None, "a": None}}})
    assert without.children["middle"].children["leaf"].values == {"global": {}}


def test_a_null_for_a_whole_subchart_takes_away_what_its_parents_give_it() -> None:
    found = of("top", {"sub": {"a": 1}}, chart("sub", values={"a": 0, "b": 0}))
    assert seen(found, {"sub": None}) == {"sub": {"a": 0, "b": 0}}


def test_globals_go_down_and_those_from_above_win() -> None:
    found = line(
        {"global": {"a": "top", "m": {"x": "top"}}, "middle": {"global": {"a": "for middle", "e": "for middle"}}},
        {"global": {"a": "middle", "b": "middle", "m": {"x": "middle", "y": "middle"}}},
        {"global": {"a": "leaf", "b": "leaf", "c": "leaf", "m": {"z": "leaf"}}},
    )
    unit = process.process(found, {"global": {"d": "user"}})
    middle = unit.children["middle"]
    assert unit.values["global"] == {"a": "top", "d": "user", "m": {"x": "top"}}
    assert middle.values["global"] == {
        "a": "top",
        "b": "middle",
        "d": "user",
        "e": "for middle",
        "m": {"x": "top", "y": "middle"},
    }
    assert middle.children["leaf"].values["global"] == {
        "a": "top",
        "b": "middle",
        "c": "leaf",
        "d": "user",
        "e": "for middle",
        "m": {"x": "top", "y": "middle", "z": "leaf"},
    }
    beside = of("top", {}, chart("a", values={"global": {"x": 1}}), chart("b"))
    assert seen(beside) == {"a": {"global": {"x": 1}}, "b": {}}


def test_a_null_among_globals_takes_away_those_of_subcharts() -> None:
    found = line({}, {"global": {"a": 1, "b": {"c": 1}}}, {"global": {"a": 2}})
    unit = process.process(found, {"global": {"a": None, "b": {"c": None}}})
    assert [each.values["global"] for each in process.units(unit)] == [{"b": {}}] * 3


def imports(name: str, *items: str | tuple[str, str], alias: str = "") -> Dependency:
    return Dependency(name=name, alias=alias, import_values=items, condition=f"{alias or name}.enabled")


def library() -> Chart:
    return chart(
        "library",
        values={
            "exports": {"data": {"service": {"port": 9090, "type": "web"}}},
            "deep": {"inside": {"a": 1, "b": [1]}},
        },
    )


def app(own: JsonObject, *items: str | tuple[str, str]) -> Chart:
    return chart("app", library(), values=own, dependencies=[imports("library", *items)])


@pytest.mark.parametrize(
    "umbrella, own, items, port",
    [
        ({"app": {"service": {"port": 3456}}}, {"service": {"port": 8080}}, ("data",), 3456),
        ({}, {"service": {"port": 8080}}, ("data",), 8080),
        ({}, {}, ("data",), 9090),
        ({}, {"service": {"port": 1234}}, (), 1234),
    ],
)
def test_imports_lie_below_the_own_values_of_a_chart(
    umbrella: JsonObject, own: JsonObject, items: tuple[str, ...], port: int
) -> None:
    found = of("top", umbrella, app(own, *items))
    unit = process.process(found, {}).children["app"]
    assert isinstance(unit.values["service"], dict)
    assert unit.values["service"]["port"] == port
    by_user = process.process(found, {"app": {"service": {"port": 1}}}).children["app"]
    assert isinstance(by_user.values["service"], dict)
    assert by_user.values["service"]["port"] == 1


@pytest.mark.parametrize(
    "item, expected",
    [
        ("data", {"service": {"port": 9090, "type": "web"}}),
        ("data.service", {"port": 9090, "type": "web"}),
        (("deep.inside", "mine.there"), {"mine": {"there": {"a": 1, "b": [1]}}}),
        (("deep", "."), {"inside": {"a": 1, "b": [1]}}),
        ((".", "all"), {"all": library().values}),
    ],
)
def test_imports_are_put_where_they_are_meant(item: str | tuple[str, str], expected: JsonObject) -> None:
    found = seen(app({}, item))
    del found["library"]
    assert found == expected


def test_imports_go_up_level_by_level_and_come_from_each_alias_by_itself() -> None:
    middle = chart("middle", library(), dependencies=[imports("library", ("deep", "exports.up"))])
    top = chart("top", middle, dependencies=[imports("middle", "up")], values={"inside": {"a": 2}})
    assert seen(top)["inside"] == {"a": 2, "b": [1]}
    twice = chart(
        "top",
        library(),
        dependencies=[
            imports("library", ("deep.inside", "one"), alias="first"),
            imports("library", ("deep.inside", "two"), alias="second"),
        ],
        values={"second": {"deep": {"inside": {"a": 7}}}},
    )
    assert {key: seen(twice)[key] for key in ("one", "two")} == {"one": {"a": 1, "b": [1]}, "two": {"a": 7, "b": [1]}}
    assert "one" not in seen(twice, off("first"))


def test_the_first_import_wins_and_one_of_nothing_is_a_warning() -> None:
    found = app({}, ("deep.inside", "x"), ("exports.data.service", "x"), "nothing", ("deep.inside.a", "y"))
    unit = process.process(found, {})
    assert unit.values["x"] == {"a": 1, "b": [1], "port": 9090, "type": "web"}
    assert unit.sequence.warnings == (
        "Chart.yaml: library has no object exports.nothing to import",
        "Chart.yaml: library has no object deep.inside.a to import",
    )
    removed = dataclasses.replace(app({"library": {"deep": None}}, ("deep.inside", "x")))
    assert seen(removed) == {"library": {"exports": library().values["exports"]}}


@pytest.mark.parametrize(
    "top, values, field, is_of_user",
    [
        ({}, {"middle": 1}, "values.middle", True),
        ({}, {"middle": {"leaf": []}}, "values.middle.leaf", True),
        ({"middle": "x"}, {}, "values.yaml.middle", False),
        ({"middle": {"leaf": False}}, {}, "values.yaml.middle.leaf", False),
        ({"middle": {"leaf": False}}, {"middle": {"leaf": 1}}, "values.middle.leaf", True),
    ],
)
def test_values_of_a_subchart_that_are_no_object_are_refused_where_they_stand(
    top: JsonObject, values: JsonObject, field: str, is_of_user: bool
) -> None:
    with pytest.raises(errors.InvalidField) as refusal:
        process.process(line(top, {}, {}), values)
    [violation] = refusal.value.violations
    assert violation.field == field
    assert violation.description.endswith("write an object with the values of the subchart")
    assert isinstance(refusal.value, ChartFaulty) is not is_of_user


def test_what_meets_something_else_is_a_warning() -> None:
    found = of(
        "top",
        {"a": {"b": {"c": 1}}, "d": {"e": 1}, "f": 1, "global": {"g": 1, "h": {}}},
        chart("sub", values={"x": {"y": 1}, "global": {"z": 1}}),
    )
    unit = process.process(
        found,
        {"a": {"b": 1}, "d": 1, "f": {"g": 1}, "sub": {"x": 1, "global": {"g": {}, "h": 1, "z": {}}}},
    )
    assert unit.sequence.warnings == (
        "values of top: a.b is given a number, while values.yaml has an object there",
        "values of top: f is given an object, while values.yaml has a number there",
    )
    assert unit.children["sub"].values["global"] == {"g": {}, "h": 1, "z": {}}
    warnings = unit.children["sub"].sequence.warnings
    assert sorted(warnings) == [
        "values of top.sub: global.g is given a number, while charts/sub-1.0.0/values.yaml has an object there",
        "values of top.sub: global.h is given an object, while charts/sub-1.0.0/values.yaml has a number there",
        "values of top.sub: global.z is given an object, while charts/sub-1.0.0/values.yaml has a number there",
    ]
    many: JsonObject = {str(number): 1 for number in range(100)}
    instead: JsonObject = {key: {} for key in many}
    unit = process.process(chart("top", values={"a": many}), {"a": instead})
    assert len(unit.sequence.warnings) == coalescing.MAX_WARNINGS


def test_globals_that_are_no_object_are_left_out_with_a_warning() -> None:
    unit = process.process(of("top", {"global": 1, "sub": {"global": 2}}, chart("sub")), {})
    assert unit.values == {"global": 1, "sub": {"global": {}}}
    assert process.warnings(unit) == (
        "values of top: global is a number; only an object is handed on to subcharts",
        "values of top.sub: global is given a number, which is left out; an object is needed",
    )


def test_values_are_limited_in_size_and_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = family("top", *(f"sub as a{number}" for number in range(1_000)))
    large: JsonObject = {"global": {str(number): "x" * 100 for number in range(1_000)}}
    with pytest.raises(ChartFaulty, match="come, with those of other charts, to more than 8,388,608 characters"):
        process.process(bomb, large)
    # Imports that lie on each other count as well, though nothing more comes of them.
    many = app({}, *[("deep.inside", "x")] * 1_000)
    process.process(many, {})
    monkeypatch.setattr(coalescing, "MAX_CHARACTERS", 10_000)
    with pytest.raises(ChartFaulty, match="to more than 10,000 characters"):
        process.process(many, {})
    deep: JsonValue = 1
    for _ in range(60):
        deep = {"a": deep}
    assert isinstance(deep, dict)
    process.process(line({}, {}, deep), {})
    with pytest.raises(ChartFaulty, match=r"the values of top\.middle.leaf are nested deeper than 64 levels"):
        process.process(line({}, {}, {"a": {"b": {"c": deep}}}), {})


def test_what_is_imported_cannot_be_nested_too_deeply() -> None:
    path = ".".join("abcdefghij" * 6)
    assert process.process(app({}, ("deep", path)), {}).values["a"]
    with pytest.raises(ChartFaulty, match="would be nested deeper than 64 levels by an import"):
        process.process(app({}, ("deep", f"{path}.x.y.z")), {})
    with pytest.raises(ChartFaulty, match="would be nested deeper than 64 levels by an import"):
        process.process(app({}, ("deep", ".".join("a" * 30_000))), {})


def test_values_of_users_are_limited() -> None:
    with pytest.raises(errors.InvalidField, match=r"values: has .* bytes; at most 1,048,576 are allowed"):
        process.process(chart("top"), {"a": "x" * 1024 * 1024})


_KEYS = st.sampled_from(["a", "b", "middle", "leaf", "global", "exports"])
_SCALARS: st.SearchStrategy[JsonValue] = st.none() | st.booleans() | st.integers(0, 3)
_VALUES: st.SearchStrategy[JsonObject] = st.dictionaries(
    _KEYS,
    st.recursive(
        _SCALARS,
        lambda inner: st.dictionaries(_KEYS, inner, max_size=3) | st.lists(inner, max_size=2),
        max_leaves=8,
    ),
    max_size=4,
)


@given(_VALUES, _VALUES, _VALUES, _VALUES)
def test_nothing_that_is_given_is_changed_and_the_same_always_comes_out(
    top: JsonObject, middle: JsonObject, leaf: JsonObject, values: JsonObject
) -> None:
    items = ("a", ("b", "a.b"), (".", "."))
    inner = chart("middle", chart("leaf", values=leaf), values=middle, dependencies=[imports("leaf", *items)])
    found = chart("top", inner, values=top, dependencies=[imports("middle", *items)])
    untouched, given_values = copy.deepcopy(found), copy.deepcopy(values)
    try:
        unit = process.process(found, values)
    except errors.InvalidField:
        unit = None
    assert (found, values) == (untouched, given_values)
    if unit:
        assert process.process(found, values).values == unit.values
        assert not list(_nulls(unit.values))
        for each in process.units(unit):
            assert all(each.values[name] == child.values for name, child in each.children.items())


def _nulls(value: JsonValue) -> list[JsonValue]:
    match value:
        case dict():
            return [found for item in value.values() for found in ([item] if item is None else _nulls(item))]
        case _:
            return []
