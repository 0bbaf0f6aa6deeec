"""What handlers change of the values and templates of charts."""

from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.chart import changing, process
from tinkwell.core.release.chart.file import chart
from tinkwell.core.release.chart.process import Unit


def root() -> Unit:
    files = {
        "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
        "values.yaml": "size: 1\nglobal: {zone: eu}\nstore: {n: 1}\n",
        "templates/a.yaml": "{}\n",
        "templates/NOTES.txt": "Hello\n",
        "templates/b.moustache": "b\n",
        "charts/store/Chart.yaml": "apiVersion: v2\nname: store\nversion: 1.0.0\n",
        "charts/store/values.yaml": "n: 0\nown: x\n",
        "charts/store/charts/cache/Chart.yaml": "apiVersion: v2\nname: cache\nversion: 1.0.0\n",
        "charts/site/Chart.yaml": "apiVersion: v2\nname: site\nversion: 1.0.0\n",
    }
    return process.process(chart.load({path: text.encode() for path, text in files.items()}), {})


def values(unit: Unit) -> dict[str, Any]:
    return {each.path: each.values for each in process.units(unit)}


def test_a_parent_changes_its_child_and_its_globals_go_down() -> None:
    before = root()
    given = {**before.values, "store": {"n": 5}, "global": {"zone": "us"}}
    now = changing.with_values(before, "shop", given)
    found = values(now)
    assert found["shop.store"]["n"] == 5
    assert found["shop.store"]["global"] == found["shop.store.cache"]["global"] == {"zone": "us"}
    assert found["shop"]["store"] == found["shop.store"]
    assert found["shop"]["site"]["global"] == {"zone": "us"}
    assert "own" not in found["shop.store"]
    assert before.values["global"] == {"zone": "eu"}


def test_what_a_child_changes_is_in_the_values_of_its_parents_and_nowhere_else() -> None:
    before = root()
    child = before.children["store"]
    now = changing.with_values(before, "shop.store", {**child.values, "n": 7, "cache": {"big": True}})
    found = values(now)
    assert found["shop"]["store"]["cache"]["big"] is True
    assert found["shop.store.cache"]["big"] is True
    assert changing.changed_values(before, now) == {"shop", "shop.store", "shop.store.cache"}
    assert changing.with_values(before, "shop", found["shop"]).children["store"].values == found["shop.store"]


@pytest.mark.parametrize(
    ("path", "given", "field"),
    [
        ("shop", [], "values"),
        ("shop", {"store": 3}, "values.store"),
        ("shop.store", {"cache": "x"}, "values.store.cache"),
        ("shop.store", "text", "values.store"),
    ],
)
def test_values_that_are_none_are_refused(path: str, given: Any, field: str) -> None:
    with pytest.raises(errors.InvalidField) as told:
        changing.with_values(root(), path, given)
    assert told.value.violations[0].field == field


def test_templates_are_told_apart_by_their_names() -> None:
    before = root()
    assert [*before.chart.all_templates] == ["NOTES.txt", "a.yaml", "b.moustache"]
    given = {"c.yaml": "c", "NOTES.txt": "Bye", "d.x": "d"}
    now = changing.with_templates(before, "shop", given).chart
    assert (dict(now.templates), now.notes, dict(now.other_templates)) == (
        {"templates/c.yaml": "c"},
        "Bye",
        {"templates/d.x": "d"},
    )


@pytest.mark.parametrize("file", ["", "/a.yaml", "../x.yaml", "a//b.yaml", "a/./b.yaml"])
def test_a_template_elsewhere_is_refused(file: str) -> None:
    with pytest.raises(errors.InvalidField, match="is not the path of a file in templates/"):
        changing.with_templates(root(), "shop", {file: "x"})


def test_definitions_for_other_templates_may_wait_for_the_scripts_of_the_chart_or_of_those_above_it() -> None:
    files = {
        "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
        "templates/_helpers.tpl": "x",
        "charts/store/Chart.yaml": "apiVersion: v2\nname: store\nversion: 1.0.0\n",
        "charts/store/templates/_more.tpl": "y",
    }
    plain = chart.load({path: text.encode() for path, text in files.items()})
    with pytest.raises(errors.ChartInvalid, match="definitions of Go templates"):
        chart.check_usable([plain])
    scripted = chart.load({path: text.encode() for path, text in (files | {"ext/lua/a.lua": "x = 1"}).items()})
    chart.check_usable(chart.every(scripted))
    for each in chart.every(scripted):
        with pytest.raises(errors.ChartInvalid, match="definitions of Go templates"):
            chart.check_mended(each)
        chart.check_mended(chart.with_templates(each, {}))
