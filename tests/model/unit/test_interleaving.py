"""No order in which two units run what they are due, while three requests come, violates an invariant.

Here the units are started before; `make storm-units` tries all orders from their births on, too.
"""

import pytest

from support.unit_storm.interleaving import TRIPLES, explore, two_units
from tinkwell.core.unit.kinds import Profile


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("requests", TRIPLES, ids=", ".join)
def test_no_order_violates_an_invariant(profile: Profile, requests: tuple[str, ...]) -> None:
    found = explore(two_units(profile, are_started=True), requests)
    assert found.violations == []
    assert found.worlds > 20
    assert found.ends > 0
