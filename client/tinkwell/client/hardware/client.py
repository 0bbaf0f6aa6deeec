"""The client of machines."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from tinkwell.api.v1 import hardware_service_pb2 as pb
from tinkwell.api.v1 import hardware_service_pb2_grpc
from tinkwell.client import call
from tinkwell.client.hardware import message
from tinkwell.client.hardware import push as bulk
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.value import field
from tinkwell.client.value.change import Change
from tinkwell.client.watch import informer, service
from tinkwell.core.event.kinds import ResourceType


class HardwareClient(service.Service):
    """Pushes, finds and watches machines."""

    def __init__(self, caller: call.Caller) -> None:
        self._stub = hardware_service_pb2_grpc.HardwareServiceStub(caller.channel)
        super().__init__(caller, self._stub.Watch)

    async def push(self, hardware: Hardware | Mapping[str, Any], *, expected_version: int | None = None) -> Change:
        """Create a machine or replace it; pushing a deleted id brings it back.

            network = {"interfaces": [{"dhcp": {"mac": "52:54:00:10:00:03"}}]}
            await client.hardware.push({"id": machine_id, "network": network})

        A mapping has the JSON shape of a machine; `metadata` may be an object or its JSON text. An unknown key or a
        wrong type raises `InvalidField` with its path. With `expected_version`, a machine of another version raises
        `LostRace`; 0 means that the machine must not exist. A taken MAC or IP address raises `AlreadyExists`. A push
        that changes nothing returns revision 0.
        """
        request = pb.PushRequest(data=message.to_hardware(hardware))
        if expected_version is not None:
            request.expected_version = expected_version
        answer = await self._caller.unary(self._stub.Push, request, may_repeat=expected_version is None)
        return Change(answer.revision, answer.version)

    async def push_many(
        self, machines: bulk.Machines, *, on_progress: bulk.ProgressHook | None = None
    ) -> bulk.BulkChange:
        """Push any number of machines in order, each as `push` does, but many in one transaction.

            done = await client.hardware.push_many(machines, on_progress=lambda done: print(done.stored))
            print(f"{done.changed} of {done.stored} machines changed, the last at revision {done.revision}")

        `machines` is an iterable or async iterable of machines as `push` takes them, or of `Conditional` with an
        expected version. `on_progress`, plain or async, is called with the sums so far each time that the server has
        stored some more machines.

        The first machine that the server refuses ends the call with the error that `push` raises; its text and fields
        name the machine by its place (`machines[1234].data.network…`). All machines before it are stored, and no
        others. After any other error, more machines may be stored than `on_progress` was told. Pushing all of them
        again does not change the stored ones.
        """
        opened = self._caller.exchange(self._stub.PushMany)
        pushing = bulk.BulkPush(opened, self._caller.address, self._caller.timeout_seconds, on_progress)
        return await pushing.run(machines)

    async def by_id(self, id: str) -> Hardware:  # noqa: A002
        """Get a machine by its id; raises `NotFound`."""
        request = field.build(pb.ByIDRequest, id=id)
        return message.hardware(await self._caller.unary(self._stub.ByID, request, may_repeat=True))

    async def by_mac(self, mac: str) -> Hardware:
        """Get the machine that has an interface with this MAC address, in upper or lower case; raises `NotFound`."""
        request = field.build(pb.ByMACRequest, mac=mac)
        return message.hardware(await self._caller.unary(self._stub.ByMAC, request, may_repeat=True))

    async def by_ip(self, ip: str) -> Hardware:
        """Get the machine that has an interface with this IP address; raises `NotFound`."""
        request = field.build(pb.ByIPRequest, ip=ip)
        return message.hardware(await self._caller.unary(self._stub.ByIP, request, may_repeat=True))

    def all(self) -> AsyncIterator[Hardware]:
        """Iterate over every machine, oldest first."""
        return self._list(self._stub.All, pb.AllRequest(), message.hardware)

    async def delete(self, id: str) -> Change:  # noqa: A002
        """Delete a machine; raises `NotFound`."""
        request = field.build(pb.DeleteRequest, id=id)
        answer = await self._caller.unary(self._stub.Delete, request, may_repeat=False)
        return Change(answer.revision)

    async def phone_home(
        self,
        *,
        id: str | None = None,  # noqa: A002
        mac: str | None = None,
        ip: str | None = None,
        data: Mapping[str, Any] | str | None = None,
    ) -> Change:
        """Record that a machine has called home: an event whose data has `data` under the key `phone_home`.

        Exactly one of `id`, `mac` and `ip` says which machine; raises `NotFound` for an unknown one.
        """
        machine = field.exactly_one(id=id, mac=mac, ip=ip)
        request = field.build(pb.PhoneHomeRequest, **machine, data=field.to_json_text(data, "data"))
        answer = await self._caller.unary(self._stub.PhoneHome, request, may_repeat=False)
        return Change(answer.revision)

    def informer(self, *, strict: bool = False) -> "informer.Informer[Hardware]":
        """Make a live cache of all machines, with handlers; see `Informer`."""
        return informer.Informer(
            ResourceType.HARDWARE, self.all, lambda: self.watch(now=True), Hardware.from_json, strict=strict
        )
