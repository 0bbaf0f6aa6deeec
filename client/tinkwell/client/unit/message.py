"""Converts applications, units and their parts between protobuf messages and objects."""

from collections.abc import Mapping

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import namespace_service_pb2
from tinkwell.client import errors
from tinkwell.client.unit.event import EventRelation, EventSecret, EventSeen, UnitEvent
from tinkwell.client.unit.model import (
    Application,
    Bag,
    Charm,
    CharmAction,
    CharmEndpoint,
    CharmOption,
    CharmStorage,
    Namespace,
    OpenPort,
    Relation,
    RelationEnd,
    Storage,
    Unit,
    UnitLogLine,
    UnitStatus,
)
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.client.value import field, shape
from tinkwell.client.value.enumeration import Enumeration
from tinkwell.core.unit.kinds import CharmKind, EventKind, EventState, Life, Phase, Profile

CHARM_KINDS = Enumeration(CharmKind, pb.CharmKind, "CHARM_KIND")
PROFILES = Enumeration(Profile, pb.UnitProfile, "UNIT_PROFILE")
LIVES = Enumeration(Life, pb.Life, "LIFE")
PHASES = Enumeration(Phase, pb.UnitPhase, "UNIT_PHASE")
EVENT_STATES = Enumeration(EventState, pb.UnitEventState, "UNIT_EVENT_STATE")

_ROLES: Mapping[int, str] = {
    pb.ENDPOINT_ROLE_PROVIDES: "PROVIDES",
    pb.ENDPOINT_ROLE_REQUIRES: "REQUIRES",
    pb.ENDPOINT_ROLE_PEER: "PEER",
}


def namespace(source: namespace_service_pb2.Namespace) -> Namespace:
    """Read a namespace."""
    return Namespace(
        id=source.id,
        name=source.name,
        update_status_seconds=source.update_status_seconds,
        event_timeout_seconds=source.event_timeout_seconds,
        retrying=source.is_retrying,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
    )


def charm(source: pb.Charm) -> Charm:
    """Read a charm."""
    return Charm(
        id=source.id,
        digest=source.digest,
        name=source.name,
        summary=source.summary,
        kind=CHARM_KINDS.member(source.kind),
        profile=PROFILES.member(source.profile) if source.profile else None,
        endpoints=tuple(
            CharmEndpoint(each.name, _ROLES.get(each.role, ""), each.interface, each.limit) for each in source.endpoints
        ),
        storages=tuple(
            CharmStorage(each.name, each.description, each.minimum, each.maximum) for each in source.storages
        ),
        options=tuple(
            CharmOption(
                each.name,
                each.type,
                each.description,
                shape.parse(each.default),
                shape.parse(each.minimum),
                shape.parse(each.maximum),
            )
            for each in source.options
        ),
        size=source.size,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        warnings=tuple(source.warnings),
        actions=tuple(
            CharmAction(each.name, each.description, shape.parse(each.parameters) or {}) for each in source.actions
        ),
    )


def application(source: pb.Application) -> Application:
    """Read an application; one from a list has no configuration."""
    return Application(
        id=source.id,
        namespace=source.namespace,
        name=source.name,
        life=LIVES.member(source.life),
        charm=source.charm,
        charm_name=source.charm_name,
        kind=CHARM_KINDS.member(source.kind),
        profile=PROFILES.member(source.profile),
        config=shape.parse(source.config),
        config_version=source.config_version,
        leader=source.leader,
        term=source.term,
        announced_term=source.announced_term,
        status=status(source.status) if source.HasField("status") else None,
        units=source.units,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
    )


def status(source: pb.UnitStatus) -> UnitStatus:
    """Read a status."""
    return UnitStatus(source.name or "unknown", source.message)


def to_status(source: UnitStatus | None) -> pb.UnitStatus | None:
    """Build the message of a status; None for none."""
    return None if source is None else field.build(pb.UnitStatus, name=source.name, message=source.message)


def unit(source: pb.Unit) -> Unit:
    """Read a unit."""
    return Unit(
        id=source.id,
        application_id=source.application_id,
        namespace=source.namespace,
        name=source.name,
        number=source.number,
        life=LIVES.member(source.life),
        phase=PHASES.member(source.phase),
        machine=source.machine,
        anywhere=source.is_anywhere,
        storage=tuple(source.storages),
        status=status(source.status),
        workload_version=source.workload_version,
        charm=source.charm,
        ports=tuple(OpenPort(each.protocol, each.number) for each in source.ports),
        event=event(source.event) if source.HasField("event") else None,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        leads=source.is_leader,
        has_agent=source.is_agent_alive,
        last_ordinal=source.last_ordinal,
        settled=source.is_settled,
    )


def event(source: pb.UnitEvent) -> UnitEvent:
    """Read an event of a unit."""
    return UnitEvent(
        id=source.id,
        application_id=source.application_id,
        unit_id=source.unit_id,
        namespace=source.namespace,
        unit=source.unit,
        kind=_kind(source.kind),
        ordinal=source.ordinal,
        attempt=source.attempt,
        state=EVENT_STATES.member(source.state),
        phase=PHASES.member(source.phase),
        relation=_event_relation(source.relation) if source.HasField("relation") else None,
        storage=source.storage,
        mirrored=source.is_mirrored,
        echo=source.is_echo,
        seen=EventSeen(source.seen.config, source.seen.charm, source.seen.term, source.seen.bag),
        reason=source.reason,
        leaving=source.leaving,
        actor=source.actor,
        cause=_cause(source.cause) if source.HasField("cause") else {},
        message=source.message,
        deferred=source.deferred,
        consumed=source.consumed,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
        started_at=field.time(source, "started_at"),
        finished_at=field.time(source, "finished_at"),
        retry_at=field.time(source, "retry_at"),
        secret=_event_secret(source.secret) if source.HasField("secret") else None,
    )


def relation(source: pb.Relation) -> Relation:
    """Read a relation; one from a list has no bags."""
    return Relation(
        id=source.id,
        number=source.number,
        namespace=source.namespace,
        interface=source.interface,
        peer=source.is_peer,
        life=LIVES.member(source.life),
        ends=tuple(RelationEnd(each.application, each.endpoint) for each in source.ends),
        bags=tuple(bag(each) for each in source.bags),
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
    )


def bag(source: pb.Bag) -> Bag:
    """Read a bag."""
    return Bag(source.owner, dict(source.data), source.version)


def storage(source: pb.Storage) -> Storage:
    """Read an instance of a storage."""
    return Storage(
        id=source.id,
        namespace=source.namespace,
        name=source.name,
        kind=source.name.rpartition("/")[0],
        unit=source.unit,
        machine=source.machine,
        life=LIVES.member(source.life),
        attached=source.is_attached,
        version=source.version,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
    )


def notice(source: pb.Notice) -> DeferredNotice:
    """Read a notice."""
    return DeferredNotice(
        ordinal=source.ordinal,
        handler=source.handler,
        event=source.event,
        attempts=source.attempts,
        created_at=field.time(source, "created_at"),
    )


def log_line(source: pb.UnitLogLine) -> UnitLogLine:
    """Read a line of a unit's log."""
    return UnitLogLine(
        ordinal=source.ordinal,
        attempt=source.attempt,
        number=source.number,
        text=source.text,
        level=source.level,
        created_at=field.time(source, "created_at"),
        unit=source.unit,
        event_name=source.event_name,
    )


def to_log_line(source: UnitLogLine) -> pb.UnitLogLine:
    """Build the message of a line; the server fills in the names."""
    target = field.build(
        pb.UnitLogLine,
        ordinal=source.ordinal,
        attempt=source.attempt,
        number=source.number,
        text=source.text,
        level=source.level,
    )
    if source.created_at is not None:
        target.created_at.FromDatetime(source.created_at)
    return target


def _kind(name: str) -> EventKind:
    try:
        return EventKind(name)
    except ValueError:
        raise errors.Error(f"the server sent the event {name}, which this release does not know; upgrade it") from None


def _event_secret(source: pb.UnitEventSecret) -> EventSecret:
    return EventSecret(id=source.id, label=source.label, revision=source.revision)


def _event_relation(source: pb.UnitEventRelation) -> EventRelation:
    return EventRelation(
        number=source.number,
        endpoint=source.endpoint,
        peer=source.is_peer,
        application=source.application,
        unit=source.unit,
        departing_unit=source.departing_unit,
    )


def _cause(source: pb.UnitEventCause) -> dict[str, object]:
    return {
        "type": source.type,
        "id": source.id,
        "owner": source.owner,
        "version": source.version,
        "actor": source.actor,
    }
