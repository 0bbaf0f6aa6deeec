"""Which event a unit gets next.

The rules are asked in this order, and the first one that has an event decides:

    1   the unit is removed, or its machine is held         nothing
    2   the forced queue                                    its head: changed after joined, config-changed and start
                                                            after upgrade-charm
    3   the unit is dying                                   its teardown: relations, peers, storages, stop, remove
    4   the plan of its setup                               the next step that still applies
    5   it is not installed                                 storage-attached, then install
    6   a relation is new                                   relation-created; before it the remaining events of a dying
                                                            relation of the same endpoint
    7   leadership                                          leader-elected, leader-settings-changed
    8   a task waits                                        the task
    9   secrets, by id and revision                         secret-changed, -rotate, -expired, -remove
    10  storages, then requests                             storage-attached, storage-detaching, pre- and
                                                            post-series-upgrade, collect-metrics
    11  the charm                                           upgrade-charm
    12  the configuration                                   config-changed
    13  relations, by number                                departed, broken, joined, changed, its own change
    14  a tick is due                                       update-status

The result has the versions that an attempt granted now will see. A task is not an event: it has no ordinal, changes the
ledger only by its effects, and a failed event does not hold it up.
"""

from collections.abc import Iterator

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventKind, Life, StepKind
from tinkwell.core.unit.ledger import Ledger, SetupStep
from tinkwell.core.unit.resolver import relation, secret, sight
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import RelationView, View


def next_event(ledger: Ledger, view: View) -> UnitEvent | None:
    """Return the next event of the unit, None if none is due. The unit must have no event in flight."""
    event = _next(ledger, view)
    return sight.sighted(event, view) if event else None


def next_task(ledger: Ledger, view: View, *, has_error: bool = False) -> str:
    """Return the id of the task that the unit is to run now, "" for none. No event or task of it may be RUNNING.

    `has_error`: an event of the unit has failed, so events that come before tasks are blocked and do not hold the task
    up. No task comes between events that must follow each other at once.
    """
    if ledger.removed or view.is_held or view.is_dying or not ledger.started or ledger.plan or ledger.queue:
        return ""
    return "" if not has_error and _before_task(ledger, view) else view.task


def awaits_leader(ledger: Ledger, view: View) -> bool:
    """Whether the next step of the unit's setup needs a leader, and there is none.

    The caller must try an election first. If no unit can be elected, the setup goes on without that step.
    """
    if view.is_dying or view.is_held or view.leader or view.application_life is not Life.ALIVE:
        return False
    for step in ledger.plan:
        if step.kind is StepKind.LEADER:
            return True
        if _step_event(step, ledger, view):
            return False
    return False


def is_owed_nothing(ledger: Ledger, view: View) -> bool:
    """Whether a dying unit has no event to come, so that it ends now; one that was never installed, for example."""
    return view.is_dying and not ledger.queue and (ledger.removed or _teardown(ledger, view) is None)


def _next(ledger: Ledger, view: View) -> UnitEvent | None:
    if ledger.removed or view.is_held or view.life is Life.DEAD:
        return None
    if ledger.queue:
        return ledger.queue[0]
    if view.is_dying:
        return _teardown(ledger, view)
    if ledger.plan:
        return next(filter(None, (_step_event(step, ledger, view) for step in ledger.plan)), None)
    if not ledger.installed:
        return _attach(ledger, view) or UnitEvent(kind=EventKind.INSTALL)
    return (
        _before_task(ledger, view)
        or secret.operation(ledger, view)
        or _attach(ledger, view)
        or _detach(ledger, view)
        or _request(ledger, view)
        or _change(ledger, view)
        or _relations(ledger, view)
        or (UnitEvent(kind=EventKind.UPDATE_STATUS) if view.is_tick_due else None)
    )


def _before_task(ledger: Ledger, view: View) -> UnitEvent | None:
    return _creation(ledger, view) or _leadership(ledger, view)


def _teardown(ledger: Ledger, view: View) -> UnitEvent | None:
    """Return the next event of a dying unit: for relations, then peer relations, then storages, `stop`, `remove`."""
    for number in sorted(ledger.relations, key=lambda number: (_is_peer(view, number), number)):
        if number in view.relations:
            event = relation.ending(view.relations[number], ledger.relations[number], view)
            if event:
                return event
    if ledger.attached:
        return UnitEvent(kind=EventKind.STORAGE_DETACHING, storage=min(ledger.attached, key=name.order))
    if ledger.started and not ledger.stopped:
        return UnitEvent(kind=EventKind.STOP)
    return UnitEvent(kind=EventKind.REMOVE) if ledger.installed else None


def _is_peer(view: View, number: int) -> bool:
    return number in view.relations and view.relations[number].is_peer


def _step_event(step: SetupStep, ledger: Ledger, view: View) -> UnitEvent | None:
    """Return the event of a step of the setup, None if the step no longer applies."""
    match step.kind:
        case StepKind.RELATION_CREATED:
            new = view.relations.get(step.relation)
            return relation.creation(new, ledger.relations.get(step.relation, relation.NEVER_TOLD)) if new else None
        case StepKind.LEADER if view.leads:
            return UnitEvent(kind=EventKind.LEADER_ELECTED)
        case StepKind.LEADER:
            # The leader may not have been told yet. Then this event records an earlier term, and comes once more later.
            return UnitEvent(kind=EventKind.LEADER_SETTINGS_CHANGED) if view.leader else None
        case StepKind.CONFIG_CHANGED:
            return UnitEvent(kind=EventKind.CONFIG_CHANGED)
        case StepKind.START:
            return UnitEvent(kind=EventKind.START)


def _creation(ledger: Ledger, view: View) -> UnitEvent | None:
    """Return relation-created of a new relation. The end of an old relation of the same endpoint comes first."""
    for new in _by_number(view):
        event = relation.creation(new, ledger.relations.get(new.number, relation.NEVER_TOLD))
        if event:
            return next(filter(None, (_ending(old, ledger, view) for old in _dying(view, new.endpoint))), event)
    return None


def _dying(view: View, endpoint: str) -> Iterator[RelationView]:
    return (each for each in _by_number(view) if each.endpoint == endpoint and each.life is not Life.ALIVE)


def _ending(old: RelationView, ledger: Ledger, view: View) -> UnitEvent | None:
    return relation.ending(old, ledger.relations.get(old.number, relation.NEVER_TOLD), view)


def _leadership(ledger: Ledger, view: View) -> UnitEvent | None:
    if view.leads:
        return UnitEvent(kind=EventKind.LEADER_ELECTED) if ledger.led_term < view.term else None
    if ledger.settings_term < view.announced_term:
        return UnitEvent(kind=EventKind.LEADER_SETTINGS_CHANGED)
    return None


def _attach(ledger: Ledger, view: View) -> UnitEvent | None:
    new = [each for each, life in view.storages.items() if life is Life.ALIVE and each not in ledger.attached]
    return UnitEvent(kind=EventKind.STORAGE_ATTACHED, storage=min(new, key=name.order)) if new else None


def _detach(ledger: Ledger, view: View) -> UnitEvent | None:
    old = [each for each in ledger.attached if view.storages.get(each) is not Life.ALIVE]
    return UnitEvent(kind=EventKind.STORAGE_DETACHING, storage=min(old, key=name.order)) if old else None


def _request(ledger: Ledger, view: View) -> UnitEvent | None:
    """Return the next requested event. Each `pre-series-upgrade` gets its `post-series-upgrade` before the next one."""
    asked, told = view.requests, ledger.requests
    if told.finished < min(told.prepared, asked.finished):
        return UnitEvent(kind=EventKind.POST_SERIES_UPGRADE)
    if told.prepared < asked.prepared:
        return UnitEvent(kind=EventKind.PRE_SERIES_UPGRADE)
    return UnitEvent(kind=EventKind.COLLECT_METRICS) if told.metrics < asked.metrics else None


def _change(ledger: Ledger, view: View) -> UnitEvent | None:
    if ledger.charm_seen != view.charm:
        return UnitEvent(kind=EventKind.UPGRADE_CHARM)
    return UnitEvent(kind=EventKind.CONFIG_CHANGED) if ledger.config_seen < view.config_version else None


def _relations(ledger: Ledger, view: View) -> UnitEvent | None:
    for each in _by_number(view):
        event = relation.operation(each, ledger.relations.get(each.number, relation.NEVER_TOLD), view)
        if event:
            return event
    return None


def _by_number(view: View) -> Iterator[RelationView]:
    return (view.relations[number] for number in sorted(view.relations))
