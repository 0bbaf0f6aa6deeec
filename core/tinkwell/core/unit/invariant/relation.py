"""I11 to I16 and I31: the order and number of the events that a unit gets about one relation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tinkwell.core.unit.invariant.history import NEVER, History, Told, UnitHistory
from tinkwell.core.unit.invariant.violation import Violation, of
from tinkwell.core.unit.kinds import EventKind

_K = EventKind


@dataclass(slots=True)
class _Known:
    """What a unit has been told of a relation so far."""

    is_created: bool = False
    is_broken: bool = False
    members: set[str] = field(default_factory=set)
    departed: set[str] = field(default_factory=set)

    def add(self, told: Told) -> None:
        """Add one event."""
        match told.kind:
            case _K.RELATION_CREATED:
                self.is_created = True
            case _K.RELATION_JOINED:
                self.members.add(told.remote)
            case _K.RELATION_DEPARTED:
                self.members.discard(told.remote)
                self.departed.add(told.remote)
            case _K.RELATION_BROKEN:
                self.is_broken = True


def _walk(history: History) -> Iterator[tuple[UnitHistory, Told, _Known]]:
    """Yield each relation event with what the unit had been told of the relation before it."""
    for unit in history.units:
        known: dict[int, _Known] = {}
        for told in unit.stream:
            if told.relation:
                so_far = known.setdefault(told.relation, _Known())
                yield unit, told, so_far
                so_far.add(told)


def _judged(
    history: History, invariant: str, judge: Callable[[UnitHistory, Told, _Known], str | None]
) -> Iterator[Violation]:
    for unit, told, known in _walk(history):
        if text := judge(unit, told, known):
            yield of(invariant, unit, told, text)


def created_comes_first(history: History) -> Iterator[Violation]:
    """I11: `relation-created` comes once for each relation, before all other events of it."""

    def judge(_: UnitHistory, told: Told, known: _Known) -> str | None:
        if told.kind is _K.RELATION_CREATED and known.is_created:
            return "it came before"
        if told.kind is not _K.RELATION_CREATED and not known.is_created:
            return "no relation-created came before it"
        return None

    return _judged(history, "I11", judge)


def changed_follows_joined(history: History) -> Iterator[Violation]:
    """I12: `relation-joined` of a unit is followed by its `relation-changed`, with no event between."""
    for unit in history.units:
        for told, after in zip(unit.stream, unit.stream[1:], strict=False):
            if told.kind is not _K.RELATION_JOINED:
                continue
            is_same = (after.relation, after.remote) == (told.relation, told.remote) and not after.record.is_echo
            if after.kind is not _K.RELATION_CHANGED or not is_same:
                yield of("I12", unit, told, f"not its relation-changed, but {after.record.name} follows it")


def changed_is_of_members(history: History) -> Iterator[Violation]:
    """I13: `relation-changed` is about a member; an echo comes while the relation has members."""

    def judge(unit: UnitHistory, told: Told, known: _Known) -> str | None:
        if told.kind is not _K.RELATION_CHANGED or not told.remote:
            return None
        if told.record.is_echo:
            if told.remote != unit.name:
                return "it is an echo, and not of the unit itself"
            return None if known.members else "it is an echo, and there are no members"
        return None if told.remote in known.members else f"{told.remote} is no member"

    return _judged(history, "I13", judge)


def joined_never_follows_departed(history: History) -> Iterator[Violation]:
    """I14: no `relation-joined` of a unit comes after its `relation-departed`, and none while it is a member."""

    def judge(_: UnitHistory, told: Told, known: _Known) -> str | None:
        if told.kind is not _K.RELATION_JOINED:
            return None
        if told.remote in known.departed:
            return f"{told.remote} has departed"
        return f"{told.remote} is a member already" if told.remote in known.members else None

    return _judged(history, "I14", judge)


def departed_is_of_members(history: History) -> Iterator[Violation]:
    """I15: `relation-departed` is about a member unless it is mirrored; nothing follows `relation-broken`."""

    def judge(_: UnitHistory, told: Told, known: _Known) -> str | None:
        if known.is_broken:
            return "the relation was broken before"
        if told.kind is _K.RELATION_BROKEN and known.members:
            return f"{', '.join(sorted(known.members))} had not departed"
        if told.kind is not _K.RELATION_DEPARTED:
            return None
        if told.record.is_mirrored:
            if told.remote in known.members:
                return f"it is mirrored, but {told.remote} is a member"
            return f"{told.remote} departed before" if told.remote in known.departed else None
        return None if told.remote in known.members else f"{told.remote} is no member"

    return _judged(history, "I15", judge)


def is_one_to_one(history: History) -> Iterator[Violation]:
    """I16: when a unit is gone, each member that joined has departed, and each relation that was created is broken."""
    for unit in history.units:
        if unit.gone == NEVER or unit.forced < NEVER:
            continue
        last: dict[int, Told] = {}
        known: dict[int, _Known] = {}
        for told in unit.stream:
            if told.relation:
                last[told.relation] = told
                known.setdefault(told.relation, _Known()).add(told)
        for number, end in known.items():
            told = last[number]
            if end.members:
                yield of("I16", unit, told, f"{', '.join(sorted(end.members))} never departed after it")
            if end.is_created and not end.is_broken and not told.record.is_peer:
                yield of("I16", unit, told, f"relation {number} was never broken after it")


def broken_in_operation_has_a_cause(history: History) -> Iterator[Violation]:
    """I31: a unit that stays gets `relation-broken` only if the relation is removed."""
    for unit, told, _ in _walk(history):
        if told.kind is not _K.RELATION_BROKEN or (relation := history.relations.get(told.relation)) is None:
            continue
        if min(relation.dying, unit.dying) > told.granted:
            yield of("I31", unit, told, "neither the relation nor the unit was to go")
