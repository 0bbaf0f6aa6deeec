"""How many events it takes to relate applications of some size: exactly as many as there are pairs to be told."""

from collections import Counter

import pytest

from tinkwell.core.unit.kinds import EventKind, Profile
from tinkwell.core.unit.world import Charm, Endpoint, Role, World


def charm(name: str, endpoint: str, role: Role) -> Charm:
    return Charm(name, f"{name}-1", {endpoint: Endpoint(role, "link")}, ())


def settle(world: World) -> None:
    for application in world.applications:
        world.elect(application)
    while busy := [unit for unit in world.living() if world.is_busy(unit)]:
        for unit in busy:
            if world.grant(unit):
                world.commit(unit)


@pytest.mark.parametrize(
    ("profile", "providers", "requirers", "siblings"),
    [
        (Profile.LITERAL, 1, 1, 0),
        (Profile.LITERAL, 4, 7, 6 + 21),
        (Profile.JUJU, 4, 7, 0),
        (Profile.JUJU, 1, 25, 0),
    ],
)
def test_relating_takes_one_event_a_unit_and_two_a_pair_of_units_that_meet(
    profile: Profile, providers: int, requirers: int, siblings: int
) -> None:
    """Each younger sibling is announced to each older one, in profile LITERAL; all others to each other."""
    world = World()
    world.deploy("pg", charm("pg", "out", Role.PROVIDES), providers, profile=profile, machine="m")
    world.deploy("web", charm("web", "in", Role.REQUIRES), requirers, profile=profile, machine="m")
    settle(world)
    number = world.relate("pg:out", "web:in")
    settle(world)
    told = Counter(
        running.event.kind
        for unit in world.living()
        for running in world.stream(unit)
        if running.event.relation == number
    )
    pairs = 2 * providers * requirers + siblings
    assert told == {
        EventKind.RELATION_CREATED: providers + requirers,
        EventKind.RELATION_JOINED: pairs,
        EventKind.RELATION_CHANGED: pairs,
    }
    assert world.check(is_at_rest=True) == []
