"""EventService on the wire."""

from collections.abc import Awaitable

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.api.v1 import event_service_pb2_grpc
from tinkwell.server.event.service.operations import EventService, Position
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.watch.watch import Context, Watches


class EventServicer(event_service_pb2_grpc.EventServiceServicer):
    """Translates between protobuf and the service."""

    def __init__(self, service: EventService, watches: Watches) -> None:
        self._service = service
        self._watches = watches

    def Watch(self, request: pb.WatchRequest, context: Context) -> Awaitable[None]:  # type: ignore[override] # writes by itself
        return self._watches.stream(request, context)

    async def Publish(self, request: pb.PublishRequest, context: Context) -> pb.PublishResponse:
        published = await self._service.publish(
            name=request.name, resource_id=request.resource_id, data=request.data, actor=auth.actor(context)
        )
        return pb.PublishResponse(id=published.id, revision=published.revision)

    async def GetPosition(self, request: pb.GetPositionRequest, context: Context) -> pb.Position:
        return _position(
            await self._service.get_position(name=request.name, claim=request.claim, actor=auth.actor(context))
        )

    async def CommitPosition(
        self,
        request: pb.CommitPositionRequest,
        context: Context,
    ) -> pb.Position:
        return _position(
            await self._service.commit_position(
                name=request.name,
                revision=request.revision,
                history_id=request.history_id,
                token=request.token,
                actor=auth.actor(context),
            )
        )


def _position(position: Position) -> pb.Position:
    message = pb.Position(
        name=position.name, revision=position.revision, history_id=position.history_id, token=position.token
    )
    message.updated_at.FromDatetime(position.updated_at)
    return message
