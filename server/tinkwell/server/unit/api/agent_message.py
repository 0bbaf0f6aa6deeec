"""Converts grants for agents into protobuf messages, and the effects of handlers from messages."""

from collections.abc import Iterable

from tinkwell.api.v1 import application_service_pb2 as application_pb
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.unit.effect import BagEdit, Effects, Notice, Port, StorageRequest
from tinkwell.core.unit.kinds import CharmKind, Owner
from tinkwell.core.value import parse
from tinkwell.server.unit.api import secret_message, task_message
from tinkwell.server.unit.service.agent.serving import Offer
from tinkwell.server.unit.service.agent.telling import Status
from tinkwell.server.unit.service.delivery.record import Bag, Grant, GrantedEvent, NewLine, Next, NoEvent, OwnRelation

_CHARM_KINDS = {application_pb.CharmKind.Value(f"CHARM_KIND_{kind.name}"): kind for kind in CharmKind}


def offer(request: pb.WatchUnitsRequest) -> Offer:
    """Read what an agent serves. Raises `errors.InvalidField`."""
    wrong = [index for index, number in enumerate(request.kinds) if number not in _CHARM_KINDS]
    if wrong:
        named = ", ".join(kind.name for kind in CharmKind)
        raise errors.InvalidField.of(parse.child("kinds", wrong[0]), f"give one of {named}")
    return Offer(
        kinds=[_CHARM_KINDS[number] for number in request.kinds],
        machines=list(request.machines),
        is_anywhere=request.is_anywhere,
        charm=request.charm,
        namespace=request.namespace,
        application=request.application,
    )


def following(found: Next) -> pb.NextEventResponse:
    """Write the next event of a unit, or the reason why there is none."""
    if isinstance(found, NoEvent):
        reason = pb.NoEventReason.Value(f"NO_EVENT_REASON_{found.why.name}")
        return pb.NextEventResponse(none=pb.NoEvent(reason=reason, due_in_seconds=found.due_in_seconds))
    return pb.NextEventResponse(grant=grant(found))


def grant(found: Grant) -> pb.Grant:
    """Write a grant of an event or a task."""
    return pb.Grant(
        event=_event(found, found.granted) if found.granted is not None else None,
        task=task_message.task(found.task) if found.task is not None else None,
        timeout_seconds=found.timeout_seconds,
        unit_id=found.unit_id,
        unit=found.unit,
        application=found.application,
        namespace=found.namespace,
        profile=application_pb.UnitProfile.Value(f"UNIT_PROFILE_{found.profile.name}"),
        kind=application_pb.CharmKind.Value(f"CHARM_KIND_{found.kind}"),
        charm=found.charm,
        config=found.config,
        config_version=found.config_version,
        leadership=pb.Leadership(
            is_leader=found.leads_seconds > 0,
            term=found.term,
            remaining_seconds=found.leads_seconds,
            leader=found.leader,
        ),
        relations=[_relation(each) for each in found.relations],
        storages=[pb.GrantStorage(name=name, is_attached=is_attached) for name, is_attached in found.storages],
        state=found.state,
        deferred=[
            application_pb.Notice(ordinal=each.ordinal, handler=each.handler, event=each.event, attempts=each.attempts)
            for each in found.notices
        ],
        ports=[application_pb.Port(protocol=protocol, number=number) for protocol, number in found.ports],
        status=application_pb.UnitStatus(name=found.status_name, message=found.status_message),
        application_status=application_pb.UnitStatus(
            name=found.application_status_name, message=found.application_status_message
        ),
        machine=found.machine,
        addresses=found.addresses,
        secrets=[secret_message.own_secret(each) for each in found.secrets],
        committed_ordinal=found.committed_ordinal,
        remote=bag(found.granted.remote) if found.granted is not None and found.granted.remote is not None else None,
    )


def bag(found: Bag) -> application_pb.Bag:
    """Write a bag."""
    return application_pb.Bag(owner=found.owner, data=found.data, version=found.version)


def effects(source: pb.Effects) -> Effects:
    """Read the effects of a handler. Raises `errors.InvalidField`, for example for two changes of one key."""
    return Effects(
        term=source.term,
        bags=tuple(
            BagEdit(
                relation=each.relation,
                owner=Owner.APPLICATION if each.is_application else Owner.UNIT,
                edits=_edits(parse.child("effects.bags", index) + ".edits", each.edits),
            )
            for index, each in enumerate(source.bags)
        ),
        state=_edits("effects.state", source.state),
        opened=_ports(source.opened),
        closed=_ports(source.closed),
        storages=tuple(StorageRequest(storage=each.name, count=each.count) for each in source.storages),
        deferred=_notices(source.deferred),
        consumed=_notices(source.consumed),
        secrets=secret_message.effects(source.secrets),
    )


def status(source: application_pb.UnitStatus) -> Status:
    """Read a status."""
    return Status(source.name, source.message)


def lines(source: Iterable[application_pb.UnitLogLine]) -> list[NewLine]:
    """Read lines of a log."""
    return [
        NewLine(ordinal=each.ordinal, attempt=each.attempt, number=each.number, level=each.level, text=each.text)
        for each in source
    ]


def _event(found: Grant, granted: GrantedEvent) -> application_pb.UnitEvent:
    event = granted.event
    relation = None
    if event.relation:
        relation = application_pb.UnitEventRelation(
            number=event.relation,
            endpoint=event.endpoint,
            is_peer=found.is_peer,
            application=event.application,
            unit=event.unit,
            departing_unit=event.departing_unit,
        )
    secret = None
    if event.secret:
        label = next((each.label for each in found.secrets if each.name == event.secret), "")
        secret = application_pb.UnitEventSecret(id=event.secret, label=label, revision=event.revision)
    seen = event.seen
    return application_pb.UnitEvent(
        id=granted.id,
        unit=found.unit,
        kind=event.kind,
        ordinal=granted.ordinal,
        attempt=granted.attempt,
        state=application_pb.UNIT_EVENT_STATE_RUNNING,
        relation=relation,
        storage=event.storage,
        secret=secret,
        is_mirrored=event.is_mirrored,
        is_echo=event.is_echo,
        seen=application_pb.UnitEventSeen(config=seen.config, charm=seen.charm, term=seen.term, bag=seen.bag),
        reason=granted.reason,
        leaving=granted.leaving,
        actor=granted.actor,
        phase=application_pb.UnitPhase.Value(f"UNIT_PHASE_{granted.phase.name}"),
        name=event.name,
    )


def _relation(found: OwnRelation) -> pb.GrantRelation:
    return pb.GrantRelation(
        number=found.number,
        endpoint=found.endpoint,
        interface=found.interface,
        is_peer=found.is_peer,
        life=application_pb.Life.Value(f"LIFE_{found.life.name}"),
        application=found.application,
        members=found.members,
        own=bag(found.own),
        own_application=bag(found.own_application) if found.own_application is not None else None,
    )


def _edits(field: str, source: Iterable[pb.KeyEdit]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for index, each in enumerate(source):
        if each.key in found:
            raise errors.InvalidField.of(f"{parse.child(field, index)}.key", f"{parse.show(each.key)} occurs twice")
        found[each.key] = each.value if each.HasField("value") else None
    return found


def _ports(source: Iterable[application_pb.Port]) -> tuple[Port, ...]:
    return tuple(Port(protocol=each.protocol, number=each.number) for each in source)


def _notices(source: Iterable[application_pb.Notice]) -> tuple[Notice, ...]:
    return tuple(Notice(ordinal=each.ordinal, handler=each.handler, event=each.event) for each in source)
