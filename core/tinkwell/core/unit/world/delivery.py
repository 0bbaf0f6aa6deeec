"""The requests of agents to a world: the next event of a unit, and the outcome of the one that it runs.

Elections take place before a grant, never within a commit.
"""

from collections.abc import Iterable
from dataclasses import replace

from tinkwell.core import errors
from tinkwell.core.unit.effect import BagEdit, Effects, Notice
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Owner, Verdict
from tinkwell.core.unit.ledger import Written
from tinkwell.core.unit.resolver import change as rule
from tinkwell.core.unit.resolver import leadership, resolve, sight
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.resolver.verdict import verdict
from tinkwell.core.unit.view import View
from tinkwell.core.unit.world import change, log, secret
from tinkwell.core.unit.world import sight as world_sight
from tinkwell.core.unit.world.state import Application, Bag, Running, State, Unit

LOST = "the attempt was lost twice"


def grant(state: State, unit: Unit, *, may_retry: bool = True) -> Running | None:
    """Return the event that a unit is to run: the one in flight, or the next one; None if none is due.

    An event that failed or was lost gets a verdict first. With RETRY it is tried again; a failed one only with
    `may_retry`, else the result is None. The result is also None while a task runs, or is to run before the next event.
    """
    elect(state, state.applications[unit.application])
    running = unit.running
    if state.running_task(unit.name) is not None:
        return None
    if running is not None and running.state is EventState.RUNNING and not running.is_lost:
        return running
    if running is not None:
        view = world_sight.view(state, unit)
        match verdict(running.event, unit.ledger, view):
            case Verdict.RETRY:
                is_waiting = running.state is EventState.ERROR and not may_retry
                return None if is_waiting else _try_again(state, unit, running, view)
            case Verdict.SKIP:
                change.skip_queue(state, unit)
            case Verdict.WITHDRAW:
                change.withdraw(state, unit)
    started = _start(state, unit)
    if started is None:
        change.bury(state, unit)
    change.reap(state)
    return started


def _try_again(state: State, unit: Unit, running: Running, view: View) -> Running:
    event = sight.sighted(running.event, view, has_failed=running.state is EventState.ERROR)
    again = replace(
        running, event=event, attempt=running.attempt + 1, state=EventState.RUNNING, message="", is_lost=False
    )
    return _run(state, unit, again, view)


def _start(state: State, unit: Unit) -> Running | None:
    """Start the next event. If the setup needs a leader and there is none, an election comes first."""
    view = world_sight.view(state, unit)
    event = resolve.next_event(unit.ledger, view)
    if event is None or resolve.next_task(unit.ledger, view):
        return None
    if event.kind is EventKind.UPDATE_STATUS:
        unit.is_tick_due = False
    return _run(state, unit, change.numbered(state, unit, event), view)


def _run(state: State, unit: Unit, running: Running, view: View) -> Running:
    change.apply(state, unit, rule.granted(running.event, view))
    unit.running = replace(running, phase=unit.phase)
    log.write_event(state, unit, unit.running)
    return unit.running


def commit(state: State, unit: Unit, effects: Effects) -> Running | None:
    """Commit the event that runs, with its effects, and start the next one.

    Raises:
        IllegalTransition: no event runs.
        CommitRefused: an effect is not allowed; then the event is in ERROR.
        NotLeader: it wrote its application's bag, and its term is over; then the attempt is lost.
    """
    running = _running(unit)
    view = world_sight.view(state, unit)
    if not may_write(state, unit, view, effects):
        lose(state, unit)
        raise errors.NotLeader(unit.name, leader=view.leader)
    try:
        check(state, unit, running.event.relation, effects, view)
    except errors.CommitRefused as error:
        fail(state, unit, str(error))
        raise
    written = write(state, unit, effects)
    is_queued = len(effects.deferred), len(effects.consumed)
    ended = replace(running, state=EventState.COMMITTED, deferred=is_queued[0], consumed=is_queued[1])
    unit.ledger = advance(unit.ledger, running.event, view, written)
    secret.renew(state, effects.secrets)
    change.end(state, unit, ended)
    if running.event.kind is EventKind.STORAGE_ATTACHED:
        change.attached(state, running.event.storage)
    change.apply(state, unit, rule.committed(running.event, view))
    started = None
    if unit.life is not Life.DEAD and not resolve.awaits_leader(unit.ledger, world_sight.view(state, unit)):
        started = _start(state, unit)
    change.reap(state)
    return started


def may_write(state: State, unit: Unit, view: View, effects: Effects) -> bool:
    """Whether the effects change nothing of the application, or the unit leads in the term that the effects name."""
    is_leaders = any(each.owner is Owner.APPLICATION for each in effects.bags)
    is_leaders = is_leaders or secret.writes_application(state, unit, effects.secrets)
    return not is_leaders or (view.leads and view.term == effects.term)


def fail(state: State, unit: Unit, message: str) -> None:
    """Put the running event into ERROR. Raises IllegalTransition if no event runs."""
    unit.running = replace(_running(unit), state=EventState.ERROR, message=message, is_lost=False)
    log.write_event(state, unit, unit.running)


def lose(state: State, unit: Unit) -> None:
    """Record that the running attempt was lost: the next grant tries again. A second loss in a row is an ERROR."""
    running = _running(unit)
    unit.losses += 1
    if unit.losses > 1:
        unit.losses = 0
        fail(state, unit, LOST)
    else:
        unit.running = replace(running, is_lost=True)


def hand_back(state: State, unit: Unit) -> None:
    """Let the next grant repeat the running attempt, without counting a loss."""
    unit.running = replace(_running(unit), is_lost=True)


def elect(state: State, application: Application) -> str:
    """Elect a leader if no unit leads, and return the leader; "" if no unit can lead."""
    candidates = [
        leadership.Candidate(
            unit=unit.name, is_started=unit.ledger.started, is_live=unit.is_heard and unit.life is Life.ALIVE
        )
        for unit in state.units_of(application.name)
    ]
    leader = world_sight.leader(state, application)
    chosen = leadership.elect(
        candidates, application_life=application.life, leader=leader, leader_remaining_seconds=1.0 if leader else 0.0
    )
    if chosen:
        application.leader = chosen
        application.term += 1
        log.write_application(state, application)
    return chosen or leader


def _running(unit: Unit) -> Running:
    if unit.running is None or unit.running.state is not EventState.RUNNING or unit.running.is_lost:
        raise errors.IllegalTransition(f"unit {unit.name}", "no event of it runs")
    return unit.running


def check(state: State, unit: Unit, relation: int, effects: Effects, view: View) -> None:
    """Raise CommitRefused if the unit may not write a bag or a secret; `relation` is the event's relation."""
    secret.check(state, unit, effects.secrets, view)
    for index, edit in enumerate(effects.bags):
        told = unit.ledger.relations.get(edit.relation)
        is_in = edit.relation == relation or (told is not None and not told.broken)
        if edit.relation not in view.relations or not is_in:
            text = f"the unit is not in relation {edit.relation}; write to relations that it was told of"
            raise errors.CommitRefused.of(f"bags[{index}].relation", text)


def write(state: State, unit: Unit, effects: Effects) -> Written:
    """Write effects that were checked, and return the part of them that the unit's ledger counts."""
    written = _write(state, unit, state.applications[unit.application], effects.bags)
    tracked = secret.write(state, unit, effects.secrets)
    _keep(state, unit, effects)
    return replace(written, tracked=tracked)


def _write(state: State, unit: Unit, application: Application, edits: Iterable[BagEdit]) -> Written:
    """Edit bags, and return those that changed, each once however many edits it had."""
    before: dict[tuple[int, str], dict[str, str]] = {}
    for edit in edits:
        owner = unit.name if edit.owner is Owner.UNIT else application.name
        bag = state.relations[edit.relation].bags.setdefault(owner, Bag())
        before.setdefault((edit.relation, owner), dict(bag.data))
        edited = {**bag.data, **edit.edits}
        bag.data = {key: text for key, text in edited.items() if text is not None}
    own, peer_application = set(), set()
    for (number, owner), former in before.items():
        relation = state.relations[number]
        bag = relation.bags[owner]
        if bag.data == former:
            continue
        bag.version += 1
        keys = {key for key in bag.data.keys() | former.keys() if bag.data.get(key) != former.get(key)}
        log.write_bag(state, relation, owner, keys)
        if owner == unit.name:
            own.add(number)
        elif relation.is_peer:
            peer_application.add(number)
    return Written(own=frozenset(own), peer_application=frozenset(peer_application))


def _keep(state: State, unit: Unit, effects: Effects) -> None:
    """Apply the effects that only the unit sees."""
    kept = {**unit.state, **effects.state}
    unit.state = {key: text for key, text in kept.items() if text is not None}
    unit.ports = (unit.ports | set(effects.opened)) - set(effects.closed)
    unit.notices = [each for each in unit.notices if each not in effects.consumed]
    for notice in effects.deferred:
        if not _is_waiting(unit, notice):
            unit.notices.append(notice)


def _is_waiting(unit: Unit, notice: Notice) -> bool:
    return any((each.handler, each.event) == (notice.handler, notice.event) for each in unit.notices)
