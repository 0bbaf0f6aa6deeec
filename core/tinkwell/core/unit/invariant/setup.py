"""I1 to I10: how a unit begins."""

from collections.abc import Iterator, Sequence

from tinkwell.core.unit.invariant.history import NEVER, History, Told, UnitHistory, at
from tinkwell.core.unit.invariant.record import StorageRecord
from tinkwell.core.unit.invariant.violation import Violation, of
from tinkwell.core.unit.kinds import EventKind, Life

_K = EventKind
# Each kind of event of the setup, with its place in the order.
_ORDER = {
    _K.STORAGE_ATTACHED: 0,
    _K.INSTALL: 1,
    _K.RELATION_CREATED: 2,
    _K.LEADER_ELECTED: 3,
    _K.LEADER_SETTINGS_CHANGED: 3,
    _K.CONFIG_CHANGED: 4,
    _K.START: 5,
}


def setup(unit: UnitHistory) -> Sequence[Told]:
    """Return the events that a unit was told up to its first `start`, and before its removal."""
    told = []
    for one in unit.stream:
        if one.first_granted > unit.dying:
            break
        told.append(one)
        if one.kind is _K.START:
            break
    return told


def storage_comes_first(history: History) -> Iterator[Violation]:
    """I1: the storage of a new unit is attached before `install`, and nothing else comes before `install`."""
    for unit in history.units:
        told = setup(unit)
        install = next((one for one in told if one.kind is _K.INSTALL), None)
        before = [one for one in told if install is None or one.revision < install.revision]
        for one in before:
            if one.kind is not _K.STORAGE_ATTACHED:
                yield of("I1", unit, one, "it came before install")
        attached = {one.record.storage for one in before}
        if install is None:
            continue
        for name in _allotted(history, unit, install):
            if name not in attached:
                yield of("I1", unit, install, f"{name} was not attached before it")


def _allotted(history: History, unit: UnitHistory, install: Told) -> Iterator[str]:
    """Yield the storages that a unit had both before its first event and when `install` was granted."""
    for name, records in history.storage.items():
        if all(_has(unit, at(records, then - 1)) for then in (unit.events[0].revision, install.first_granted)):
            yield name


def _has(unit: UnitHistory, last: StorageRecord | None) -> bool:
    return last is not None and not last.is_deleted and last.unit == unit.name and last.life is Life.ALIVE


def install_comes_once(history: History) -> Iterator[Violation]:
    """I2: `install` comes once."""
    yield from _come_once(history, "I2", _K.INSTALL)


def one_config_changed_in_setup(history: History) -> Iterator[Violation]:
    """I5: exactly one `config-changed` comes in setup."""
    for unit in history.units:
        told = setup(unit)
        changed = [one for one in told if one.kind is _K.CONFIG_CHANGED]
        for one in changed[1:]:
            yield of("I5", unit, one, "it is the second config-changed of the setup")
        if told and told[-1].kind is _K.START and not changed:
            yield of("I5", unit, told[-1], "no config-changed came before it")


def start_follows_config_changed(history: History) -> Iterator[Violation]:
    """I6: each `start` comes directly after a `config-changed`."""
    for unit in history.units:
        for before, one in zip([None, *unit.stream], unit.stream, strict=False):
            if one.kind is _K.START and (before is None or before.kind is not _K.CONFIG_CHANGED):
                yield of("I6", unit, one, "no config-changed is directly before it")


def _come_once(history: History, invariant: str, kind: EventKind) -> Iterator[Violation]:
    for unit in history.units:
        for one in [one for one in unit.stream if one.kind is kind][1:]:
            yield of(invariant, unit, one, "it came before")


def relations_are_created_in_setup(history: History) -> Iterator[Violation]:
    """I3: each relation that lives when `install` is committed is created before the leader step."""
    for unit in history.units:
        told = setup(unit)
        install = next((one for one in told if one.kind is _K.INSTALL), None)
        after = next((one for one in told if _ORDER.get(one.kind, 0) >= _ORDER[_K.LEADER_ELECTED]), None)
        if install is None or after is None:
            continue
        created = {one.relation for one in told if one.kind is _K.RELATION_CREATED and one.revision < after.revision}
        for relation in history.relations.values():
            if not relation.endpoint(unit.application.name) or relation.number in created:
                continue
            if _is_visible(unit, install, relation.created) and relation.dying > after.first_granted:
                yield of("I3", unit, after, f"relation {relation.number} was not created before it")


def _is_visible(unit: UnitHistory, install: Told, created: int) -> bool:
    """Return whether the commit of `install` certainly saw a relation, on an endpoint of the charm that it ran on.

    A relation that began between the grant and the commit may have been too late for the commit.
    """
    records = unit.application.records
    if created > install.granted or records[0].revision > created:
        return False
    ran_on = [one.revision for one in records if one.charm == install.record.charm and one.revision < install.granted]
    then = unit.application.at(created)
    # A later charm keeps each endpoint that an earlier charm has in a relation.
    return bool(ran_on) and (created < ran_on[-1] or then.charm == install.record.charm)


def leader_step_comes_once(history: History) -> Iterator[Violation]:
    """I4: at most one of `leader-elected` and `leader-settings-changed` comes in setup, the former to the leader."""
    for unit in history.units:
        steps = [one for one in setup(unit) if one.kind in (_K.LEADER_ELECTED, _K.LEADER_SETTINGS_CHANGED)]
        for one in steps[1:]:
            yield of("I4", unit, one, f"{steps[0].record.name} came before it in the setup")


def setup_is_in_order(history: History) -> Iterator[Violation]:
    """I7: a setup is `storage-attached* install relation-created* (leader step)? config-changed start`."""
    for unit in history.units:
        last = 0
        for one in setup(unit):
            place = _ORDER.get(one.kind, 0)
            if place < last:
                yield of("I7", unit, one, "it came later than its place in the setup")
            if place > last + 1 and not (last in (1, 2) and place in (3, 4)):
                yield of("I7", unit, one, "it came before an event of the setup that must precede it")
            last = max(place, last)


def nothing_else_before_start(history: History) -> Iterator[Violation]:
    """I8: before `start` comes no event that is not part of a setup."""
    for unit in history.units:
        for one in setup(unit):
            if one.kind not in _ORDER:
                yield of("I8", unit, one, "it came before start")


def peers_are_created_in_setup(history: History) -> Iterator[Violation]:
    """I9: a peer's `relation-created` comes once, in setup (J: or after an upgrade), and its `broken` never."""
    for unit in history.units:
        created: set[str] = set()
        is_upgraded = False
        for one in unit.stream:
            is_upgraded |= one.kind is _K.UPGRADE_CHARM
            if not one.record.is_peer:
                continue
            if one.kind is _K.RELATION_BROKEN:
                yield of("I9", unit, one, "a relation of peers is never broken")
            if one.kind is _K.RELATION_CREATED:
                if one.record.endpoint in created:
                    yield of("I9", unit, one, "its endpoint has had one")
                if one.first_granted > unit.started and (unit.application.is_literal or not is_upgraded):
                    yield of("I9", unit, one, "it came after start")
                created.add(one.record.endpoint)


def setup_is_frozen(history: History) -> Iterator[Violation]:
    """I10: the setup does not create a relation that began after `install` was committed."""
    for unit in history.units:
        install = unit.first(_K.INSTALL)
        for one in setup(unit):
            if one.kind is not _K.RELATION_CREATED or install is None:
                continue
            relation = history.relations.get(one.relation)
            if relation is not None and relation.created > install.revision:
                yield of("I10", unit, one, "the relation began after install was committed")
            charm = at(unit.application.records, one.first_granted)
            if charm is None or one.first_granted == NEVER:
                yield of("I10", unit, one, "it came before its application")
