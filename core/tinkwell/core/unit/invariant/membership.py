"""I17, I35, L1 to L3 and J1: which members a unit is told of, and when a relation ends."""

import bisect
from collections.abc import Iterator

from tinkwell.core.unit.invariant.history import NEVER, History, RelationHistory, Told, UnitHistory
from tinkwell.core.unit.invariant.record import EventRecord
from tinkwell.core.unit.invariant.violation import Violation, of
from tinkwell.core.unit.kinds import EventKind, EventState

_K = EventKind


def leaver_comes_first(history: History) -> Iterator[Violation]:
    """I17: other units are told that a unit left after it owes no event of the relation, or was removed by force."""
    for unit in history.units:
        for told in unit.stream:
            if told.kind is not _K.RELATION_DEPARTED:
                continue
            relation = history.relations.get(told.relation)
            if relation is None or min(relation.dying, unit.dying) < told.granted:
                continue
            leaver = history.unit(told.remote, told.relation)
            if leaver is None:
                yield of("I17", unit, told, f"{told.remote} never was a member")
            elif _left(leaver, relation) > told.granted:
                yield of("I17", unit, told, f"{told.remote} had not left before")


def _left(unit: UnitHistory, relation: RelationHistory) -> int:
    """Return the revision from which a unit owed no event of a relation."""
    if not relation.is_peer:
        return min(unit.broke(relation.number), unit.gone)
    open_members: set[str] = set()
    last = unit.dying
    for told in unit.stream:
        if told.relation != relation.number:
            continue
        if told.kind is _K.RELATION_JOINED:
            open_members.add(told.remote)
        elif told.kind is _K.RELATION_DEPARTED:
            open_members.discard(told.remote)
            last = max(last, told.revision)
    return unit.gone if open_members else min(last, unit.gone)


def relation_outlives_its_members(history: History) -> Iterator[Violation]:
    """I35: a relation is deleted after each of its units has broken it, withdrew its creation, or is gone."""
    for relation in history.relations.values():
        if relation.deleted == NEVER:
            continue
        for unit in history.units:
            granted = [event for event in unit.events if _is_creation(event, relation)]
            if not granted or granted[-1].state is EventState.WITHDRAWN:
                continue
            over = unit.gone if relation.is_peer else min(unit.broke(relation.number), unit.gone)
            if over > relation.deleted:
                subject = f"relation {relation.number}"
                yield Violation("I35", subject, relation.deleted, f"it was deleted while {unit.name} had not left it")


def _is_creation(event: EventRecord, relation: RelationHistory) -> bool:
    return event.kind is _K.RELATION_CREATED and event.relation == relation.number and event.revision < relation.deleted


def _own_side(history: History, invariant: str) -> Iterator[tuple[UnitHistory, Told]]:
    """Yield the units of a profile with their events about units of their own application, but for peer relations."""
    for unit in history.units:
        if unit.application.is_literal != invariant.startswith("L"):
            continue
        names = unit.application.units
        for told in unit.stream:
            if told.relation and not told.record.is_peer and told.remote in names:
                yield unit, told


def newcomer_is_told_of_no_older_ones(history: History) -> Iterator[Violation]:
    """L1: a unit is told of siblings that entered after it, and of no older ones."""
    for unit, told in _own_side(history, "L1"):
        if told.kind is not _K.RELATION_JOINED:
            continue
        sibling = unit.application.units[told.remote]
        if sibling.entered(told.relation) < unit.entered(told.relation):
            yield of("L1", unit, told, f"{told.remote} was in the relation before it")


def older_ones_leave_mirrored(history: History) -> Iterator[Violation]:
    """L2: a mirrored `relation-departed` tells of an older sibling, never of a peer, and only in profile LITERAL."""
    for unit in history.units:
        for told in unit.stream:
            if told.kind is not _K.RELATION_DEPARTED or not told.record.is_mirrored:
                continue
            sibling = unit.application.units.get(told.remote)
            is_older = sibling is not None and sibling.entered(told.relation) < unit.entered(told.relation)
            if not is_older or told.record.is_peer or not unit.application.is_literal:
                yield of("L2", unit, told, f"it is mirrored, and {told.remote} is no older sibling")


def echo_is_of_what_others_may_see(history: History) -> Iterator[Violation]:
    """L3: an echo tells a unit once of its own write that it made outside of this relation's handlers."""
    for unit in history.units:
        told_version: dict[int, int] = {}
        for told in unit.stream:
            if told.kind is not _K.RELATION_CHANGED or not told.record.is_echo:
                continue
            before = told_version.get(told.relation, 0)
            written = [version for version, one in own_writes(history, unit, told.relation) if one != told.relation]
            if not any(before < version <= told.record.bag for version in written):
                yield of("L3", unit, told, "it wrote nothing since, or only in handlers of that relation")
            told_version[told.relation] = told.record.bag


def own_writes(history: History, unit: UnitHistory, number: int) -> Iterator[tuple[int, int]]:
    """Yield each version of a unit's bag with the number of the relation whose handler wrote it.

    The number is 0 if a task or a handler of no relation wrote it.
    """
    relation = history.relations.get(number)
    bag = relation.bags.get(unit.name, []) if relation else []
    events = [(event.revision, event.relation) for event in unit.events if event.state is EventState.RUNNING]
    begun = sorted([*events, *((ran.started, 0) for ran in unit.tasks)])
    for record in bag:
        index = bisect.bisect_left(begun, (record.revision, 0))
        yield record.version, begun[index - 1][1] if index else 0


def siblings_meet_among_peers_only(history: History) -> Iterator[Violation]:
    """J1: siblings meet only in peer relations, and no unit is told of its own write."""
    for unit, told in _own_side(history, "J1"):
        yield of("J1", unit, told, f"it tells of {told.remote}, a unit of its own application")
