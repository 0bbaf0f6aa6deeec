"""Where each value of a release is from, and what has decided on its subcharts."""

import copy

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from unit.core.release_chart import chart as built

from tinkwell.core import errors
from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.file import chart
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.file.metadata import Dependency
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.value import origin, set_value, value
from tinkwell.core.release.chart.value.given import Given
from tinkwell.core.value.document import JsonObject

ROOT = """\
apiVersion: v2
name: shop
version: 1.0.0
dependencies:
  - name: db
    alias: store
    condition: store.enabled
    import-values: [data, {child: deep, parent: mine.there}]
  - name: cache
    tags: [fast, small]
  - name: off
    condition: off.enabled
  - name: app
    depends-on: [store]
"""
VALUES = """\
# What the shop has.
replicas: 1
hosts: [a]
image:
  name: web
  tag: "1"
global: {domain: shop, zone: a}
store:
  size: 2
  port: 5000
  global: {zone: b, own: 1}
tags:
  fast: false
port: 80
"""
DB = """\
enabled: true
size: 1

user: db
global:
  domain: db
  depth: 1
exports:
  data:
    port: 5432
    name: db
deep:
  a: 1
  b: {}
"""
PROD = """\
replicas: 2
image: {tag: "2"}
store: {user: shop, enabled: true}
hosts:
- b
"""


def described(name: str) -> bytes:
    return f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n".encode()


def shop() -> Chart:
    return chart.load(
        {
            "Chart.yaml": ROOT.encode(),
            "values.yaml": VALUES.encode(),
            "charts/db/Chart.yaml": described("db"),
            "charts/db/values.yaml": DB.encode(),
            "charts/cache/Chart.yaml": described("cache"),
            "charts/off/Chart.yaml": described("off"),
            "charts/off/values.yaml": b"# Not by default.\nenabled: false\n",
            "charts/app/Chart.yaml": described("app"),
            "charts/stray/Chart.yaml": described("stray"),
        }
    )


PROD_VALUES: JsonObject = {
    "replicas": 2,
    "image": {"tag": "2"},
    "store": {"user": "shop", "enabled": True},
    "hosts": ["b"],
}
GIVEN = (
    Given(name="prod.yaml", values=PROD_VALUES, text=PROD),
    Given(name="--set", values={"replicas": 3, "image": {"name": None}, "store": {"size": None, "new": {}}}),
    Given(name="--set-secret", values={"store": {"password": "x"}}, is_secret=True),
)


def processed(*given: Given) -> Unit:
    united: JsonObject = {}
    for each in given:
        united = value.overlay(each.values, united)
    return process.process(shop(), copy.deepcopy(united))


def sources(*given: Given) -> dict[str, str]:
    found = origin.values(processed(*given), given)
    return {each.key: " < ".join(map(str, each.sources)) for each in found}


def test_the_sources_of_each_value_are_told_in_the_order_in_which_they_count() -> None:
    db = "charts/db/values.yaml"
    assert sources(*GIVEN) == {
        "replicas": "values.yaml:2 < prod.yaml:1 < --set",
        "hosts": "values.yaml:3 < prod.yaml:4",
        "image.tag": "values.yaml:6 < prod.yaml:2",
        "global.domain": "values.yaml:7",
        "global.zone": "values.yaml:7",
        "store.port": "values.yaml:10",
        "store.enabled": f"{db}:1 < prod.yaml:3",
        "store.user": f"{db}:4 < prod.yaml:3",
        "store.password": "--set-secret",
        "store.new": "--set",
        "store.global.domain": f"{db}:6 < values.yaml:7",
        "store.global.depth": f"{db}:7",
        "store.global.zone": "values.yaml:11 < values.yaml:7",
        "store.global.own": "values.yaml:11",
        "store.exports.data.port": f"{db}:10",
        "store.exports.data.name": f"{db}:11",
        "store.deep.a": f"{db}:13",
        "store.deep.b": f"{db}:14",
        "tags.fast": "values.yaml:13",
        "port": f"{db}:10 (imported) < values.yaml:14",
        "name": f"{db}:11 (imported)",
        "mine.there.a": f"{db}:13 (imported)",
        "mine.there.b": f"{db}:14 (imported)",
        **{f"{name}.global.{key}": "values.yaml:7" for name in ("app", "stray") for key in ("domain", "zone")},
    }


def test_the_values_are_those_of_the_release_and_secrets_are_known_as_such() -> None:
    unit = processed(*GIVEN)
    rebuilt: JsonObject = {}
    for each in origin.values(unit, GIVEN):
        rebuilt = value.overlay(value.nest(each.path[:-1], {each.path[-1]: each.value}), rebuilt)
        assert each.is_secret == (each.key == "store.password")
        assert (each.key == set_value.write_path(each.path)) is True
    assert rebuilt == unit.values


def test_values_that_a_parent_gives_for_what_is_imported_are_a_source_as_well() -> None:
    found = chart.load(
        {
            "Chart.yaml": described("top") + b"dependencies: [{name: lib, import-values: [{child: a, parent: .}]}]",
            "values.yaml": b"lib:\n  a:\n    x: 2\n",
            "charts/lib/Chart.yaml": described("lib"),
            "charts/lib/values.yaml": b"a: {x: 1, y: 1}\n",
        }
    )
    told = {each.key: list(map(str, each.sources)) for each in origin.values(process.process(found, {}))}
    assert told["x"] == ["charts/lib/values.yaml:1 (imported)", "values.yaml:3 (imported)"]
    assert told["y"] == ["charts/lib/values.yaml:1 (imported)"]


@pytest.mark.parametrize(
    "given, expected",
    [
        (
            (),
            {
                "shop.store": ("condition store.enabled is true", "charts/db/values.yaml:1", ()),
                "shop.cache": ("tag fast is false", "values.yaml:13", ()),
                "shop.off": ("condition off.enabled is false", "charts/off/values.yaml:2", ()),
                "shop.app": ("no condition and no tag says otherwise", "", ("store",)),
                "shop.stray": ("it is vendored, and no dependency", "", ()),
            },
        ),
        (
            (
                *GIVEN,
                Given(name="--set", values={"off": {"enabled": True}, "tags": {"small": True}}),
            ),
            {
                "shop.store": ("condition store.enabled is true", "charts/db/values.yaml:1 < prod.yaml:3", ()),
                "shop.cache": ("tag small is true", "--set", ()),
                "shop.off": ("condition off.enabled is true", "charts/off/values.yaml:2 < --set", ()),
                "shop.app": ("no condition and no tag says otherwise", "", ("store",)),
                "shop.stray": ("it is vendored, and no dependency", "", ()),
            },
        ),
    ],
)
def test_what_has_decided_on_a_subchart_is_told_with_its_sources(
    given: tuple[Given, ...], expected: dict[str, tuple[str, str, tuple[str, ...]]]
) -> None:
    assert {
        each.path: (
            each.decision.why,
            " < ".join(map(str, each.sources)),
            tuple(edge.before for edge in each.edges),
        )
        for each in origin.dependencies(processed(*given), given)
    } == expected


def test_lines_of_json_are_told_and_of_what_cannot_be_found_none() -> None:
    text = '{"a": 1,\n "b": {"c": 2}, "d": {"<<": 1}}'
    given = Given(name="x.json", values={"a": 1, "b": {"c": 2}, "d": {"e": 1}}, text=text)
    found = sources(given)
    assert (found["a"], found["b.c"], found["d.e"]) == ("x.json:1", "x.json:2", "x.json:2")
    anchors = "base: &base\n  a: 1\nuse: *base\nmore:\n  <<: *base\n"
    given = Given(name="x.yaml", values={"base": {"a": 1}, "use": {"a": 1}, "more": {"a": 1}}, text=anchors)
    found = sources(given)
    assert (found["base.a"], found["use.a"], found["more.a"]) == ("x.yaml:2", "x.yaml:3", "x.yaml:4")
    assert sources(Given(name="x", values={"a": 1}, text="\tno yaml"))["a"] == "x"


_KEYS = st.sampled_from(["a", "b", "middle", "leaf", "global"])
_VALUES = st.dictionaries(
    _KEYS,
    st.recursive(st.sampled_from([None, 1]), lambda inner: st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6),
    max_size=4,
)


def signed(values: JsonObject, name: str) -> JsonObject:
    """Put the name of where they are from in the place of all values."""
    found: JsonObject = {}
    for key, member in values.items():
        found[key] = signed(member, name) if isinstance(member, dict) else member and name
    return found


@drawn(_VALUES, _VALUES, _VALUES, _VALUES, _VALUES)
def test_the_last_source_is_the_one_that_the_value_is_from(
    top: JsonObject, middle: JsonObject, leaf: JsonObject, first: JsonObject, second: JsonObject
) -> None:
    items = ("a", ("b", "a.b"), (".", "."))
    given_values = [signed(first, "first"), signed(second, "second")]
    names = ["values.yaml", "charts/middle-1.0.0/values.yaml", "charts/middle-1.0.0/charts/leaf-1.0.0/values.yaml"]
    own = [signed(each, name) for each, name in zip((top, middle, leaf), names, strict=True)]
    depends = [Dependency(name=name, import_values=items) for name in ("middle", "leaf")]
    inner = built("middle", built("leaf", values=own[2]), values=own[1], dependencies=depends[1:])
    found = built("top", inner, values=own[0], dependencies=depends[:1])
    given = [Given(name=name, values=each) for name, each in zip(("first", "second"), given_values, strict=True)]
    try:
        unit = process.process(found, value.overlay(given[1].values, given[0].values))
    except errors.InvalidField:
        return
    for each in origin.values(unit, given):
        if each.value == {}:
            continue
        assert each.sources, each
        assert each.sources[-1].name == each.value
