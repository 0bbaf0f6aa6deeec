"""Writes the applications, units and relations of a namespace as messages."""

import json
from collections.abc import Iterator

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2
from tinkwell.client.testing import encode
from tinkwell.client.testing.unit import secret, task
from tinkwell.client.testing.unit.book import Room, StoredCharm
from tinkwell.client.unit import message
from tinkwell.client.unit.model import Charm
from tinkwell.core.charm import config
from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import STATUS_URGENCY, EventKind, EventState, Life, Profile
from tinkwell.core.unit.resolver import explanation
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View
from tinkwell.core.unit.world import Application, Relation, Running, Storage, Task
from tinkwell.core.unit.world import Unit as WorldUnit
from tinkwell.core.value import document

# The status in the world of a unit whose charm has set none. Answers say "waiting" for it, as the server does.
_UNSAID = ("unknown", "")


def charm(source: Charm) -> pb.Charm:
    """Write a charm."""
    target = pb.Charm(
        id=source.id,
        digest=source.digest,
        name=source.name,
        summary=source.summary,
        kind=message.CHARM_KINDS.number(source.kind),
        profile=message.PROFILES.number(source.profile) if source.profile else pb.UNIT_PROFILE_UNSPECIFIED,
        size=source.size,
        version=source.version,
        warnings=source.warnings,
    )
    for endpoint in source.endpoints:
        encode.fill(target.endpoints.add(), endpoint)
    for storage_ in source.storages:
        encode.fill(target.storages.add(), storage_)
    for option in source.options:
        values = {key: getattr(option, key) for key in ("default", "minimum", "maximum")}
        texts = {key: json.dumps(value) for key, value in values.items() if value is not None}
        target.options.add(name=option.name, type=option.type, description=option.description, **texts)
    for action in source.actions:
        parameters = json.dumps(action.parameters) if action.parameters else ""
        target.actions.add(name=action.name, description=action.description, parameters=parameters)
    _stamp(target, source.created_at, source.updated_at)
    return target


def application(room: Room, source: Application, *, with_config: bool) -> pb.Application:
    """Write an application."""
    stamp = room.stamp(source.id)
    units = [each for each in room.world.units.values() if each.application == source.name and each.life != "DEAD"]
    target = pb.Application(
        id=source.id,
        namespace=room.namespace,
        name=source.name,
        life=message.LIVES.number(source.life),
        charm=source.charm.digest,
        charm_name=source.charm.name,
        kind=message.CHARM_KINDS.number(source.charm.kind),
        profile=message.PROFILES.number(source.profile),
        config=document.dump_json(source.config) if with_config else "",
        config_version=source.config_version,
        leader=source.leader,
        term=source.term,
        announced_term=source.announced_term,
        units=len(units),
        status=_application_status(room, source, units),
        version=stamp.version,
    )
    _stamp(target, stamp.created_at, stamp.updated_at)
    return target


def unit(room: Room, source: WorldUnit, *, has_agent: bool, with_settled: bool) -> pb.Unit:
    """Write a unit."""
    stamp, owner = room.stamp(source.id), room.world.applications[source.application]
    target = pb.Unit(
        id=source.id,
        application_id=owner.id,
        namespace=room.namespace,
        name=source.name,
        number=name.number_of(source.name),
        life=message.LIVES.number(source.life),
        phase=message.PHASES.number(source.phase),
        machine=source.machine,
        is_anywhere=source.id in room.anywhere,
        is_leader=owner.leader == source.name,
        status=status(room, source),
        workload_version=source.workload_version,
        charm=source.code,
        storages=[each.name for each in room.world.storages.values() if each.unit == source.name],
        ports=[pb.Port(protocol=each.protocol, number=each.number) for each in sorted(source.ports, key=str)],
        is_agent_alive=has_agent,
        last_ordinal=source.next_ordinal - 1,
        version=stamp.version,
    )
    if source.running is not None:
        target.event.CopyFrom(event(room, source.running))
    if with_settled and source.life is not Life.DEAD:
        target.is_settled = source.running is None and not _is_due(room, source)
    _stamp(target, stamp.created_at, stamp.updated_at)
    return target


def _is_due(room: Room, source: WorldUnit) -> bool:
    is_asked = room.world.running_task(source.name) is not None or bool(room.world.due_task(source.name))
    return is_asked or room.world.due(source.name) is not None


def status(room: Room, source: WorldUnit) -> pb.UnitStatus:
    """Write the status that a unit has set, or the failure of its event."""
    running = source.running
    if running is not None and running.state is EventState.ERROR:
        return pb.UnitStatus(name="error", message=running.message)
    return _said(source)


def _said(source: WorldUnit) -> pb.UnitStatus:
    name, message_ = ("waiting", "") if source.status == _UNSAID else source.status
    return pb.UnitStatus(name=name, message=message_)


def event(room: Room, source: Running) -> pb.UnitEvent:
    """Write an event of a unit."""
    told, stamp = source.event, room.stamp(source.id)
    unit_ = room.world.units[source.unit]
    target = pb.UnitEvent(
        id=source.id,
        namespace=room.namespace,
        application_id=room.world.applications[unit_.application].id,
        unit_id=unit_.id,
        version=stamp.version,
        unit=source.unit,
        kind=told.kind,
        name=told.name,
        ordinal=source.ordinal,
        attempt=source.attempt,
        state=message.EVENT_STATES.number(source.state),
        phase=message.PHASES.number(source.phase),
        relation=_event_relation(room, told),
        storage=told.storage,
        secret=_event_secret(room, source),
        is_mirrored=told.is_mirrored,
        is_echo=told.is_echo,
        seen=pb.UnitEventSeen(config=told.seen.config, charm=told.seen.charm, term=told.seen.term, bag=told.seen.bag),
        reason=source.reason or "",
        leaving=source.leaving or "",
        actor=source.actor,
        message=source.message,
        deferred=source.deferred,
        consumed=source.consumed,
    )
    _explain(room, source, target)
    _stamp(target, stamp.created_at, stamp.updated_at)
    _time(room, source, target)
    return target


def _event_relation(room: Room, told: UnitEvent) -> pb.UnitEventRelation | None:
    if not told.relation:
        return None
    relation_ = room.world.relations.get(told.relation)
    return pb.UnitEventRelation(
        number=told.relation,
        endpoint=told.endpoint,
        is_peer=relation_ is not None and relation_.is_peer,
        application=told.application,
        unit=told.unit,
        departing_unit=told.departing_unit,
    )


def _event_secret(room: Room, source: Running) -> pb.UnitEventSecret | None:
    told = source.event
    if not told.secret:
        return None
    owner = room.world.units.get(source.unit)
    label = secret.label_of(room, owner, told.secret) if owner is not None else ""
    return pb.UnitEventSecret(id=told.secret, label=label, revision=told.revision)


def _explain(room: Room, source: Running, target: pb.UnitEvent) -> None:
    """Write the cause of an event."""
    before = room.events[source.unit].get(source.ordinal - 1)
    cause = explanation.cause(
        source.event,
        unit=source.unit,
        application_id=target.application_id,
        is_of_upgrade=before is not None and before.event.kind is EventKind.UPGRADE_CHARM,
        actor=source.actor,
    )
    for key, value in cause.items():
        setattr(target.cause, key, value)


def _time(room: Room, source: Running, target: pb.UnitEvent) -> None:
    """Write when an event began, ended, and is retried."""
    retry_at = room.retry_at.get(source.unit) if source.state is EventState.ERROR else None
    for field, moment in (
        ("started_at", room.started.get(source.id)),
        ("finished_at", room.finished.get(source.id) if source.state is not EventState.RUNNING else None),
        ("retry_at", retry_at),
    ):
        if moment is not None:
            getattr(target, field).FromDatetime(moment)


def relation(room: Room, source: Relation, *, with_bags: bool = False) -> pb.Relation:
    """Write a relation."""
    stamp = room.stamp(source.id)
    target = pb.Relation(
        id=source.id,
        namespace=room.namespace,
        number=source.number,
        interface=source.interface,
        is_peer=source.is_peer,
        life=message.LIVES.number(source.life),
        ends=[pb.RelationEnd(application=one, endpoint=endpoint) for one, endpoint in source.ends.items()],
        version=stamp.version,
    )
    for owner in sorted(source.bags) if with_bags else ():
        target.bags.add(owner=owner, data=source.bags[owner].data, version=source.bags[owner].version)
    _stamp(target, stamp.created_at, stamp.updated_at)
    return target


def storage(room: Room, source: Storage) -> pb.Storage:
    """Write a storage."""
    stamp = room.stamp(source.id)
    owner = room.world.applications.get(source.application)
    target = pb.Storage(
        id=source.id,
        application_id=owner.id if owner is not None else "",
        namespace=room.namespace,
        name=source.name,
        life=message.LIVES.number(source.life),
        unit=source.unit,
        is_attached=source.is_attached,
        machine=source.machine,
        version=stamp.version,
    )
    _stamp(target, stamp.created_at, stamp.updated_at)
    return target


def notices(room: Room, source: WorldUnit) -> list[pb.Notice]:
    """Write the notices of a unit."""
    found = []
    for each in source.notices:
        waiting = room.notices[source.name, each]
        target = pb.Notice(ordinal=each.ordinal, handler=each.handler, event=each.event, attempts=waiting.attempts)
        target.created_at.FromDatetime(waiting.created_at)
        found.append(target)
    return found


def grant(
    room: Room, source: WorldUnit, running: Running | None, stored: StoredCharm, asked: Task | None = None
) -> unit_service_pb2.Grant:
    """Write an event to run, or a task, with the data that its unit may read."""
    world, owner = room.world, room.world.applications[source.application]
    view = world.view(source.name)
    effective = config.effective(stored.manifest.options, owner.config)
    return unit_service_pb2.Grant(
        event=event(room, running) if running is not None else None,
        task=task.message(room, asked) if asked is not None else None,
        timeout_seconds=3600.0 if asked is None else asked.timeout_seconds,
        unit_id=source.id,
        unit=source.name,
        application=owner.name,
        namespace=room.namespace,
        profile=message.PROFILES.number(Profile(owner.profile)),
        kind=message.CHARM_KINDS.number(stored.charm.kind),
        charm=(running.event.seen.charm if running else "") or source.code or owner.charm.digest,
        config=document.dump_json(effective),
        config_version=owner.config_version,
        leadership=unit_service_pb2.Leadership(
            is_leader=view.leads, term=owner.term, remaining_seconds=60.0 if view.leads else 0.0, leader=view.leader
        ),
        relations=[_relation(room, source, view, number) for number in _told(source, view, running)],
        storages=[
            unit_service_pb2.GrantStorage(name=each.name, is_attached=each.is_attached)
            for each in world.storages.values()
            if each.unit == source.name
        ],
        state=source.state,
        deferred=notices(room, source),
        ports=[pb.Port(protocol=each.protocol, number=each.number) for each in sorted(source.ports, key=str)],
        status=_said(source),
        application_status=message.to_status(room.statuses.get(owner.name)),
        machine=source.machine,
        secrets=secret.own(room, source),
        committed_ordinal=max(_committed(room, source), default=0),
    )


def _committed(room: Room, source: WorldUnit) -> Iterator[int]:
    events = room.events.get(source.name, {}).values()
    return (each.ordinal for each in events if each.state is EventState.COMMITTED)


def _told(source: WorldUnit, view: View, running: Running | None) -> list[int]:
    """Return the relations that a unit has had events about, and the one that its running event is about."""
    known = {number for number, told in source.ledger.relations.items() if not told.broken}
    known |= {running.event.relation} if running is not None else set()
    return sorted(number for number in view.relations if number in known)


def _relation(room: Room, source: WorldUnit, view: View, number: int) -> unit_service_pb2.GrantRelation:
    seen, kept = view.relations[number], room.world.relations[number]
    bags = {owner: room.world.bag(number, owner) for owner in (source.name, source.application)}
    target = unit_service_pb2.GrantRelation(
        number=number,
        endpoint=seen.endpoint,
        interface=kept.interface,
        is_peer=seen.is_peer,
        life=message.LIVES.number(seen.life),
        application=seen.application,
        members=sorted((each for each, member in seen.members.items() if member.is_visible), key=name.order),
        own=pb.Bag(owner=source.name, data=bags[source.name], version=kept.version(source.name)),
    )
    if view.leads or seen.is_peer:
        own = pb.Bag(owner=source.application, data=bags[source.application], version=kept.version(source.application))
        target.own_application.CopyFrom(own)
    return target


def _application_status(room: Room, source: Application, units: list[WorldUnit]) -> pb.UnitStatus:
    said = room.statuses.get(source.name)
    if said is not None:
        return pb.UnitStatus(name=said.name, message=said.message)
    found = [status(room, each) for each in units]
    return min(found, key=lambda each: STATUS_URGENCY.index(each.name), default=pb.UnitStatus(name="unknown"))


def _stamp(target: object, created_at: object, updated_at: object) -> None:
    for field, moment in (("created_at", created_at), ("updated_at", updated_at)):
        if moment is not None:
            getattr(target, field).FromDatetime(moment)
