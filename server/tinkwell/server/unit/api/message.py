"""Converts applications and all that belongs to them into protobuf messages, and requests from messages."""

import datetime
from collections.abc import Iterable, Mapping

from google.protobuf import timestamp_pb2

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import namespace_service_pb2 as namespace_pb
from tinkwell.core import errors
from tinkwell.core.charm import action
from tinkwell.core.charm.record import Action, Endpoint, Option, Role, Storage, StoredCharm
from tinkwell.core.unit import record
from tinkwell.core.unit.kinds import CharmKind, EventState, Life, Phase, Profile
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonValue
from tinkwell.server.rpc import timestamp
from tinkwell.server.unit.service.request.explaining import Explanation
from tinkwell.server.unit.service.request.request import Removal, Units
from tinkwell.server.unit.service.request.resolving import UnitRequest

_KINDS = {kind: pb.CharmKind.Value(f"CHARM_KIND_{kind.name}") for kind in CharmKind}
_PROFILES = {profile: pb.UnitProfile.Value(f"UNIT_PROFILE_{profile.name}") for profile in Profile}
_LIVES = {life: pb.Life.Value(f"LIFE_{life.name}") for life in Life}
_PHASES = {phase: pb.UnitPhase.Value(f"UNIT_PHASE_{phase.name}") for phase in Phase}
_STATES = {state: pb.UnitEventState.Value(f"UNIT_EVENT_STATE_{state.name}") for state in EventState}
_ROLES = {role: pb.EndpointRole.Value(f"ENDPOINT_ROLE_{role.name}") for role in Role}
_REQUESTS = {pb.UnitRequest.Value(f"UNIT_REQUEST_{asked.name}"): asked for asked in UnitRequest}


def namespace(found: record.Namespace) -> namespace_pb.Namespace:
    """Build the message of a namespace."""
    return namespace_pb.Namespace(
        id=found.id,
        name=found.name,
        update_status_seconds=found.update_status_seconds,
        event_timeout_seconds=found.event_timeout_seconds,
        is_retrying=found.is_retrying,
        version=found.version,
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
    )


def charm(found: StoredCharm) -> pb.Charm:
    """Build the message of a charm."""
    manifest = found.manifest
    return pb.Charm(
        id=found.id,
        digest=found.digest,
        name=manifest.name,
        summary=manifest.summary,
        kind=_KINDS[manifest.kind],
        profile=_PROFILES[manifest.profile] if manifest.profile else pb.UNIT_PROFILE_UNSPECIFIED,
        endpoints=[_endpoint(manifest.endpoints[name]) for name in sorted(manifest.endpoints)],
        storages=[_declared(manifest.storages[name]) for name in sorted(manifest.storages)],
        options=[_option(manifest.options[name]) for name in sorted(manifest.options)],
        size=found.size,
        version=found.version,
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
        warnings=found.warnings,
        actions=[_action(manifest.actions[name]) for name in sorted(manifest.actions)],
    )


def application(found: record.Application, *, with_config: bool = True) -> pb.Application:
    """Build the message of an application. Lists leave out the configuration."""
    return pb.Application(
        id=found.id,
        namespace=found.namespace,
        name=found.name,
        life=_LIVES[found.life],
        charm=found.charm,
        profile=_PROFILES[found.profile],
        config=found.config if with_config else "",
        config_version=found.config_version,
        leader=found.leader,
        term=found.term,
        announced_term=found.announced_term,
        charm_name=found.charm_name,
        kind=_KINDS[found.kind],
        units=found.units,
        status=_status(found.status),
        version=found.version,
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
    )


def unit(found: record.Unit) -> pb.Unit:
    """Build the message of a unit."""
    return pb.Unit(
        id=found.id,
        application_id=found.application_id,
        namespace=found.namespace,
        name=found.name,
        number=found.number,
        life=_LIVES[found.life],
        phase=_PHASES[found.phase],
        machine=found.machine,
        is_anywhere=found.is_anywhere,
        is_leader=found.is_leader,
        status=_status(found.status),
        workload_version=found.workload_version,
        event=event(found.event) if found.event is not None else None,
        charm=found.charm,
        storages=found.storages,
        ports=[pb.Port(protocol=port.protocol, number=port.number) for port in found.ports],
        is_agent_alive=found.is_agent_alive,
        last_ordinal=found.last_ordinal,
        is_settled=bool(found.is_settled),
        version=found.version,
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
    )


def relation(found: record.Relation) -> pb.Relation:
    """Build the message of a relation."""
    return pb.Relation(
        id=found.id,
        namespace=found.namespace,
        number=found.number,
        interface=found.interface,
        is_peer=found.is_peer,
        life=_LIVES[found.life],
        ends=[pb.RelationEnd(application=end.application, endpoint=end.endpoint) for end in found.ends],
        bags=[pb.Bag(owner=bag.owner, data=bag.data, version=bag.version) for bag in found.bags],
        version=found.version,
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
    )


def storage(found: record.Storage) -> pb.Storage:
    """Build the message of a storage instance."""
    return pb.Storage(
        id=found.id,
        application_id=found.application_id,
        namespace=found.namespace,
        name=found.name,
        life=_LIVES[found.life],
        unit=found.unit,
        is_attached=found.is_attached,
        machine=found.machine,
        version=found.version,
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
    )


def event(found: record.Event) -> pb.UnitEvent:
    """Build the message of a unit's event."""
    about = found.relation
    return pb.UnitEvent(
        id=found.id,
        namespace=found.namespace,
        application_id=found.application_id,
        unit_id=found.unit_id,
        unit=found.unit,
        kind=found.kind,
        ordinal=found.ordinal,
        attempt=found.attempt,
        state=_STATES[found.state],
        relation=_event_relation(about) if about is not None else None,
        storage=found.storage,
        secret=pb.UnitEventSecret(id=found.secret, revision=found.revision) if found.secret else None,
        is_mirrored=found.is_mirrored,
        is_echo=found.is_echo,
        seen=pb.UnitEventSeen(
            config=found.seen_config, charm=found.seen_charm, term=found.seen_term, bag=found.seen_bag
        ),
        reason=found.reason,
        leaving=found.leaving,
        actor=found.actor,
        cause=_cause(found.cause) if found.cause else None,
        phase=_PHASES[found.phase],
        message=found.message,
        deferred=found.deferred,
        consumed=found.consumed,
        started_at=_moment(found.started_at),
        finished_at=_moment(found.finished_at),
        retry_at=_moment(found.retry_at),
        name=found.name,
        version=found.version,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
    )


def notice(found: record.Notice) -> pb.Notice:
    """Build the message of a deferred notice."""
    return pb.Notice(
        ordinal=found.ordinal,
        handler=found.handler,
        event=found.event,
        attempts=found.attempts,
        created_at=timestamp.of(found.created_at),
    )


def log_line(found: record.LogLine) -> pb.UnitLogLine:
    """Build the message of a line that a unit has logged."""
    return pb.UnitLogLine(
        ordinal=found.ordinal,
        attempt=found.attempt,
        number=found.number,
        level=found.level,
        text=found.text,
        created_at=timestamp.of(found.created_at),
        unit=found.unit,
        event_name=found.event_name,
    )


def explanation(found: Explanation) -> pb.ExplainUnitResponse:
    """Build the message of an explanation."""
    return pb.ExplainUnitResponse(
        unit=unit(found.unit),
        sentence=found.sentence,
        causes=[pb.UnitCause(sentence=cause.sentence, revision=cause.revision) for cause in found.causes],
        behind=found.behind,
        deferred=[notice(each) for each in found.deferred],
        advice=found.advice,
    )


def to_profile(given: pb.UnitProfile.ValueType) -> Profile | None:
    """Read the profile of a request, or None if it is not given."""
    return next((profile for profile, number in _PROFILES.items() if number == given), None)


def to_request(given: pb.UnitRequest.ValueType) -> UnitRequest:
    """Read the kind of event that a request asks for. Raises `errors.InvalidField`."""
    if given not in _REQUESTS:
        listed = ", ".join(asked.name for asked in UnitRequest)
        raise errors.InvalidField.of("request", f"give one of {listed}")
    return _REQUESTS[given]


def to_units(source: pb.DeployRequest | pb.AddUnitsRequest, *, ids: Iterable[str] = ()) -> Units:
    """Read the number of new units, and their machines and storages."""
    return Units(
        count=source.units,
        machines=tuple(source.machines),
        is_anywhere=source.is_anywhere,
        storages=tuple((each.name, each.count) for each in source.storages),
        ids=tuple(ids),
    )


def to_removal(source: pb.RemoveUnitRequest | pb.RemoveRequest) -> Removal:
    """Read how units are to be removed."""
    return Removal(force=source.force, grace_seconds=source.grace_seconds, keep_storage=source.keep_storage)


def _endpoint(found: Endpoint) -> pb.CharmEndpoint:
    return pb.CharmEndpoint(name=found.name, role=_ROLES[found.role], interface=found.interface, limit=found.limit)


def _declared(found: Storage) -> pb.CharmStorage:
    return pb.CharmStorage(
        name=found.name, description=found.description, minimum=found.minimum, maximum=found.maximum or 0
    )


def _option(found: Option) -> pb.CharmOption:
    return pb.CharmOption(
        name=found.name,
        type=found.type,
        description=found.description,
        default=_json(found.default),
        minimum=_json(found.minimum),
        maximum=_json(found.maximum),
    )


def _action(found: Action) -> pb.CharmAction:
    schema = action.schema(found)
    parameters = document.dump_json(schema) if schema else ""
    return pb.CharmAction(name=found.name, description=found.description, parameters=parameters)


def _json(value: JsonValue) -> str:
    return document.dump_json(value) if value is not None else ""


def _status(found: record.Status) -> pb.UnitStatus:
    return pb.UnitStatus(name=found.name, message=found.message)


def _cause(found: Mapping[str, str | int]) -> pb.UnitEventCause:
    return pb.UnitEventCause(
        type=str(found.get("type", "")),
        id=str(found.get("id", "")),
        owner=str(found.get("owner", "")),
        version=int(found.get("version", 0)),
        actor=str(found.get("actor", "")),
    )


def _event_relation(found: record.EventRelation) -> pb.UnitEventRelation:
    return pb.UnitEventRelation(
        number=found.number,
        endpoint=found.endpoint,
        is_peer=found.is_peer,
        application=found.application,
        unit=found.unit,
        departing_unit=found.departing_unit,
    )


def _moment(found: datetime.datetime | None) -> timestamp_pb2.Timestamp | None:
    return timestamp.of(found) if found is not None else None
