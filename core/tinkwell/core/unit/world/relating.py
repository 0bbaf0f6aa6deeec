"""Relations of a world: which endpoints fit each other, and how a relation begins and starts to end."""

from collections.abc import Iterator, Mapping

from tinkwell.core import errors
from tinkwell.core.unit import limit
from tinkwell.core.unit.kinds import Life
from tinkwell.core.unit.world import log
from tinkwell.core.unit.world.charm import Role
from tinkwell.core.unit.world.state import Relation, State


def relate(state: State, one: str, other: str) -> int:
    """Relate two endpoints, such as `web:db` and `pg:db`, or two applications if exactly one pair of endpoints fits.

    Return the relation's number. Raises EndpointMismatch if no pair or more than one fits, AlreadyExists if the
    relation exists.
    """
    (first, first_end), (second, second_end) = _parts(one), _parts(other)
    for application in (first, second):
        if state.application(application).life is not Life.ALIVE:
            raise errors.IllegalTransition(f"application {application}", "it is being removed")
    if first == second:
        raise errors.EndpointMismatch(f"application {first}", "it cannot have a relation with itself")
    pairs = [*_pairs(state, (first, first_end), (second, second_end))]
    if len(pairs) != 1:
        found = f"{len(pairs)} pairs of endpoints fit; name both" if pairs else "no two endpoints of one interface fit"
        raise errors.EndpointMismatch(f"{one} and {other}", found)
    ends, interface = pairs[0]
    if any(each.ends == ends and each.life is Life.ALIVE for each in state.relations.values()):
        raise errors.AlreadyExists("relation", f"{one} {other}")
    members = sum(1 for application in ends for _ in state.units_of(application))
    if members > limit.MEMBERS_PER_RELATION:
        text = f"together they have {members} units, and a relation may have {limit.MEMBERS_PER_RELATION} members"
        raise errors.IllegalTransition(f"{one} and {other}", text)
    return create(state, ends, interface).number


def create(state: State, ends: Mapping[str, str], interface: str, *, is_peer: bool = False) -> Relation:
    """Create a relation between `ends`, which maps applications to endpoints."""
    number = state.next_relation
    state.next_relation += 1
    relation = Relation(state.new_id(f"relation {number}"), number, interface, dict(ends), is_peer)
    state.relations[number] = relation
    log.write_relation(state, relation, log.CREATED)
    return relation


def let_die(state: State, relation: Relation, actor: str) -> None:
    """Begin a relation's end: all of its members break it, at the same time."""
    if relation.life is Life.ALIVE:
        relation.life = Life.DYING
        relation.actor = actor
        log.write_relation(state, relation)


def _parts(text: str) -> tuple[str, str]:
    application, _, endpoint = text.partition(":")
    return application, endpoint


def _pairs(state: State, one: tuple[str, str], other: tuple[str, str]) -> Iterator[tuple[dict[str, str], str]]:
    """Yield each fitting pair, as endpoints by application with the provider first, and the interface."""
    for (first, first_end), (second, second_end) in ((one, other), (other, one)):
        for provided, its in state.applications[first].charm.of_role(Role.PROVIDES).items():
            for required, needs in state.applications[second].charm.of_role(Role.REQUIRES).items():
                is_meant = first_end in ("", provided) and second_end in ("", required)
                if is_meant and its.interface == needs.interface:
                    yield {first: provided, second: required}, its.interface
