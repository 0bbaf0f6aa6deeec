"""The view of a unit in a world."""

from tinkwell.core.unit.kinds import EventKind, Life, Membership, TaskState
from tinkwell.core.unit.resolver import relation as rule
from tinkwell.core.unit.view import MemberView, RelationView, View
from tinkwell.core.unit.world import secret
from tinkwell.core.unit.world.state import Application, Relation, State, Unit


def view(state: State, unit: Unit) -> View:
    """Return everything that a unit's next event depends on beside its ledger, as it is now."""
    application = state.applications[unit.application]
    # What only a newer charm declares becomes visible with upgrade-charm.
    known = application.charms[unit.ledger.charm_seen or unit.code or application.charm.digest]
    return View(
        unit=unit.name,
        application=application.name,
        profile=application.profile,
        life=unit.life,
        phase=unit.phase,
        application_life=application.life,
        config_version=application.config_version,
        charm=application.charm.digest,
        code=unit.code,
        is_held=unit.is_held,
        leader=leader(state, application),
        term=application.term,
        announced_term=application.announced_term,
        requests=unit.asked,
        storages={
            each.name: each.life
            for each in state.storages_of(unit.name)
            if each.is_attached or known.has_storage(each.kind)
        },
        is_tick_due=unit.is_tick_due,
        relations={
            each.number: _relation(state, unit, each)
            for each in state.relations_of(application.name)
            if each.ends[application.name] in known.endpoints or each.number in unit.ledger.relations
        },
        secrets=secret.views(state, unit, leads=leader(state, application) == unit.name),
        task=next((each.id for each in state.tasks_of(unit.name) if each.state is TaskState.PENDING), ""),
    )


def leader(state: State, application: Application) -> str:
    """Return the name of the leader, "" if there is none or its agent is not heard."""
    unit = state.units.get(application.leader)
    return unit.name if unit is not None and unit.is_heard and unit.life is not Life.DEAD else ""


def _relation(state: State, unit: Unit, relation: Relation) -> RelationView:
    other = relation.other(unit.application)
    own = relation.members.get(unit.name)
    return RelationView(
        number=relation.number,
        endpoint=relation.ends[unit.application],
        application=other,
        is_peer=relation.is_peer,
        life=relation.life,
        application_life=state.applications[other].life,
        application_version=relation.version(other),
        own_version=relation.version(unit.name),
        membership=own.membership if own else None,
        entered=own.entered if own else 0,
        members={
            each: MemberView(
                application=state.units[each].application,
                version=relation.version(each),
                entered=member.entered,
                membership=member.membership,
                is_leaving=state.units[each].life is not Life.ALIVE,
                owes=_owes(state.units[each], relation, member.membership),
                is_forced=state.units[each].is_forced,
            )
            for each, member in relation.members.items()
            if each != unit.name
        },
    )


def _owes(unit: Unit, relation: Relation, membership: Membership) -> bool:
    """Whether the unit has still to be told that a member left or that the relation is broken."""
    told = unit.ledger.relations.get(relation.number)
    if told is None or not rule.is_open(told) or membership is Membership.LEFT:
        return False
    # A relation-joined in flight counts: relation-departed must follow it.
    running = unit.running.event if unit.running else None
    is_joining = running is not None and running.kind is EventKind.RELATION_JOINED
    is_joining = is_joining and running is not None and running.relation == relation.number
    return not relation.is_peer or rule.has_members(told) or is_joining
