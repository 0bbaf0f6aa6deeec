"""Changes to a world: those that `core.unit.change` names, the ends of events, and the deletion of what has ended.

`reap` deletes only after a commit or a request has been carried out, never within one.
"""

from dataclasses import replace

from tinkwell.core.unit.kinds import EventKind, EventState, Life, Membership
from tinkwell.core.unit.resolver import change as rule
from tinkwell.core.unit.resolver import resolve
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View
from tinkwell.core.unit.world import cause, log, relating, secret, sight, task
from tinkwell.core.unit.world.state import Member, Relation, Running, State, Storage, Unit


def apply(state: State, unit: Unit, changes: tuple[rule.Change, ...]) -> None:
    """Apply what a grant, a commit, a withdrawal or the end of a unit changes outside its ledger."""
    for each in changes:
        match each:
            case rule.RunCode(charm):
                unit.code = charm
            case rule.EnterPhase(phase):
                unit.phase = phase
                log.write_unit(state, unit)
            case rule.Die():
                _die(state, unit)
            case rule.Detach(storage):
                detach(state, state.storages[storage])
            case rule.Announce() | rule.Resign():
                _lead(state, unit, each)
            case rule.BeginEntering() | rule.Enter() | rule.Leave():
                _move(state, unit, each)
            case rule.Rotated(name):
                secret.rotate(state, name)
            case rule.Refer() | rule.LetGo():
                # A world keeps a unit as long as a ledger or an event in flight names it.
                pass


def _die(state: State, unit: Unit) -> None:
    # This includes storages that only a newer charm declares, which the unit's view leaves out.
    for storage in [*state.storages_of(unit.name)]:
        detach(state, storage)
    task.cancel_all(state, unit)
    unit.life = Life.DEAD
    log.write_unit(state, unit)
    secret.end_owner(state, unit.name)


def _lead(state: State, unit: Unit, each: rule.Announce | rule.Resign) -> None:
    application = state.applications[unit.application]
    if isinstance(each, rule.Resign):
        application.leader = ""
    else:
        application.announced_term = max(application.announced_term, each.term)
    log.write_application(state, application)


def _move(state: State, unit: Unit, each: rule.BeginEntering | rule.Enter | rule.Leave) -> None:
    match each:
        case rule.BeginEntering(number):
            state.relations[number].members.setdefault(unit.name, Member(Membership.ENTERING))
        case rule.Enter(number):
            state.relations[number].members[unit.name] = Member(Membership.IN, state.next_entered)
            state.next_entered += 1
        case rule.Leave(number):
            _leave(state, unit, number)


def _leave(state: State, unit: Unit, number: int) -> None:
    relations = [state.relations[number]] if number else state.relations_of(unit.application)
    for relation in relations:
        member = relation.members.get(unit.name)
        if member is None:
            continue
        if member.membership is Membership.ENTERING:
            del relation.members[unit.name]
        else:
            member.membership = Membership.LEFT


def detach(state: State, storage: Storage) -> None:
    """Detach a storage from its unit; a storage that is not kept is deleted."""
    storage.unit, storage.is_attached = "", False
    if storage.is_kept:
        storage.life = Life.ALIVE
        log.write_storage(state, storage)
    else:
        del state.storages[storage.name]
        log.write_storage(state, storage, log.DELETED)


def end(state: State, unit: Unit, ended: Running) -> None:
    """Replace the event in flight by `ended`; an event that the unit was told is added to its stream."""
    unit.running = None
    unit.losses = 0
    if ended.state in (EventState.COMMITTED, EventState.SKIPPED):
        state.streams[unit.name].append(ended)
    log.write_event(state, unit, ended)


def skip(state: State, unit: Unit, *, actor: str = "") -> None:
    """Skip the event in flight: the ledger goes on as if the event had been committed without effects."""
    assert unit.running is not None
    event, view = unit.running.event, sight.view(state, unit)
    end(state, unit, replace(unit.running, state=EventState.SKIPPED, actor=actor or unit.running.actor))
    _go_on(state, unit, event, view)


def _go_on(state: State, unit: Unit, event: UnitEvent, view: View) -> None:
    unit.ledger = advance(unit.ledger, event, view)
    if event.kind is EventKind.STORAGE_ATTACHED:
        attached(state, event.storage)
    apply(state, unit, rule.committed(event, view))


def attached(state: State, wanted: str) -> None:
    """Record that a unit was told of a storage."""
    storage = state.storages[wanted]
    storage.is_attached = True
    log.write_storage(state, storage)


def skip_queue(state: State, unit: Unit) -> None:
    """Skip the event in flight and the rest of the forced queue, each with its own ordinal."""
    rest = unit.ledger.queue[1:]
    skip(state, unit)
    for event in rest:
        unit.running = numbered(state, unit, event)
        skip(state, unit)


def numbered(state: State, unit: Unit, event: UnitEvent) -> Running:
    """Return the event with the unit's next ordinal."""
    ordinal = unit.next_ordinal
    unit.next_ordinal += 1
    reason, leaving, actor = cause.of_teardown(state, unit, event)
    return Running(
        id=state.new_id(f"event {unit.name} {ordinal}"),
        unit=unit.name,
        event=event,
        ordinal=ordinal,
        phase=unit.phase,
        reason=reason,
        leaving=leaving,
        actor=actor,
    )


def withdraw(state: State, unit: Unit) -> None:
    """Withdraw the event in flight, as if it had never been granted."""
    assert unit.running is not None
    event = unit.running.event
    end(state, unit, replace(unit.running, state=EventState.WITHDRAWN))
    apply(state, unit, rule.withdrawn(event))


def let_die(state: State, unit: Unit) -> None:
    """Begin a unit's end; a unit with no event due is DEAD at once."""
    unit.life = Life.DYING
    log.write_unit(state, unit)
    task.cancel_waiting(state, unit)
    bury(state, unit)


def bury(state: State, unit: Unit) -> bool:
    """Mark a dying unit as DEAD if no event is due to it; return whether it is DEAD."""
    view = sight.view(state, unit)
    if unit.life is not Life.DYING or unit.running is not None or unit.is_held or state.running_task(unit.name):
        return False
    if resolve.next_event(unit.ledger, view) is not None:
        return False
    apply(state, unit, rule.ended(view))
    return True


def force(state: State, unit: Unit) -> None:
    """Remove a unit at once: its event is ABANDONED, and it gets no more events."""
    view = sight.view(state, unit)
    if unit.running is not None:
        end(state, unit, replace(unit.running, state=EventState.ABANDONED))
    unit.is_forced = True
    apply(state, unit, rule.ended(view))


def reap(state: State) -> None:
    """Delete what has ended: DEAD units that nothing refers to, relations without members, empty applications."""
    while _reap_units(state) or _reap_relations(state) or _reap_applications(state):
        pass


def _reap_units(state: State) -> bool:
    dead = [unit for unit in state.units.values() if unit.life is Life.DEAD and not _is_referred_to(state, unit)]
    for unit in dead:
        for relation in state.relations_of(unit.application):
            relation.members.pop(unit.name, None)
            relation.bags.pop(unit.name, None)
        state.tasks = {id_: each for id_, each in state.tasks.items() if each.unit != unit.name}
        del state.units[unit.name]
        log.write_unit(state, unit, log.DELETED)
    return bool(dead)


def _is_referred_to(state: State, dead: Unit) -> bool:
    """Return whether a living unit was told, or is being told, of a dead one."""
    others = {unit for relation in state.relations_of(dead.application) for unit in relation.members}
    for unit in (state.units[each] for each in others if each != dead.name):
        if unit.life is Life.DEAD:
            continue
        if unit.running is not None and unit.running.event.unit == dead.name:
            return True
        if any(dead.name in told.members for told in unit.ledger.relations.values()):
            return True
    return False


def _reap_relations(state: State) -> bool:
    over = [relation for relation in state.relations.values() if _is_over(state, relation)]
    for relation in over:
        if relation.life is Life.ALIVE:
            relating.let_die(state, relation, "")
        del state.relations[relation.number]
        secret.end_relation(state, relation.number)
        log.write_relation(state, relation, log.DELETED)
    return bool(over)


def _is_over(state: State, relation: Relation) -> bool:
    if any(member.membership is not Membership.LEFT for member in relation.members.values()):
        return False
    if not relation.is_peer:
        return relation.life is not Life.ALIVE
    own = next(iter(relation.ends))
    return state.applications[own].life is not Life.ALIVE and not any(state.units_of(own))


def _reap_applications(state: State) -> bool:
    over = [
        each
        for each in state.applications.values()
        if each.life is not Life.ALIVE and not any(state.units_of(each.name)) and not state.relations_of(each.name)
    ]
    for application in over:
        secret.end_owner(state, application.name)
        del state.applications[application.name]
        log.write_application(state, application, log.DELETED)
    return bool(over)
