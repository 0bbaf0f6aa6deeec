"""The client of namespaces and their settings."""

from collections.abc import AsyncIterator

from tinkwell.api.v1 import namespace_service_pb2 as pb
from tinkwell.api.v1 import namespace_service_pb2_grpc
from tinkwell.client import call
from tinkwell.client.unit import message
from tinkwell.client.unit.model import Namespace
from tinkwell.client.value import field
from tinkwell.client.watch import service


class NamespaceClient(service.Service):
    """Gets, lists, sets and watches namespaces. An empty name means "default"."""

    def __init__(self, caller: call.Caller) -> None:
        self._stub = namespace_service_pb2_grpc.NamespaceServiceStub(caller.channel)
        super().__init__(caller, self._stub.Watch)

    async def get(self, name: str = "") -> Namespace:
        """Get a namespace; raises `NotFound`."""
        request = field.build(pb.GetNamespaceRequest, name=name)
        return message.namespace(await self._caller.unary(self._stub.GetNamespace, request, may_repeat=True))

    def list(self) -> AsyncIterator[Namespace]:
        """Iterate over namespaces by name."""
        return self._list(self._stub.ListNamespaces, pb.ListNamespacesRequest(), message.namespace)

    async def set(
        self,
        name: str = "",
        *,
        update_status_seconds: int | None = None,
        event_timeout_seconds: int | None = None,
        retrying: bool | None = None,
    ) -> Namespace:
        """Change settings of a namespace, which is created if needed; None keeps a setting.

        await client.namespaces.set("staging", update_status_seconds=60)
        """
        request = field.build(
            pb.SetNamespaceRequest,
            name=name,
            update_status_seconds=update_status_seconds,
            event_timeout_seconds=event_timeout_seconds,
            is_retrying=retrying,
        )
        return message.namespace(await self._caller.unary(self._stub.SetNamespace, request, may_repeat=True))
