"""Agents, servers, PostgreSQL and scripts that die at points of an event; `make kill-units` does it 200 times."""

import random

import pytest

from support.unit_kill import case, play
from support.unit_kill.case import Case, Fate, Point
from tinkwell.server.app.dev import place

_CASES = (
    Case(1, Point.HANDLER, Fate.CHARM, "config-changed"),
    Case(2, Point.HANDLER, Fate.AGENT, "install"),
    Case(3, Point.AFTER_OUTCOME, Fate.SERVER, "start", 0.1),
    Case(4, Point.ANSWER, Fate.POSTGRES, "leader-elected", 0.2),
)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_whoever_dies_at_whatever_point_effects_are_there_exactly_once() -> None:
    with place.temporary() as directory:
        assert await play.Play(directory).run(_CASES) == []


def test_all_points_meet_all_fates_before_any_does_again() -> None:
    cases = case.draw(random.Random(1), 19)
    assert len({(each.point, each.fate) for each in cases}) == 19
    assert all(each.fate is not Fate.CHARM or each.point is Point.HANDLER for each in cases)
