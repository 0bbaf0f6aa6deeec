"""What is kept of a request for a chart comes back, and always comes to the same."""

import pytest
from unit.core import release_chart

from tinkwell.core.release.chart.source import ChartSource
from tinkwell.core.value.document import JsonObject

DIGEST = f"sha256:{'0' * 64}"


def source(user_values: JsonObject, default_values: JsonObject | None = None, *, strict: bool = False) -> ChartSource:
    return ChartSource(
        digest=DIGEST,
        name="shop",
        version="1.0.0",
        user_values=user_values,
        strict=strict,
        default_values=default_values,
    )


@pytest.mark.parametrize("defaults", [None, {}, {"color": "red"}])
@pytest.mark.parametrize("strict", [False, True])
def test_a_source_is_read_as_it_was_written(defaults: JsonObject | None, strict: bool) -> None:
    written = source({"size": 3}, defaults, strict=strict)
    assert ChartSource.read(written.as_json()) == written


def test_its_form_is_that_of_the_protocol() -> None:
    assert source({"size": 3}).as_json() == {
        "chart": {"digest": DIGEST, "name": "shop", "version": "1.0.0"},
        "user_values": {"size": 3},
        "strict": False,
    }
    assert source({}, {"color": "red"}).as_json()["default_values"] == {"color": "red"}


def test_manifests_are_no_source_of_a_chart() -> None:
    assert ChartSource.read({"files": {"a.yaml": ""}, "variables": {"chart": 1}}) is None


def test_values_that_are_kept_stand_in_the_place_of_those_of_the_chart() -> None:
    shop = release_chart.chart("shop", values={"size": 1, "color": "blue", "extra": True})
    assert source({"size": 3}).process(shop).values == {"size": 3, "color": "blue", "extra": True}
    kept = source({"size": 3}, {"size": 2, "color": "red"}).process(shop)
    assert kept.values == {"size": 3, "color": "red"}
    assert kept.chart.values_text == ""


def test_a_null_takes_away_a_value_that_is_kept() -> None:
    shop = release_chart.chart("shop", values={"size": 1})
    assert source({"color": None}, {"size": 2, "color": "red"}).process(shop).values == {"size": 2}
