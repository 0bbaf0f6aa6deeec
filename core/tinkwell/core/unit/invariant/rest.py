"""What must have happened when no event is due: I38, and the other halves of I16, I18, I26, L1, L2 and L3.

These checks hold only at rest, and only for units that live and have started.
"""

from collections.abc import Iterator

from tinkwell.core.unit.invariant.history import NEVER, History, RelationHistory, Told, UnitHistory
from tinkwell.core.unit.invariant.leadership import lives
from tinkwell.core.unit.invariant.membership import own_writes
from tinkwell.core.unit.invariant.violation import Violation
from tinkwell.core.unit.kinds import EventKind, Life

_K = EventKind


class _Told:
    """Everything a unit was told of one relation."""

    def __init__(self, unit: UnitHistory, number: int) -> None:
        self.members: dict[str, int] = {}
        self.departed: dict[str, list[Told]] = {}
        self.application = self.echo = 0
        for told in unit.stream:
            if told.relation == number:
                self._add(told)

    def _add(self, told: Told) -> None:
        bag = told.record.bag
        if told.kind is _K.RELATION_JOINED:
            self.members[told.remote] = bag
        elif told.kind is _K.RELATION_DEPARTED:
            self.members.pop(told.remote, None)
            self.departed.setdefault(told.remote, []).append(told)
        elif told.kind is _K.RELATION_CHANGED and told.record.is_echo:
            self.echo = bag
        elif told.kind is _K.RELATION_CHANGED and told.remote:
            self.members[told.remote] = bag
        elif told.kind is _K.RELATION_CHANGED:
            self.application = bag


def _at_rest(history: History) -> Iterator[tuple[UnitHistory, RelationHistory, _Told]]:
    """Yield each living, started unit with each living relation that it is in."""
    if not history.is_at_rest:
        return
    for unit in history.units:
        if not lives(unit):
            continue
        for number in unit.relations():
            relation = history.relations.get(number)
            if relation is not None and relation.dying == NEVER and unit.broke(number) == NEVER:
                yield unit, relation, _Told(unit, number)


def _members(history: History, relation: RelationHistory) -> Iterator[UnitHistory]:
    """Yield the units that are in a relation and are not leaving."""
    for unit in history.units:
        if unit.entered(relation.number) < NEVER == unit.dying and unit.broke(relation.number) == NEVER:
            yield unit


def _of(invariant: str, unit: UnitHistory, relation: RelationHistory, text: str) -> Violation:
    return Violation(invariant, f"{unit.name} in relation {relation.number}", 0, f"at rest it was never told {text}")


def all_bags_were_told(history: History) -> Iterator[Violation]:
    """I38: every unit was told the last version of each bag of the other side and of peers, except its own writes."""
    for unit, relation, told in _at_rest(history):
        for member, seen in told.members.items():
            if seen != relation.version(member):
                text = f"version {relation.version(member)} of the bag of {member}, and {seen} was the last"
                yield _of("I38", unit, relation, text)
        own = unit.application.name
        owner = own if relation.is_peer else next((name for name, _ in relation.records[0].ends if name != own), own)
        version = relation.version(owner)
        if told.application != version and not (relation.is_peer and _need_not_be_told(unit, relation)):
            text = f"version {version} of the bag of {owner}, and {told.application} was the last"
            yield _of("I38", unit, relation, text)


def _need_not_be_told(unit: UnitHistory, relation: RelationHistory) -> bool:
    """Whether a unit wrote last to its application's bag, or leads the application, and so is not told of it (J)."""
    bag = relation.bags.get(unit.application.name, [])
    has_written = bool(bag) and unit.application.at(bag[-1].revision).leader == unit.name
    leads = unit.application.records[-1].leader == unit.name
    return has_written or (leads and not unit.application.is_literal)


def all_members_have_joined(history: History) -> Iterator[Violation]:
    """I16 and L1: every unit was told of all members on the other side, of its peers, and of younger siblings (L)."""
    for unit, relation, told in _at_rest(history):
        for other in _members(history, relation):
            if other is unit or other.name in told.members:
                continue
            if other.application is not unit.application or relation.is_peer:
                yield _of("I16", unit, relation, f"that {other.name} joined")
            elif unit.application.is_literal and other.entered(relation.number) > unit.entered(relation.number):
                yield _of("L1", unit, relation, f"that {other.name} joined")


def all_leavers_have_departed(history: History) -> Iterator[Violation]:
    """I16 and L2: every unit was told of each member that left, and of each older sibling that left (L)."""
    for unit, relation, told in _at_rest(history):
        for name in told.members:
            member = history.unit(name, relation.number)
            if member is None or member.gone < NEVER:
                yield _of("I16", unit, relation, f"that {name} departed")
        if relation.is_peer or not unit.application.is_literal:
            continue
        entered = unit.entered(relation.number)
        for sibling in unit.application.units.values():
            left = min(sibling.broke(relation.number), sibling.gone)
            is_older = sibling.entered(relation.number) < entered < left < NEVER
            if is_older and sibling is not unit and sibling.name not in told.departed:
                yield _of("L2", unit, relation, f"that {sibling.name}, which was there before it, departed")


def own_writes_were_echoed(history: History) -> Iterator[Violation]:
    """L3: a unit with members was told of its last write outside of that relation's handlers."""
    for unit, relation, told in _at_rest(history):
        if relation.is_peer or not unit.application.is_literal or not told.members:
            continue
        last = max(own_writes(history, unit, relation.number), default=(0, 0))
        if last[0] > told.echo and last[1] != relation.number:
            yield _of("L3", unit, relation, f"version {last[0]} of its own bag")


def all_relations_were_told(history: History) -> Iterator[Violation]:
    """I3 and I31: every unit was told of each relation that it is in, and has broken each that is gone."""
    for unit in history.units if history.is_at_rest else []:
        if not lives(unit):
            continue
        for number in unit.relations():
            relation = history.relations.get(number)
            if relation is not None and not relation.is_peer and relation.dying < NEVER == unit.broke(number):
                yield _of("I31", unit, relation, "that it is broken")
        for number, relation in history.relations.items():
            is_in = bool(relation.endpoint(unit.application.name)) and relation.dying == NEVER
            if is_in and unit.entered(number) == NEVER and _is_same_life(unit, relation):
                yield _of("I3", unit, relation, "that it is created")


def _is_same_life(unit: UnitHistory, relation: RelationHistory) -> bool:
    return unit.application.records[0].revision < relation.created or relation.is_peer


def today_is_seen(history: History) -> Iterator[Violation]:
    """I18, I24 and I26: every unit has seen the newest configuration and charm, and has its storage attached."""
    for unit in history.units if history.is_at_rest else []:
        if not lives(unit):
            continue
        today = unit.application.records[-1]
        config = [told.record.config for told in unit.stream if told.kind is _K.CONFIG_CHANGED]
        if max(config) < today.config_version:
            yield Violation("I26", unit.name, 0, f"at rest it never saw configuration {today.config_version}")
        charms = [told.record.charm for told in unit.stream if told.kind in (_K.INSTALL, _K.UPGRADE_CHARM)]
        if charms[-1] != today.charm:
            yield Violation("I18", unit.name, 0, f"at rest it never saw charm {today.charm[:12]}")
        attached = [told.record.storage for told in unit.stream if told.kind is _K.STORAGE_ATTACHED]
        detached = [told.record.storage for told in unit.stream if told.kind is _K.STORAGE_DETACHING]
        for name, records in history.storage.items():
            is_its = records[-1].unit == unit.name and records[-1].life is Life.ALIVE and not records[-1].is_deleted
            if is_its and attached.count(name) == detached.count(name):
                yield Violation("I24", unit.name, 0, f"at rest {name} was never attached")


def everyone_has_ended(history: History) -> Iterator[Violation]:
    """I2 and I16: every unit has started, or is gone if its removal was asked for."""
    for unit in history.units if history.is_at_rest else []:
        if unit.dying < NEVER == unit.gone:
            yield Violation("I16", unit.name, 0, "at rest it is still to go")
        if unit.dying == NEVER == unit.started:
            yield Violation("I2", unit.name, 0, "at rest it never started")
