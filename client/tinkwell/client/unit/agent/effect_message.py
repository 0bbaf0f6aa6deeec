"""Converts grants and the effects of handlers between protobuf messages and objects."""

from collections.abc import Mapping

from tinkwell.api.v1 import application_service_pb2, unit_service_pb2
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.unit import message, task
from tinkwell.client.unit.agent import secret_message
from tinkwell.client.unit.agent.grant import Grant, GrantedRelation, Leadership, NoEvent, NoEventReason
from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.unit.model import OpenPort
from tinkwell.client.value import field, shape
from tinkwell.client.value.enumeration import Enumeration
from tinkwell.core.unit import limit
from tinkwell.core.unit.effect import BagEdit, Effects, Notice, TaskOutcome
from tinkwell.core.unit.kinds import Owner

# The fields of effects that may be large, and their names for people.
_LARGE = {
    "secrets": "secrets",
    "bags": "bags of relations",
    "state": "the unit's state",
    "deferred": "deferred notices",
    "consumed": "notices that were heard",
}

REASONS = Enumeration(NoEventReason, unit_service_pb2.NoEventReason, "NO_EVENT_REASON")


def following(source: pb.NextEventResponse) -> Grant | NoEvent:
    """Read the grant of a unit's next event, or the reason why there is none."""
    match source.WhichOneof("next"):
        case "grant":
            return grant(source.grant)
        case "none":
            return NoEvent(
                reason=REASONS.member(source.none.reason),
                due_in_seconds=field.present(source.none, "due_in_seconds"),
            )
        case _:
            raise errors.Error("the server sent neither an event nor why there is none")


def grant(source: pb.Grant) -> Grant:
    """Read the grant of an event or a task."""
    asked = task.read(source.task) if source.HasField("task") else None
    return Grant(
        event=UnitEvent(asked.id, unit=source.unit, attempt=1) if asked else message.event(source.event),
        timeout_seconds=source.timeout_seconds,
        unit_id=source.unit_id,
        unit=source.unit,
        application=source.application,
        namespace=source.namespace,
        profile=message.PROFILES.member(source.profile),
        kind=message.CHARM_KINDS.member(source.kind),
        charm=source.charm,
        config=shape.parse(source.config) or {},
        config_version=source.config_version,
        leadership=Leadership(
            leads=source.leadership.is_leader,
            term=source.leadership.term,
            remaining_seconds=source.leadership.remaining_seconds,
            leader=source.leadership.leader,
        ),
        relations=tuple(_relation(each) for each in source.relations),
        storages={each.name: each.is_attached for each in source.storages},
        state=dict(source.state),
        deferred=tuple(message.notice(each) for each in source.deferred),
        ports=tuple(OpenPort(each.protocol, each.number) for each in source.ports),
        status=message.status(source.status),
        application_status=message.status(source.application_status),
        machine=source.machine,
        addresses=tuple(source.addresses),
        task=asked,
        secrets=tuple(secret_message.granted(each) for each in source.secrets),
        committed_ordinal=source.committed_ordinal,
        remote=message.bag(source.remote) if source.HasField("remote") else None,
    )


def to_effects(source: Effects) -> pb.Effects:
    """Build the message of effects; raises `errors.InvalidField` for what protobuf cannot hold."""
    return field.build(
        pb.Effects,
        bags=[_bag_edit(each) for each in source.bags],
        state=_edits(source.state),
        opened=[application_service_pb2.Port(protocol=each.protocol, number=each.number) for each in source.opened],
        closed=[application_service_pb2.Port(protocol=each.protocol, number=each.number) for each in source.closed],
        storages=[
            application_service_pb2.StorageCount(name=each.storage, count=each.count) for each in source.storages
        ],
        deferred=[_notice(each) for each in source.deferred],
        consumed=[_notice(each) for each in source.consumed],
        term=source.term,
        secrets=[secret_message.to_edit(each) for each in source.secrets],
    )


def to_outcome(source: TaskOutcome | None) -> pb.TaskOutcome | None:
    """Build the message of a task's outcome; None for none."""
    if source is None:
        return None
    return field.build(
        pb.TaskOutcome, state=task.STATES.number(source.state), result=source.result, message=source.message
    )


def check_size(request: pb.CommitEventRequest) -> None:
    """Check that the server accepts the size of a request; the error says which part is the largest.

    Raises `errors.InvalidField`, whose text has only sizes and no content.
    """
    size = request.ByteSize()
    if size <= limit.COMMIT_BYTES:
        return
    sizes = {text: sum(each.ByteSize() for each in getattr(request.effects, name)) for name, text in _LARGE.items()}
    sizes["the task's result"] = len(request.task.result.encode())
    largest = max(sizes, key=lambda text: sizes[text])
    raise errors.InvalidField.of(
        "effects",
        f"are too large: {size:,} bytes in all, and at most {limit.COMMIT_BYTES:,} may be; most of it, "
        f"{sizes[largest]:,} bytes, is in {largest}: write less there, or in more than one event",
    )


def _relation(source: pb.GrantRelation) -> GrantedRelation:
    return GrantedRelation(
        number=source.number,
        endpoint=source.endpoint,
        interface=source.interface,
        peer=source.is_peer,
        life=message.LIVES.member(source.life),
        application=source.application,
        members=tuple(source.members),
        own=message.bag(source.own),
        own_application=message.bag(source.own_application) if source.HasField("own_application") else None,
    )


def _bag_edit(source: BagEdit) -> pb.BagEdit:
    return field.build(
        pb.BagEdit,
        relation=source.relation,
        is_application=source.owner is Owner.APPLICATION,
        edits=_edits(source.edits),
    )


def _edits(source: Mapping[str, str | None]) -> list[pb.KeyEdit]:
    return [field.build(pb.KeyEdit, key=key, value=value) for key, value in source.items()]


def _notice(source: Notice) -> application_service_pb2.Notice:
    return field.build(
        application_service_pb2.Notice, ordinal=source.ordinal, handler=source.handler, event=source.event
    )
