"""Who leads an application, and for how long."""

import pytest

from tinkwell.core.unit.kinds import Life
from tinkwell.core.unit.resolver.leadership import GRACE_SECONDS, Candidate, elect, remaining_seconds


def candidate(unit: str, *, is_started: bool = True, is_live: bool = True) -> Candidate:
    return Candidate(unit=unit, is_started=is_started, is_live=is_live)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([], ""),
        ([candidate("web/10"), candidate("web/9")], "web/9"),
        ([candidate("web/0", is_started=False), candidate("web/3")], "web/3"),
        ([candidate("web/0", is_live=False), candidate("web/3", is_started=False)], "web/3"),
        ([candidate("web/0", is_live=False)], ""),
    ],
)
def test_the_lowest_living_unit_is_elected_started_ones_first(candidates: list[Candidate], expected: str) -> None:
    assert elect(candidates, application_life=Life.ALIVE, leader="", leader_remaining_seconds=0) == expected


@pytest.mark.parametrize(
    ("leader", "remaining", "life", "expected"),
    [
        ("web/5", 0.1, Life.ALIVE, ""),
        ("web/5", 0, Life.ALIVE, "web/0"),
        ("web/5", -4, Life.ALIVE, "web/0"),
        ("", 60, Life.ALIVE, "web/0"),
        ("", 0, Life.DYING, ""),
    ],
)
def test_a_leader_keeps_its_term_until_its_deadline_and_a_dying_application_elects_nobody(
    leader: str, remaining: float, life: Life, expected: str
) -> None:
    elected = elect([candidate("web/0")], application_life=life, leader=leader, leader_remaining_seconds=remaining)
    assert elected == expected


def test_a_leader_keeps_its_term_until_the_grace_after_its_lease_is_over() -> None:
    assert remaining_seconds(0) == GRACE_SECONDS
    assert remaining_seconds(-GRACE_SECONDS) == 0
