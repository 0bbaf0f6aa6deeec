"""Storms of agents and operators at the same time, over PostgreSQL: the log violates no invariant of a unit's life.

$UNIT_STORMS says how many.
"""

import os

import pytest

from support import application_site
from support.unit_storm.live import LiveStorm
from tinkwell.core.unit.kinds import Profile

SEEDS = range(int(os.environ.get("UNIT_STORMS", "1")))


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("seed", SEEDS)
async def test_what_agents_and_operators_do_at_once_violates_no_invariant(
    database_url: str, seed: int, profile: Profile
) -> None:
    async with application_site.open_site(database_url) as site:
        storm = LiveStorm(site, seed, profile)
        violations = await storm.run()
        assert violations == [], storm.answers
