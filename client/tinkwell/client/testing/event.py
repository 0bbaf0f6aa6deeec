"""The EventService of the fake server."""

# ruff: noqa: N802  # RPC methods carry their names

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc
from tinkwell.client.event.model import Position
from tinkwell.client.testing import encode
from tinkwell.client.testing.world import World
from tinkwell.client.value import shape
from tinkwell.core import errors
from tinkwell.core.event import kinds
from tinkwell.core.event.kinds import EventType
from tinkwell.core.value import parse


class EventServicer(event_service_pb2_grpc.EventServiceServicer):
    """Events and positions in memory."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def Watch(self, request: pb.WatchRequest, context: Any) -> AsyncIterator[pb.WatchResponse]:
        if request.resource_id and not request.resource_types:
            raise errors.InvalidField.of("resource_types", "resource_id needs a resource type")
        async for response in self._world.log.follow(request):
            yield response

    async def Publish(self, request: pb.PublishRequest, context: Any) -> pb.PublishResponse:
        parse.parse_event_name("name", request.name)
        if kinds.is_own(request.name):
            raise errors.InvalidField.of("name", "begins with a built-in prefix")
        event = self._world.emit(
            EventType.CUSTOM,
            name=request.name,
            resource_id=request.resource_id,
            data=shape.parse(request.data) or {},
        )
        return pb.PublishResponse(id=event.id, revision=event.revision)

    async def GetPosition(self, request: pb.GetPositionRequest, context: Any) -> pb.Position:
        if request.claim:
            held = self._world.positions.get(request.name, Position(name=request.name))
            self._world.positions[request.name] = dataclasses.replace(held, token=held.token + 1)
        position = self._position(request.name)
        return encode.fill(pb.Position(), position)

    async def CommitPosition(self, request: pb.CommitPositionRequest, context: Any) -> pb.Position:
        position = self._position(request.name)
        if request.token != position.token:
            raise errors.LostRace(f"position {request.name} was claimed by another consumer")
        if request.history_id == position.history_id and request.revision < position.revision:
            raise errors.InvalidField.of("revision", "may not go backwards")
        position = dataclasses.replace(
            position, revision=request.revision, history_id=request.history_id, updated_at=self._world.clock.now()
        )
        self._world.positions[request.name] = position
        return encode.fill(pb.Position(), position)

    def _position(self, name: str) -> Position:
        try:
            return self._world.positions[name]
        except KeyError:
            raise errors.NotFound("POSITION", name) from None
