"""Tests of charts in a rendered manifest."""

from collections.abc import Sequence

import pytest

from tinkwell.core import errors
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest, RenderedResource
from tinkwell.core.value.document import JsonObject


def chart(
    name: str, *batches: Sequence[str], edges: Sequence[tuple[str, str]] = (), version: str = "1.0.0"
) -> RenderedChart:
    return RenderedChart(
        name=name, version=version, batches=tuple(map(tuple, batches)) or ((name,),), edges=tuple(edges)
    )


def problems(charts: JsonObject, *resources: str) -> list[str]:
    given: JsonObject = {"charts": charts, "resources": {path: {"type": "x"} for path in resources}}
    try:
        RenderedManifest.from_json(given, {})
    except errors.InvalidField as error:
        return [f"{each.field}: {each.description}" for each in error.violations]
    return []


def test_charts_come_back_from_their_json_form() -> None:
    charts = {
        "shop": chart("shop", ["store", "web"], ["shop"], edges=[("store", "shop"), ("web", "shop")]),
        "shop.store": chart("store"),
        "shop.web": chart("other", ["web"], version="2.0.0-rc.1"),
    }
    resources = {path: RenderedResource(type="x") for path in ("shop:a", "shop.web:a[k]")}
    manifest = RenderedManifest(charts=charts, resources=resources)
    assert RenderedManifest.from_json(manifest.as_json(), manifest.late_as_json()) == manifest


def test_a_manifest_without_charts_is_written_as_before() -> None:
    assert "charts" not in RenderedManifest().as_json()


@pytest.mark.parametrize(
    ("charts", "sentence"),
    [
        ({"shop.store": chart("store")}, 'charts["shop.store"]: there is no chart shop, of which it is a part'),
        ({"shop": chart("shop"), "other": chart("other")}, "charts: has 2 charts that are no part of another one"),
        ({"shop": chart("shop", ["store"], ["shop"])}, "charts.shop.batches: must have each subchart once"),
        ({"shop": chart("shop"), "shop.store": chart("store")}, "charts.shop.batches: must have each subchart once"),
        (
            {"shop": chart("shop", ["shop"], ["store"]), "shop.store": chart("store")},
            "charts.shop.batches: must have each subchart once, and the chart itself in the last one",
        ),
        ({"shop": RenderedChart(name="shop", version="1", batches=())}, "charts.shop.batches: must have each subchart"),
        ({"shop": chart("shop", edges=[("shop", "shop")])}, "charts.shop.edges: has shop → shop, which does not lead"),
        ({"shop": chart("shop", edges=[("a", "shop")])}, "charts.shop.edges: has a → shop, which does not lead"),
    ],
)
def test_charts_that_do_not_fit_together_are_refused(charts: dict[str, RenderedChart], sentence: str) -> None:
    found = problems({path: each.as_json() for path, each in charts.items()})
    assert [each for each in found if each.startswith(sentence)], found


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"name": "shop", "version": "1", "batches": [["shop"]]}, "charts.shop.edges: must be given"),
        ({"name": "", "version": "1", "batches": [["shop"]], "edges": []}, "charts.shop.name: must not be empty"),
        ({"name": "shop", "version": "1", "batches": ["shop"], "edges": []}, "charts.shop.batches[0]"),
        (
            {"name": "shop", "version": "1", "batches": [["shop"]], "edges": [["a"]]},
            "charts.shop.edges: has an edge that is not a pair of names",
        ),
        ({"name": "shop", "version": "1", "batches": [["a b"]], "edges": []}, "charts.shop.batches[0]"),
    ],
)
def test_a_stored_chart_that_is_wrong_is_refused(value: JsonObject, sentence: str) -> None:
    found = problems({"shop": value})
    assert [each for each in found if each.startswith(sentence)], found


def test_resources_belong_to_charts_that_are_there_and_to_none_without_charts() -> None:
    shop = chart("shop").as_json()
    why = "there is no chart of which it is a part"
    assert problems({"shop": shop}, "shop:a") == []
    assert problems({"shop": shop}, "a", "shop.x:b") == [f"resources.a: {why}", f'resources["shop.x:b"]: {why}']
    assert problems({}, "shop:a") == [f'resources["shop:a"]: {why}']
