"""In which order handlers hear an event."""

from dataclasses import dataclass

import pytest

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event import order


@dataclass(frozen=True)
class Handler:
    name: str
    weight: float
    origin: str
    ordinal: int


CHARTS = order.children_first(["shop", "shop.store", "shop.store.cache", "shop.site"])


def test_each_chart_comes_behind_all_below_it_and_siblings_stay_in_their_order() -> None:
    assert CHARTS == ("shop.store.cache", "shop.store", "shop.site", "shop")
    assert order.children_first(["shop"]) == ("shop",)
    assert order.children_first([]) == ()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([("a", 1, "shop", 1), ("b", 0.5, "shop", 2), ("c", 0, "shop", 3)], "cba"),
        ([("a", 0.5, "shop", 1), ("b", 0.5, "shop.site", 2), ("c", 0.5, "shop.store.cache", 3)], "cba"),
        ([("a", 0, "shop", 1), ("b", 1, "shop.store", 2)], "ab"),
        ([("a", 0.5, "shop", 2), ("b", 0.5, "shop", 1)], "ba"),
        ([("a", 0.5, "", 0), ("b", 0.5, "shop", 9)], "ba"),
        ([("a", 0, "", 0), ("b", 0.5, "shop", 9)], "ab"),
        ([("a", 0.5, "", 1), ("b", 0.5, "", 0)], "ba"),
    ],
    ids=["weight", "children", "weight before children", "registration", "Python last", "its weight", "its order"],
)
def test_the_order_is_by_weight_then_chart_then_registration(
    given: list[tuple[str, float, str, int]], expected: str
) -> None:
    handlers = [Handler(*each) for each in given]
    assert "".join(each.name for each in order.in_order(handlers, CHARTS)) == expected
    assert "".join(each.name for each in order.in_order(reversed(handlers), CHARTS)) == expected


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_weight_outside_of_0_and_1_is_refused(weight: float) -> None:
    with pytest.raises(errors.InvalidField, match="must be a number from 0, first, to 1, last"):
        order.parse_weight("weight", weight)
    assert order.parse_weight("weight", 1) == 1.0
