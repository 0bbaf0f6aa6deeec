"""Worlds of units as tests want them, and their charms."""

from tinkwell.core.unit.effect import BagEdit, Effects
from tinkwell.core.unit.kinds import EventState, Owner
from tinkwell.core.unit.world import Charm, Endpoint, Role, World

WEB = Charm(
    "web",
    "web-1",
    {
        "site": Endpoint(Role.PROVIDES, "http"),
        "db": Endpoint(Role.REQUIRES, "postgresql"),
        "cluster": Endpoint(Role.PEERS, "web-cluster"),
    },
    ("data",),
)
PG = Charm("pg", "pg-1", {"db": Endpoint(Role.PROVIDES, "postgresql"), "admin": Endpoint(Role.PROVIDES, "postgresql")})


def settle(world: World, *units: str) -> None:
    """Let units, all of them unless some are given, run what is due to them, first come first."""
    is_busy = True
    while is_busy:
        for application in world.applications:
            world.elect(application)
        busy = [unit for unit in world.living() if (not units or unit in units) and world.is_busy(unit)]
        is_busy = bool(busy)
        if busy:
            step(world, busy[0])


def step(world: World, unit: str) -> None:
    """Let a unit take one step: be granted an event, also one that has failed, or commit the one that it runs."""
    running = world.running(unit)
    if running is None or running.is_lost or running.state is EventState.ERROR:
        world.grant(unit)
    else:
        world.commit(unit)


def told(world: World, unit: str) -> list[str]:
    """Return the names of what a unit was told, with the remote unit."""
    return [f"{each.event.name} {each.event.unit}".rstrip() for each in world.stream(unit)]


def write(relation: int, owner: Owner = Owner.UNIT, *, term: int = 0, **texts: str | None) -> Effects:
    """Return the effects of a handler that edits a bag."""
    return Effects(bags=(BagEdit(relation=relation, owner=owner, edits=texts),), term=term)
