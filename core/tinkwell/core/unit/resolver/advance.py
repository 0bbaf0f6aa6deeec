"""The ledger after an event was committed or skipped."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tinkwell.core.unit.kinds import EventKind, Life, Membership, Profile, StepKind
from tinkwell.core.unit.ledger import (
    NEVER_READ,
    NOTHING_WRITTEN,
    Ledger,
    MemberLedger,
    RelationLedger,
    SecretLedger,
    SetupStep,
    Written,
)
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View

_FIXED_STEPS = (SetupStep(StepKind.LEADER), SetupStep(StepKind.CONFIG_CHANGED), SetupStep(StepKind.START))
_STEPS = {
    EventKind.RELATION_CREATED: StepKind.RELATION_CREATED,
    EventKind.LEADER_ELECTED: StepKind.LEADER,
    EventKind.LEADER_SETTINGS_CHANGED: StepKind.LEADER,
    EventKind.CONFIG_CHANGED: StepKind.CONFIG_CHANGED,
    EventKind.START: StepKind.START,
}
_CHAIN = (UnitEvent(kind=EventKind.CONFIG_CHANGED), UnitEvent(kind=EventKind.START))


def advance(ledger: Ledger, event: UnitEvent, view: View, written: Written = NOTHING_WRITTEN) -> Ledger:
    """Return the ledger after the event was committed, or skipped. `event` has what its last attempt saw.

    `written` says which bags the commit changed, and which secret revisions the unit reads now. `install` plans the
    setup from the view's living relations. `relation-created` takes from the view the siblings that are in the
    relation; no unit may enter the relation between the reading of the view and the end of the transaction.
    """
    if ledger.queue and ledger.queue[0].tells_same(event):
        ledger = replace(ledger, queue=ledger.queue[1:])
    if ledger.plan:
        ledger = replace(ledger, plan=_rest(ledger.plan, event))
    ledger = _RULES[event.kind](ledger, event, view)
    return _track(_count_own(ledger, event.relation, written), written)


def advance_task(ledger: Ledger, view: View, written: Written) -> Ledger:
    """Return the ledger after a task that has SUCCEEDED. A task tells the unit nothing and belongs to no relation."""
    return _track(_count_own(ledger, 0, written), written)


def _rest(plan: tuple[SetupStep, ...], event: UnitEvent) -> tuple[SetupStep, ...]:
    """Return the plan without the event's step and the steps before it, which did not apply."""
    kind = _STEPS.get(event.kind)
    for place, step in enumerate(plan):
        if step.kind is kind and step.relation == event.relation:
            return plan[place + 1 :]
    return plan


def _attached(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, attached=ledger.attached | {event.storage})


def _detached(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, attached=ledger.attached - {event.storage})


def _installed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    living = sorted(number for number, relation in view.relations.items() if relation.life is Life.ALIVE)
    created = tuple(SetupStep(StepKind.RELATION_CREATED, number) for number in living)
    return replace(ledger, installed=True, charm_seen=event.seen.charm, plan=created + _FIXED_STEPS)


def _created(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return _with_relation(ledger, event.relation, RelationLedger(members=_older_siblings(event.relation, view)))


def _older_siblings(number: int, view: View) -> Mapping[str, MemberLedger]:
    relation = view.relations.get(number)
    if relation is None or relation.is_peer or view.profile is not Profile.LITERAL:
        return {}
    return {
        unit: MemberLedger(is_older=True)
        for unit, member in relation.members.items()
        if member.application == view.application and member.membership is Membership.IN and not member.is_gone
    }


def _elected(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    # The elected unit knows its own term, so that term needs no leader-settings-changed after a later leader.
    return replace(ledger, led_term=event.seen.term, settings_term=max(ledger.settings_term, event.seen.term))


def _settings(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, settings_term=max(ledger.settings_term, event.seen.term))


def _configured(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, config_seen=event.seen.config)


def _started(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, started=True)


def _upgraded(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, charm_seen=event.seen.charm, queue=_CHAIN)


def _joined(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    changed = UnitEvent(
        kind=EventKind.RELATION_CHANGED,
        relation=event.relation,
        endpoint=event.endpoint,
        application=event.application,
        unit=event.unit,
    )
    return replace(_with_member(ledger, event), queue=(changed,))


def _changed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    told = ledger.relations[event.relation]
    if event.is_echo:
        return _with_relation(ledger, event.relation, replace(told, own_version=event.seen.bag))
    if not event.unit:
        return _with_relation(ledger, event.relation, replace(told, application_version=event.seen.bag))
    return _with_member(ledger, event)


def _departed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    told = ledger.relations[event.relation]
    members = {unit: member for unit, member in told.members.items() if unit != event.unit}
    return _with_relation(ledger, event.relation, replace(told, members=members))


def _broken(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return _with_relation(ledger, event.relation, replace(ledger.relations[event.relation], broken=True, members={}))


def _prepared(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, requests=replace(ledger.requests, prepared=ledger.requests.prepared + 1))


def _finished(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, requests=replace(ledger.requests, finished=ledger.requests.finished + 1))


def _measured(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, requests=replace(ledger.requests, metrics=ledger.requests.metrics + 1))


def _secret_changed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    told = ledger.secrets.get(event.secret, NEVER_READ)
    return _with_secret(ledger, event.secret, replace(told, told=max(told.told, event.revision)))


def _expired(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    told = ledger.secrets.get(event.secret, NEVER_READ)
    return _with_secret(ledger, event.secret, replace(told, expired=told.expired | {event.revision}))


def _unread(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    told = ledger.secrets.get(event.secret, NEVER_READ)
    return _with_secret(ledger, event.secret, replace(told, removed=told.removed | {event.revision}))


def _unchanged(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return ledger


def _stopped(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, stopped=True)


def _removed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
    return replace(ledger, removed=True)


_RULES: Mapping[EventKind, Callable[[Ledger, UnitEvent, View], Ledger]] = {
    EventKind.STORAGE_ATTACHED: _attached,
    EventKind.INSTALL: _installed,
    EventKind.RELATION_CREATED: _created,
    EventKind.LEADER_ELECTED: _elected,
    EventKind.LEADER_SETTINGS_CHANGED: _settings,
    EventKind.CONFIG_CHANGED: _configured,
    EventKind.START: _started,
    EventKind.RELATION_JOINED: _joined,
    EventKind.RELATION_CHANGED: _changed,
    EventKind.RELATION_DEPARTED: _departed,
    EventKind.RELATION_BROKEN: _broken,
    EventKind.SECRET_CHANGED: _secret_changed,
    EventKind.SECRET_ROTATE: _unchanged,
    EventKind.SECRET_EXPIRED: _expired,
    EventKind.SECRET_REMOVE: _unread,
    EventKind.UPGRADE_CHARM: _upgraded,
    EventKind.PRE_SERIES_UPGRADE: _prepared,
    EventKind.POST_SERIES_UPGRADE: _finished,
    EventKind.COLLECT_METRICS: _measured,
    EventKind.UPDATE_STATUS: _unchanged,
    EventKind.STORAGE_DETACHING: _detached,
    EventKind.STOP: _stopped,
    EventKind.REMOVE: _removed,
}


def _count_own(ledger: Ledger, relation: int, written: Written) -> Ledger:
    """Count the commit's own writes as told where the unit gets no event for them; earlier writes stay due.

    The versions in the bag and in the ledger both grow by one, so a difference between them stays visible.
    """
    if relation in written.own and relation in ledger.relations:
        told = ledger.relations[relation]
        ledger = _with_relation(ledger, relation, replace(told, own_version=told.own_version + 1))
    for number in written.peer_application & ledger.relations.keys():
        told = ledger.relations[number]
        ledger = _with_relation(ledger, number, replace(told, application_version=told.application_version + 1))
    return ledger


def _track(ledger: Ledger, written: Written) -> Ledger:
    for secret, revision in written.tracked.items():
        ledger = _with_secret(ledger, secret, replace(ledger.secrets.get(secret, NEVER_READ), tracked=revision))
    return ledger


def _with_secret(ledger: Ledger, secret: str, told: SecretLedger) -> Ledger:
    return replace(ledger, secrets={**ledger.secrets, secret: told})


def _with_member(ledger: Ledger, event: UnitEvent) -> Ledger:
    told = ledger.relations[event.relation]
    members = {**told.members, event.unit: MemberLedger(seen_version=event.seen.bag)}
    return _with_relation(ledger, event.relation, replace(told, members=members))


def _with_relation(ledger: Ledger, number: int, told: RelationLedger) -> Ledger:
    return replace(ledger, relations={**ledger.relations, number: told})
