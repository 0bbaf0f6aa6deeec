"""The NamespaceService of the fake server."""

# ruff: noqa: N802  # RPC methods carry their names

from collections.abc import AsyncIterator
from typing import Any

from tinkwell.api.v1 import event_service_pb2, namespace_service_pb2_grpc
from tinkwell.api.v1 import namespace_service_pb2 as namespace_pb
from tinkwell.client.testing import encode
from tinkwell.client.testing.unit.request import Requests, set_namespace
from tinkwell.client.testing.world import World
from tinkwell.client.unit.model import Namespace
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType


class NamespaceServicer(namespace_service_pb2_grpc.NamespaceServiceServicer):
    """Namespaces in memory."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._requests = Requests(world)

    async def SetNamespace(self, request: namespace_pb.SetNamespaceRequest, context: Any) -> namespace_pb.Namespace:
        changes: dict[str, object] = {}
        for field, least, most in (("update_status_seconds", 10, 3600), ("event_timeout_seconds", 1, 86400)):
            if request.HasField(field):  # type: ignore[arg-type]  # it is one of the two
                changes[field] = value = getattr(request, field)
                if not least <= value <= most:
                    raise errors.InvalidField.of(field, f"is {value}; it must be from {least} to {most}")
        if request.HasField("is_retrying"):
            changes["retrying"] = request.is_retrying
        return _namespace(set_namespace(self._requests, self._world, request.name, changes))

    async def GetNamespace(self, request: namespace_pb.GetNamespaceRequest, context: Any) -> namespace_pb.Namespace:
        return _namespace(self._world.units.namespaces[self._world.units.room(request.name).namespace])

    async def ListNamespaces(
        self, request: namespace_pb.ListNamespacesRequest, context: Any
    ) -> AsyncIterator[namespace_pb.Namespace]:
        for key in sorted(self._world.units.namespaces):
            yield _namespace(self._world.units.namespaces[key])

    async def Watch(
        self, request: event_service_pb2.WatchRequest, context: Any
    ) -> AsyncIterator[event_service_pb2.WatchResponse]:
        async for response in self._world.log.follow(request, [ResourceType.NAMESPACE]):
            yield response


def _namespace(source: Namespace) -> namespace_pb.Namespace:
    target = encode.fill(namespace_pb.Namespace(), source)
    target.is_retrying = source.retrying
    return target
