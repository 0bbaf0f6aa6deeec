"""How many events relations of many units take."""

import pytest

from bench.unit import storm


@pytest.mark.parametrize(("units", "events"), [(1, 6), (2, 24), (60, 21_600)])
def test_each_unit_is_told_of_all_others_twice(units: int, events: int) -> None:
    assert storm.events(units) == events
