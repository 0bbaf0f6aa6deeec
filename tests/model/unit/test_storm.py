"""Random storms violate no invariant, and every mistake that is put into the rules shows as a violation.

`make storm-units` runs thousands of them.
"""

import pytest

from support.unit_storm.mistake import MISTAKES, Mistake
from support.unit_storm.storm import Storm
from tinkwell.core.unit.invariant import CHECKS
from tinkwell.core.unit.kinds import EventKind, Profile

SEEDS = range(1_000_000, 1_000_010)


@pytest.mark.parametrize("profile", Profile)
def test_storms_violate_no_invariant(profile: Profile) -> None:
    kinds = set()
    for seed in SEEDS:
        storm = Storm(seed=seed, profile=profile)
        assert storm.run() == [], f"Storm(seed={seed}, profile={profile!r})"
        kinds |= {entry.data["kind"] for entry in storm.world.records() if entry.event_type == "UNIT_EVENT_COMMITTED"}
    assert kinds == set(EventKind)


def test_a_seed_is_one_storm() -> None:
    logs = []
    for _ in range(2):
        storm = Storm(seed=7, profile=Profile.LITERAL)
        storm.run()
        logs.append(storm.world.records())
    assert logs[0] == logs[1]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.invariant}-{mistake.text}")
def test_a_mistake_in_the_rules_is_found(mistake: Mistake) -> None:
    assert mistake.is_found(storms=40)


def test_each_invariant_that_a_check_names_has_a_mistake_that_it_finds() -> None:
    named = {invariant for check in CHECKS for invariant in (check.__doc__ or "").split(":")[0].split(" and ")}
    named = {invariant for part in named for invariant in part.split(", ")}
    # I36 is found as I34, of which it is the other half.
    assert named - {mistake.invariant for mistake in MISTAKES} <= {"I36"}
