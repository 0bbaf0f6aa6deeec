"""The HardwareService of the fake server."""

# ruff: noqa: N802  # RPC methods carry their names

import dataclasses
import uuid
from collections.abc import AsyncIterator
from typing import Any

from tinkwell.api.v1 import event_service_pb2, hardware_service_pb2_grpc
from tinkwell.api.v1 import hardware_service_pb2 as pb
from tinkwell.client.hardware import message, push
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.testing import encode
from tinkwell.client.testing.world import World
from tinkwell.client.value import shape
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType


class HardwareServicer(hardware_service_pb2_grpc.HardwareServiceServicer):
    """Machines in memory."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def Push(self, request: pb.PushRequest, context: Any) -> pb.PushResponse:
        return self._push(request, "")

    async def PushMany(
        self, request_iterator: AsyncIterator[pb.PushManyRequest], context: Any
    ) -> AsyncIterator[pb.PushManyResponse]:
        """Answer each request. The refusal of a machine is sent only after the client has stopped sending."""
        await context.send_initial_metadata(((push.READY_KEY, "1"),))
        done = pb.PushManyResponse()
        failure: errors.TinkwellError | None = None
        async for request in request_iterator:
            if failure is not None:
                continue
            try:
                for machine in request.machines:
                    # Errors name a machine by its place in the whole stream.
                    pushed = self._push(machine, f"machines[{done.stored}].")
                    done.stored += 1
                    # A push that changes nothing has no revision.
                    done.changed += bool(pushed.revision)
                    done.revision = pushed.revision or done.revision
            except errors.TinkwellError as error:
                failure, done.stopped = error, True
            yield done
        if failure is not None:
            raise failure

    def _push(self, request: pb.PushRequest, path: str) -> pb.PushResponse:
        machine = message.hardware(request.data)
        prefix = f"{path.removesuffix('.')}: " if path else ""
        try:
            uuid.UUID(machine.id)
        except ValueError as error:
            raise errors.InvalidField.of(f"{path}data.id", "must be a UUID") from error
        old = self._world.resources[ResourceType.HARDWARE].get(machine.id)
        if request.HasField("expected_version") and request.expected_version != (old.version if old else 0):
            raise errors.LostRace(f"{prefix}hardware {machine.id} has another version")
        set_here = {"version": old.version, "created_at": old.created_at, "updated_at": old.updated_at} if old else {}
        if old == dataclasses.replace(machine, **set_here):
            return pb.PushResponse(version=old.version)
        try:
            self._world.check_addresses(machine)
        except errors.AlreadyExists as taken:
            taken.args = (f"{prefix}{taken}",)
            raise
        stored = self._world.put(machine)
        return pb.PushResponse(revision=self._world.log.tail, version=stored.version)

    async def ByMAC(self, request: pb.ByMACRequest, context: Any) -> pb.Hardware:
        return encode.fill(pb.Hardware(), self._world.hardware_with("mac", request.mac))

    async def ByIP(self, request: pb.ByIPRequest, context: Any) -> pb.Hardware:
        return encode.fill(pb.Hardware(), self._world.hardware_with("ip", request.ip))

    async def ByID(self, request: pb.ByIDRequest, context: Any) -> pb.Hardware:
        return encode.fill(pb.Hardware(), self._world.find(Hardware, request.id))

    async def All(self, request: pb.AllRequest, context: Any) -> AsyncIterator[pb.Hardware]:
        for machine in self._world.all(Hardware):
            yield encode.fill(pb.Hardware(), machine)

    async def Delete(self, request: pb.DeleteRequest, context: Any) -> pb.DeleteResponse:
        found = self._world.find(Hardware, request.id)
        self._world.units.check_free([found.id], advice="remove them first")
        event = self._world.remove(found)
        return pb.DeleteResponse(revision=event.revision)

    async def PhoneHome(self, request: pb.PhoneHomeRequest, context: Any) -> pb.PhoneHomeResponse:
        key = request.WhichOneof("machine") or ""
        if key == "id":
            machine = self._world.find(Hardware, request.id)
        else:
            machine = self._world.hardware_with(key, getattr(request, key))
        event = self._world.emit(
            EventType.HARDWARE_PHONE_HOME,
            ResourceType.HARDWARE,
            resource_id=machine.id,
            version=machine.version,
            data={**machine.to_json(), "phone_home": shape.parse(request.data) or {}},
        )
        return pb.PhoneHomeResponse(revision=event.revision)

    async def Watch(
        self, request: event_service_pb2.WatchRequest, context: Any
    ) -> AsyncIterator[event_service_pb2.WatchResponse]:
        async for response in self._world.log.follow(request, [ResourceType.HARDWARE]):
            yield response
