"""Reads the effects of events and tasks, as agents send them to the fake server."""

from collections.abc import Iterable

from tinkwell.api.v1 import application_service_pb2
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client.testing.unit import secret
from tinkwell.core.unit.effect import BagEdit, Effects, Notice, Port, StorageRequest
from tinkwell.core.unit.kinds import Owner
from tinkwell.core.value import parse


def read(source: pb.Effects) -> Effects:
    """Read the effects of an event or a task."""
    return Effects(
        term=source.term,
        bags=tuple(
            BagEdit(
                relation=each.relation,
                owner=Owner.APPLICATION if each.is_application else Owner.UNIT,
                edits=_edits(each.edits),
            )
            for each in source.bags
        ),
        state=_edits(source.state),
        opened=tuple(Port(protocol=each.protocol, number=each.number) for each in source.opened),
        closed=tuple(Port(protocol=each.protocol, number=each.number) for each in source.closed),
        storages=tuple(StorageRequest(storage=each.name, count=each.count) for each in source.storages),
        deferred=_notices(source.deferred),
        consumed=_notices(source.consumed),
        secrets=tuple(
            secret.effect(parse.child("effects.secrets", index), each) for index, each in enumerate(source.secrets)
        ),
    )


def _edits(source: Iterable[pb.KeyEdit]) -> dict[str, str | None]:
    return {each.key: each.value if each.HasField("value") else None for each in source}


def _notices(source: Iterable[application_service_pb2.Notice]) -> tuple[Notice, ...]:
    return tuple(Notice(ordinal=each.ordinal, handler=each.handler, event=each.event) for each in source)
