"""I19 to I21: who leads, and who is told about it."""

from collections.abc import Iterator

from tinkwell.core.unit.invariant.history import NEVER, History, UnitHistory, first_dying
from tinkwell.core.unit.invariant.violation import Violation, of
from tinkwell.core.unit.kinds import EventKind

_K = EventKind
_TOLD = (_K.LEADER_ELECTED, _K.LEADER_SETTINGS_CHANGED)


def leader_is_told_so(history: History) -> Iterator[Violation]:
    """I19: the leader of a term gets `leader-elected`, other units get `leader-settings-changed`."""
    for unit in history.units:
        for told in unit.stream:
            term = told.record.term
            if told.kind is _K.LEADER_ELECTED:
                leaders = {record.leader for record in unit.application.records if record.term == term}
                if unit.name not in leaders:
                    yield of("I19", unit, told, f"it did not lead in term {term}")
            elif told.kind is _K.LEADER_SETTINGS_CHANGED and _led_throughout(unit, told.first_granted):
                yield of("I19", unit, told, "it led itself")


def _led_throughout(unit: UnitHistory, revision: int) -> bool:
    """Return whether a unit led during the whole time from the grant's horizon until the grant."""
    horizon = unit.horizon(revision)
    records = unit.application.records
    leaders = {record.leader for record in records if horizon < record.revision <= revision}
    return leaders | {unit.application.at(horizon).leader} == {unit.name}


def one_leader_for_each_term(history: History) -> Iterator[Violation]:
    """I19: two units never hold one term, and terms grow."""
    for application in history.applications:
        leaders: dict[int, str] = {}
        last = 0
        for record in application.records:
            if record.term < last:
                yield Violation("I19", record.name, record.revision, f"its term went back from {last} to {record.term}")
            last = max(last, record.term)
            holder = leaders.setdefault(record.term, record.leader)
            if record.leader and holder and holder != record.leader:
                text = f"{holder} and {record.leader} both led in term {record.term}"
                yield Violation("I19", record.name, record.revision, text)
            leaders[record.term] = holder or record.leader
        elected: dict[int, str] = {}
        for unit in application.units.values():
            for told in unit.stream:
                if told.kind is _K.LEADER_ELECTED and elected.setdefault(told.record.term, unit.name) != unit.name:
                    yield of("I19", unit, told, f"{elected[told.record.term]} was elected for that term, too")


def settings_follow_elections(history: History) -> Iterator[Violation]:
    """I20: all other started units are told of an election; one event may stand for several quick elections."""
    for application in history.applications if history.is_at_rest else []:
        stream = [(unit, told) for unit in application.units.values() for told in unit.stream]
        elected = max((told.record.term for _, told in stream if told.kind is _K.LEADER_ELECTED), default=0)
        for unit in application.units.values():
            if not lives(unit) or not elected:
                continue
            known = [told.record.term for told in unit.stream if told.kind in _TOLD]
            if max(known, default=0) < elected:
                yield Violation("I20", unit.name, 0, f"it was never told that a leader was elected for term {elected}")


def leader_is_replaced(history: History) -> Iterator[Violation]:
    """I21: if an application has a started, living unit, a living unit leads it and was told so."""
    for application in history.applications if history.is_at_rest else []:
        living = [unit for unit in application.units.values() if lives(unit)]
        last = application.records[-1]
        if not living:
            continue
        leader = application.units.get(last.leader)
        if leader is None or not lives(leader):
            yield Violation("I21", application.name, 0, f"{last.leader or 'nobody'} leads, and {living[0].name} lives")
        elif last.term not in {told.record.term for told in leader.stream if told.kind is _K.LEADER_ELECTED}:
            yield Violation("I21", leader.name, 0, f"it was never told that it leads in term {last.term}")


def lives(unit: UnitHistory) -> bool:
    """Return whether a unit has started, and neither the unit nor its application is DYING."""
    return unit.started < NEVER == unit.dying and first_dying(unit.application.records) == NEVER
