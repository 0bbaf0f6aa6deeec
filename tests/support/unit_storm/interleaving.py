"""Every order in which units run what they are due while requests come.

Orders after which the same may follow, and in which each unit was told the same, are gone on from once.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.unit.invariant import Violation
from tinkwell.core.unit.kinds import Profile
from tinkwell.core.unit.world import Charm, Endpoint, Role, World

Move: TypeAlias = Callable[[World], object]

_ENDPOINTS = {"R": Endpoint(Role.PROVIDES, "link"), "cluster": Endpoint(Role.PEERS, "cluster")}
_WEB = Charm("web", "web-1", _ENDPOINTS, ("data",))
_NEW_WEB = Charm("web", "web-2", _ENDPOINTS, ("data",))
_PG = Charm("pg", "pg-1", {"R": Endpoint(Role.REQUIRES, "link")})

REQUESTS: dict[str, Move] = {
    "relate": lambda world: world.relate("web:R", "pg:R"),
    "unrelate": lambda world: world.unrelate(_relation(world)),
    "configure": lambda world: world.set_config("web", {"size": 2}),
    "refresh": lambda world: world.refresh("web", _NEW_WEB),
    "remove web/0": lambda world: world.remove_unit("web/0"),
    "force web/0": lambda world: world.remove_unit("web/0", is_forced=True),
    "remove web": lambda world: world.remove_application("web"),
    "tick": lambda world: world.tick("web/0"),
    "detach": lambda world: world.detach("data/0"),
}
TRIPLES = (
    ("relate", "configure", "refresh"),
    ("relate", "unrelate", "remove web/0"),
    ("relate", "remove web", "tick"),
    ("relate", "force web/0", "configure"),
    ("detach", "refresh", "remove web/0"),
)


def _relation(world: World) -> int:
    return next((number for number, relation in world.relations.items() if not relation.is_peer), 0)


def two_units(profile: Profile, *, are_started: bool) -> World:
    """Return a world of two units, of two applications that may be related."""
    world = World()
    world.deploy("web", _WEB, profile=profile)
    world.deploy("pg", _PG, profile=profile)
    while are_started and (units := [unit for unit in world.living() if world.is_busy(unit)]):
        _step(units[0], world)
    return world


@dataclass
class Found:
    """How many different worlds were met, how many of them were at rest, and what is wrong in these."""

    worlds: int = 0
    ends: int = 0
    violations: list[Violation] = field(default_factory=list)


def explore(world: World, requests: Sequence[str], *, most_worlds: int = 1_000_000) -> Found:
    """Go all ways on from a world, with the requests in their order; each end is judged."""
    known: set[Hashable] = set()
    found = Found()
    ways = [(world, tuple(requests))]
    while ways and len(known) < most_worlds:
        world, left = ways.pop()
        key = (world.key(), left)
        if key in known:
            continue
        known.add(key)
        units = [unit for unit in world.living() if world.is_busy(unit)]
        ways += [(_after(world, functools.partial(_step, unit)), left) for unit in units]
        if left:
            ways.append((_after(world, REQUESTS[left[0]]), left[1:]))
        elif not units:
            found.ends += 1
            found.violations += world.check(is_at_rest=True)
    found.worlds = len(known)
    return found


def _step(unit: str, world: World) -> None:
    if world.running(unit):
        world.commit(unit)
    else:
        world.grant(unit)


def _after(world: World, move: Move) -> World:
    after = world.copy()
    try:
        move(after)
    except (errors.NotFound, errors.IllegalTransition):
        # It is refused: what it is about is gone by then, or goes.
        return world.copy()
    return after
