"""Tinkerbell's HardwareService."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable

from tinkwell.api.tink import hardware_pb2 as pb
from tinkwell.api.tink import hardware_pb2_grpc
from tinkwell.api.v1 import event_service_pb2
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.event.selection import Selection
from tinkwell.core.hardware.record import Hardware
from tinkwell.server.hardware.service.operations import HardwareService
from tinkwell.server.log.watching import Now
from tinkwell.server.rpc import auth, interceptor
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.tink import resource_message as message
from tinkwell.server.tink.feed import Feed

_CHANGES = frozenset({EventType.CREATED, EventType.UPDATED})


class HardwareServicer(hardware_pb2_grpc.HardwareServiceServicer):
    """Translates between protobuf and the service."""

    def __init__(self, service: HardwareService, feed: Feed) -> None:
        self._service = service
        self._feed = feed

    async def Push(self, request: pb.PushRequest, context: Context) -> pb.Empty:
        if not request.HasField("data"):
            raise errors.InvalidField.of("data", "is missing; it is the machine to store")
        await self._service.push(message.sent(request.data), actor=auth.actor(context))
        return pb.Empty()

    async def ByMAC(self, request: pb.GetRequest, context: Context) -> pb.Hardware:
        return message.found_by_mac(await self._service.find("mac", request.mac), request.mac)

    async def ByIP(self, request: pb.GetRequest, context: Context) -> pb.Hardware:
        return message.found_by_ip(await self._service.find("ip", request.ip), request.ip)

    async def ByID(self, request: pb.GetRequest, context: Context) -> pb.Hardware:
        return message.hardware(await self._service.find("id", request.id))

    async def All(self, request: pb.Empty, context: Context) -> AsyncGenerator[pb.Hardware, None]:
        async with contextlib.aclosing(self._service.list_all()) as machines:
            async for machine in machines:
                yield message.hardware(machine)

    async def Delete(self, request: pb.DeleteRequest, context: Context) -> pb.Empty:
        await self._service.delete(request.id, actor=auth.actor(context))
        return pb.Empty()

    def DeprecatedWatch(  # type: ignore[override]  # writes its responses by itself
        self, request: pb.GetRequest, context: Context
    ) -> Awaitable[None]:
        return self._watch(request, context)

    async def _watch(self, request: pb.GetRequest, context: Context) -> None:
        """Write a machine as it is, and again after each change that it has not been written with."""
        hardware_id = (await self._find(request)).id
        written_version = 0

        async def write() -> None:
            nonlocal written_version
            machine = await self._service.find("id", hardware_id)
            await interceptor.write(context, message.hardware(machine), interceptor.WRITE_TIMEOUT_SECONDS)
            written_version = machine.version

        async def take(event: event_service_pb2.Event) -> None:
            # A change is in the table before its event arrives.
            if event.version <= written_version:
                return
            # A machine that was deleted has no state to send. It may be restored.
            with contextlib.suppress(errors.NotFound):
                await write()

        selection = Selection(
            event_types=_CHANGES, resource_types=frozenset({ResourceType.HARDWARE}), resource_id=hardware_id
        )
        await self._feed.follow(selection, Now(), take, begun=write, reader=context.peer())

    async def _find(self, request: pb.GetRequest) -> Hardware:
        if request.id:
            return await self._service.find("id", request.id)
        if request.mac:
            return await self._service.find("mac", request.mac)
        return await self._service.find("ip", request.ip)
