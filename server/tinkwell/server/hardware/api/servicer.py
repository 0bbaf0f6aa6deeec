"""HardwareService on the wire."""

import contextlib
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable

from tinkwell.api.v1 import event_service_pb2, hardware_service_pb2_grpc
from tinkwell.api.v1 import hardware_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.server.hardware.api import message, push_stream
from tinkwell.server.hardware.service.operations import HardwareService
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.watch.watch import Context, Watches


class HardwareServicer(hardware_service_pb2_grpc.HardwareServiceServicer):
    """Translates between protobuf and the hardware service."""

    def __init__(self, service: HardwareService, watches: Watches) -> None:
        self._service = service
        self._watches = watches

    async def Push(self, request: pb.PushRequest, context: Context) -> pb.PushResponse:
        if not request.HasField("data"):
            raise errors.InvalidField.of("data", "is missing; it is the machine to store")
        pushed = await self._service.push(message.sent(request), actor=auth.actor(context))
        return pb.PushResponse(revision=pushed.revision, version=pushed.version)

    async def PushMany(  # type: ignore[override]  # writes its responses itself, while it goes on receiving
        self, request_iterator: AsyncIterator[pb.PushManyRequest], context: Context
    ) -> None:
        await self._service.push_many(
            push_stream.receive(request_iterator),
            invite=functools.partial(push_stream.invite, context),
            report=functools.partial(push_stream.report, context),
            actor=auth.actor(context),
        )

    async def ByMAC(self, request: pb.ByMACRequest, context: Context) -> pb.Hardware:
        return message.to_message(await self._service.find("mac", request.mac))

    async def ByIP(self, request: pb.ByIPRequest, context: Context) -> pb.Hardware:
        return message.to_message(await self._service.find("ip", request.ip))

    async def ByID(self, request: pb.ByIDRequest, context: Context) -> pb.Hardware:
        return message.to_message(await self._service.find("id", request.id))

    async def All(self, request: pb.AllRequest, context: Context) -> AsyncGenerator[pb.Hardware, None]:
        async with contextlib.aclosing(self._service.list_all()) as machines:
            async for machine in machines:
                yield message.to_message(machine)

    async def Delete(self, request: pb.DeleteRequest, context: Context) -> pb.DeleteResponse:
        return pb.DeleteResponse(revision=await self._service.delete(request.id, actor=auth.actor(context)))

    async def PhoneHome(self, request: pb.PhoneHomeRequest, context: Context) -> pb.PhoneHomeResponse:
        key = request.WhichOneof("machine")
        if key is None:
            raise errors.InvalidField.of("id", "is missing; give an id, a mac or an ip to say which machine calls")
        revision = await self._service.phone_home(key, getattr(request, key), request.data, actor=auth.actor(context))
        return pb.PhoneHomeResponse(revision=revision)

    def Watch(  # type: ignore[override]  # writes its responses by itself
        self, request: event_service_pb2.WatchRequest, context: Context
    ) -> Awaitable[None]:
        return self._watches.stream(request, context, resource_types=(ResourceType.HARDWARE,))
