"""What handlers make of a manifest that is rendered."""

import copy
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.manifest import changed, chart_part
from tinkwell.core.release.manifest.rendered import RenderedManifest

URL = "{{ disk.state.url }}"
WRITTEN: dict[str, Any] = {
    "plugs": {},
    "resources": {
        "disk": {"type": "acme/disk", "config": {"size": 1, "text": URL}},
        "web": {
            "type": "acme/web",
            "dependencies": {"disk": "disk"},
            "config": {"url": URL, "list": ["a", "at {{ disk.state.zone }}"], "name": "web"},
        },
    },
    "outputs": {"url": "{{ web.state.url }}"},
}
LATE: dict[str, Any] = {
    "resources": {"web": {"pointers": ["/url", "/list/1"], "names": {"disk": "disk"}}},
    "outputs": {"pointers": ["/url"], "names": {"web": "web"}},
}


def former() -> RenderedManifest:
    return RenderedManifest.from_json(copy.deepcopy(WRITTEN), copy.deepcopy(LATE))


def given() -> Any:
    return former().as_json()


def test_what_was_not_changed_stays_as_it_was() -> None:
    assert changed.read(former(), given()) == former()


def test_late_texts_stay_late_where_they_stand_and_what_takes_their_place_is_data() -> None:
    now = given()
    now["resources"]["web"]["config"] |= {"url": "{{ 1 }}", "more": "{{ x }}"}
    found = changed.read(former(), now)
    assert found.resources["web"].late.pointers == ("/list/1",)
    assert found.resources["web"].config["url"] == "{{ 1 }}"
    assert found.late_outputs == former().late_outputs


def test_a_resource_goes_and_another_one_comes() -> None:
    now = given()
    now["resources"]["web"] = {"type": "acme/web", "config": {"url": "http://x"}}
    del now["resources"]["disk"]
    now["resources"]["new"] = {"type": "acme/new", "dependencies": {"it": "web"}}
    found = changed.read(former(), now)
    assert [*found.resources] == ["web", "new"]
    assert found.resources["web"].late.names == {}
    assert found.resources["new"].prerequisites == ("web",)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("web", "config", "copy"), URL, "resources.web.config.copy"),
        (("web", "config", "copy"), f"see {URL}", "resources.web.config.copy"),
        (("web", "config", "list"), ["at {{ disk.state.zone }}", "b"], "resources.web.config.list[0]"),
        (("new",), {"type": "acme/new", "config": {"deep": {"url": URL}}}, "resources.new.config.deep.url"),
    ],
)
def test_a_late_text_that_stands_elsewhere_is_refused(path: tuple[str, ...], value: Any, field: str) -> None:
    now = given()
    place = now["resources"]
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(errors.InvalidField) as told:
        changed.read(former(), now)
    assert [each.field for each in told.value.violations] == [field]
    assert "evaluated later" in told.value.violations[0].description


def test_data_that_reads_like_a_late_text_is_data_where_it_always_was() -> None:
    assert changed.read(former(), given()).resources["disk"].config["text"] == URL


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"disk": None}, "resources.disk", "must be an object"),
        ({"web": {"config": {}}}, "resources.web.type", "must be given"),
        ({"web": {"type": "acme/web", "when": True}}, "resources.web.when", "there is no such field"),
        ({"web": {"type": "acme/web", "dependencies": {"x": "nothing"}}}, "resources.web.dependencies.x", "nothing"),
        ({"web": {"type": "not an image"}}, "resources.web.type", ""),
    ],
)
def test_a_manifest_is_checked_as_any_other(change: Any, field: str, words: str) -> None:
    now = given()
    now["resources"] |= change
    with pytest.raises(errors.InvalidField) as told:
        changed.read(former(), now)
    assert field in [each.field for each in told.value.violations]
    assert words in str(told.value)


def test_parts_of_charts_know_their_own_names_and_join_to_what_they_are_from() -> None:
    chart: dict[str, Any] = {
        "name": "shop",
        "version": "1.0.0",
        "batches": [["store"], ["shop"]],
        "edges": [["store", "shop"]],
    }
    whole = RenderedManifest.from_json(
        {
            "plugs": {"shop.store:data": {"path": "data"}},
            "resources": {
                "shop:web": {"type": "acme/web", "config": {"n": 1}},
                "shop.store:disk": {"type": "acme/disk"},
                "shop.store:db": {
                    "type": "acme/db",
                    "dependencies": {"d": "shop.store:disk"},
                    "config": {"url": "{{ d.state.url }}"},
                },
            },
            "outputs": {},
            "charts": {
                "shop": chart | {"values": {"a": 1}},
                "shop.store": {**chart, "name": "store", "batches": [["store"]], "edges": []},
            },
        },
        {"resources": {"shop.store:db": {"pointers": ["/url"], "names": {"d": "shop.store:disk"}}}},
    )
    parts = chart_part.parts(whole)
    assert [*parts["shop.store"].resources] == ["disk", "db"]
    assert parts["shop.store"].resources["db"].dependencies == {"d": "disk"}
    assert parts["shop.store"].resources["db"].late.names == {"d": "disk"}
    assert [*parts["shop.store"].plugs] == ["data"]
    assert chart_part.join(whole, parts) == whole
    assert whole.charts["shop"].values == {"a": 1}
    assert chart_part.parts(former()) == {"": former()}
