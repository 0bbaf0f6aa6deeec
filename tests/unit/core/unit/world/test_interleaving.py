"""Every order in which two units run what they are due while three requests come: no invariant is violated in any.

Orders after which the same may follow, and in which each unit was told the same, are gone on from once.
"""

from collections.abc import Callable, Sequence

import pytest

from tinkwell.core import errors
from tinkwell.core.unit.kinds import EventKind, Life, Profile
from tinkwell.core.unit.world import Charm, Endpoint, Role, World

Request = Callable[[World], object]
ENDPOINTS = {"R": Endpoint(Role.PROVIDES, "link"), "cluster": Endpoint(Role.PEERS, "cluster")}
WEB = Charm("web", "web-1", ENDPOINTS, ("data",))
NEW_WEB = Charm("web", "web-2", ENDPOINTS, ("data",))
PG = Charm("pg", "pg-1", {"R": Endpoint(Role.REQUIRES, "link")})


def _relate(world: World) -> None:
    world.relate("web:R", "pg:R")


def _unrelate(world: World) -> None:
    world.unrelate(next(number for number, relation in world.relations.items() if not relation.is_peer))


REQUESTS: dict[str, Request] = {
    "relate": _relate,
    "configure": lambda world: world.set_config("web", {"size": 2}),
    "refresh": lambda world: world.refresh("web", NEW_WEB),
    "remove web/0": lambda world: world.remove_unit("web/0"),
    "force web/0": lambda world: world.remove_unit("web/0", is_forced=True),
    "remove web": lambda world: world.remove_application("web"),
    "unrelate": _unrelate,
    "tick": lambda world: world.tick("web/0"),
    "detach": lambda world: world.detach("data/0"),
    "add": lambda world: world.add_units("web"),
}
TRIPLES = [
    ("relate", "configure", "refresh"),
    ("relate", "unrelate", "remove web/0"),
    ("relate", "remove web", "tick"),
    ("relate", "force web/0", "configure"),
    ("detach", "refresh", "remove web/0"),
]


def _units(world: World) -> Sequence[str]:
    return [name for name, unit in world.units.items() if unit.life is not Life.DEAD]


def _moves(world: World, requests: Sequence[str]) -> list[tuple[Request, Sequence[str]]]:
    """Return what may happen next, each with the requests that are left then."""
    moves: list[tuple[Request, Sequence[str]]] = []
    if requests:
        moves.append((REQUESTS[requests[0]], requests[1:]))
    for unit in _units(world):
        if world.running(unit):
            moves.append((lambda world, unit=unit: world.commit(unit), requests))
        elif world.due(unit) or world.units[unit].life is Life.DYING:
            moves.append((lambda world, unit=unit: world.grant(unit), requests))
    return moves


def explore(world: World, requests: Sequence[str]) -> tuple[int, int]:
    """Go all ways; return how many different worlds were met, and how many of them were at rest."""
    known = set()
    ends = 0
    ways = [(world, requests)]
    while ways:
        world, requests = ways.pop()
        key = world.key(), tuple(requests)
        if key in known:
            continue
        known.add(key)
        moves = _moves(world, requests)
        if not moves:
            ends += 1
            assert world.check(is_at_rest=True) == [], [(entry.event_type, entry.data) for entry in world.records()]
        for move, left in moves:
            after = world.copy()
            try:
                move(after)
            except (errors.NotFound, errors.IllegalTransition, StopIteration):
                # What was asked for is gone by then.
                after = world.copy()
                if left == requests:
                    raise
            ways.append((after, left))
    return len(known), ends


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("requests", TRIPLES, ids=" and ".join)
def test_no_order_of_two_units_and_three_requests_violates_an_invariant(
    profile: Profile, requests: Sequence[str]
) -> None:
    world = World()
    world.deploy("web", WEB, profile=profile)
    world.deploy("pg", PG, profile=profile)
    worlds, ends = explore(world, requests)
    assert worlds > 100
    assert ends > 0
    assert EventKind.INSTALL
