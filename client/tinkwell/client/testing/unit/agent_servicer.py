"""The UnitService of the fake server."""

# ruff: noqa: N802  # RPC methods carry their names

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.api.v1 import unit_service_pb2_grpc
from tinkwell.client.testing.unit import secret
from tinkwell.client.testing.unit.book import Room, Serves, UnitBook
from tinkwell.client.testing.unit.delivery import Delivery
from tinkwell.client.testing.world import World
from tinkwell.client.unit import message
from tinkwell.client.unit.model import UnitLogLine
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.world import Running
from tinkwell.core.unit.world import Unit as WorldUnit

_PART_BYTES = 1024 * 1024
# How often a watch looks at the units again: no event tells that a retry or a tick has become due.
_LOOK_SECONDS = 0.2


class UnitServicer(unit_service_pb2_grpc.UnitServiceServicer):
    """Events of units, for agents."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._book: UnitBook = world.units
        self._delivery = Delivery(world)

    async def WatchUnits(
        self, request: unit_pb.WatchUnitsRequest, context: Any
    ) -> AsyncIterator[unit_pb.WatchUnitsResponse]:
        reporter = self._delivery.reporter(request.lease_token)
        if not request.kinds:
            raise errors.InvalidField.of("kinds", "is needed")
        self._book.agents[reporter.lease_id] = Serves(
            kinds=frozenset(message.CHARM_KINDS.member(each) for each in request.kinds),
            machines=frozenset(request.machines),
            is_anywhere=request.is_anywhere,
            charm=request.charm,
            namespace=request.namespace,
            application=request.application,
        )
        known: set[str] = set()
        is_first = True
        while True:
            self._delivery.reporter(request.lease_token)
            changed = self._world.log.changed
            served = self._delivery.served(reporter.lease_id)
            for room in self._book.all_rooms():
                room.tell()
            ids = [unit.id for room, unit in served if unit.id not in known or self._delivery.is_due(room, unit)]
            gone = known - {unit.id for _, unit in served}
            known = {unit.id for _, unit in served}
            if ids or gone or is_first:
                yield unit_pb.WatchUnitsResponse(unit_ids=[*ids, *sorted(gone)], created=is_first)
            is_first = False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await changed.wait()

    async def NextEvent(self, request: unit_pb.NextEventRequest, context: Any) -> unit_pb.NextEventResponse:
        return self._delivery.next_event(request.lease_token, request.unit_id)

    async def CommitEvent(self, request: unit_pb.CommitEventRequest, context: Any) -> unit_pb.CommitEventResponse:
        return self._delivery.commit(request)

    async def FailEvent(self, request: unit_pb.FailEventRequest, context: Any) -> unit_pb.FailEventResponse:
        return self._delivery.fail(request)

    async def ReadBag(self, request: unit_pb.ReadBagRequest, context: Any) -> unit_pb.ReadBagResponse:
        return self._delivery.read_bag(request)

    async def ReadSecret(self, request: unit_pb.ReadSecretRequest, context: Any) -> unit_pb.ReadSecretResponse:
        return secret.read(*self._delivery.working(request.lease_token, request.event_id), request)

    async def AppendTaskLog(self, request: unit_pb.AppendTaskLogRequest, context: Any) -> unit_pb.AppendTaskLogResponse:
        self._delivery.append_task_log(request)
        return unit_pb.AppendTaskLogResponse()

    async def SetStatus(self, request: unit_pb.SetStatusRequest, context: Any) -> unit_pb.SetStatusResponse:
        self._delivery.set_status(request)
        return unit_pb.SetStatusResponse()

    async def AppendLogs(self, request: unit_pb.AppendUnitLogsRequest, context: Any) -> unit_pb.AppendUnitLogsResponse:
        self._delivery.reporter(request.lease_token)
        found = self._book.find(lambda unit: unit.id == request.unit_id)
        if found is None:
            raise errors.NotFound(ResourceType.UNIT, request.unit_id)
        room, unit = found
        known = {(each.unit, each.ordinal, each.attempt, each.number) for each in room.lines}
        for each in request.lines:
            if (unit.name, each.ordinal, each.attempt, each.number) not in known:
                room.lines.append(_line(room, unit, message.log_line(each)))
        self._world.log.wake()
        return unit_pb.AppendUnitLogsResponse(accepted=len(request.lines))

    async def FetchCharm(
        self, request: unit_pb.FetchCharmRequest, context: Any
    ) -> AsyncIterator[unit_pb.FetchCharmResponse]:
        self._delivery.reporter(request.lease_token)
        data = self._book.charm(request.digest).data
        for start in range(0, len(data), _PART_BYTES):
            yield unit_pb.FetchCharmResponse(data=data[start : start + _PART_BYTES])


def _line(room: Room, unit: WorldUnit, line: UnitLogLine) -> UnitLogLine:
    event: Running | None = room.events.get(unit.name, {}).get(line.ordinal)
    created_at = line.created_at or room.now()
    named = event.event.name if event is not None else ""
    return dataclasses.replace(line, unit=unit.name, event_name=named, created_at=created_at)
