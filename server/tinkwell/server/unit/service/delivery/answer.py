"""Builds grants: all that a unit may know without further calls, from what the turn has read."""

from collections.abc import Sequence

from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventKind, Membership
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import RelationView, View
from tinkwell.server.unit.service.delivery.record import Grant, GrantedEvent, OwnRelation
from tinkwell.server.unit.store.agent.own import Bag, Own
from tinkwell.server.unit.store.delivery import Loaded
from tinkwell.server.unit.store.secret.own import OwnSecret
from tinkwell.server.unit.store.task.row import Task

# A task is about no relation, and neither is this event.
_NO_EVENT = UnitEvent(kind=EventKind.UPDATE_STATUS)


def grant(
    unit_id: str,
    granted: GrantedEvent | None,
    loaded: Loaded,
    own: Own,
    *,
    timeout_seconds: float,
    task: Task | None = None,
    secrets: Sequence[OwnSecret] = (),
) -> Grant:
    """Build a grant of either an event or a task.

    `own` is read after the grant; `loaded` may be older.
    """
    view = loaded.view
    event = granted.event if granted is not None else _NO_EVENT
    leads_seconds = own.leads_seconds
    return Grant(
        granted=granted,
        task=task,
        is_peer=event.relation in view.relations and view.relations[event.relation].is_peer,
        timeout_seconds=timeout_seconds,
        unit_id=unit_id,
        unit=view.unit,
        application=view.application,
        namespace=own.namespace,
        profile=view.profile,
        kind=own.kind,
        charm=task.charm if task is not None else event.seen.charm,
        config=own.config,
        config_version=own.config_version,
        leader=view.leader if leads_seconds or not view.leads else "",
        term=view.term,
        leads_seconds=leads_seconds,
        relations=[
            _relation(each, loaded, own, leads=leads_seconds > 0)
            for each in sorted(view.relations.values(), key=lambda each: each.number)
            if _is_in(each, loaded.ledger, event)
        ],
        storages=[(each, each in loaded.ledger.attached) for each in sorted(view.storages, key=name.order)],
        state=own.state,
        notices=own.notices,
        ports=own.ports,
        status_name=own.status_name,
        status_message=own.status_message,
        application_status_name=own.application_status_name,
        application_status_message=own.application_status_message,
        machine=own.machine,
        addresses=own.addresses,
        secrets=secrets,
        committed_ordinal=loaded.committed_ordinal,
    )


def _is_in(relation: RelationView, ledger: Ledger, event: UnitEvent) -> bool:
    """Whether a unit is in a relation: from the grant of relation-created until the commit of relation-broken."""
    if relation.number == event.relation:
        return True
    told = ledger.relations.get(relation.number)
    return relation.membership in (Membership.ENTERING, Membership.IN) and not (told is not None and told.broken)


def _relation(relation: RelationView, loaded: Loaded, own: Own, *, leads: bool) -> OwnRelation:
    view, number = loaded.view, relation.number
    may_read = relation.is_peer or leads
    return OwnRelation(
        number=number,
        endpoint=relation.endpoint,
        interface=own.interfaces.get(number, ""),
        is_peer=relation.is_peer,
        life=relation.life,
        application=relation.application,
        members=_members(relation, loaded.ledger, view),
        own=own.bags.get((number, view.unit), Bag(view.unit)),
        own_application=own.bags.get((number, view.application), Bag(view.application)) if may_read else None,
    )


def _members(relation: RelationView, ledger: Ledger, view: View) -> list[str]:
    """Return the members that a unit may see, in order. Of its siblings it sees those that it was told of."""
    told = ledger.relations.get(relation.number)
    known = told.members if told is not None else {}
    return sorted(
        (
            unit
            for unit, member in relation.members.items()
            if member.is_visible
            and (
                relation.is_peer
                or member.application != view.application
                or (unit in known and not known[unit].is_older)
            )
        ),
        key=name.order,
    )
