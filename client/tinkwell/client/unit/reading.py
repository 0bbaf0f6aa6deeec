"""The client's calls that read applications, units, relations, storages, events, logs and explanations."""

from collections.abc import AsyncIterator, Iterable

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import application_service_pb2_grpc
from tinkwell.client import call
from tinkwell.client.unit import explanation, message
from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.unit.explanation import UnitExplanation
from tinkwell.client.unit.model import Application, Relation, Storage, Unit, UnitLogLine
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.client.value import field
from tinkwell.client.watch import service
from tinkwell.core.unit.kinds import EventKind


class ReadingClient(service.Service):
    """Gets and lists applications and their parts. An empty namespace means "default"."""

    def __init__(self, caller: call.Caller) -> None:
        self._stub = application_service_pb2_grpc.ApplicationServiceStub(caller.channel)
        super().__init__(caller, self._stub.Watch)

    async def get(
        self,
        name: str | None = None,
        *,
        namespace: str = "",
        id: str | None = None,  # noqa: A002
    ) -> Application:
        """Get an application with its configuration, by its name in its namespace or by `id`; raises `NotFound`."""
        request = field.build(pb.GetApplicationRequest, namespace=namespace, **field.exactly_one(name=name, id=id))
        return message.application(await self._caller.unary(self._stub.GetApplication, request, may_repeat=True))

    def list(self, namespace: str = "") -> AsyncIterator[Application]:
        """Iterate over applications without configurations, by namespace and name; an empty namespace means all."""
        request = field.build(pb.ListApplicationsRequest, namespace=namespace)
        return self._list(self._stub.ListApplications, request, message.application)

    async def unit(
        self,
        name: str | None = None,
        *,
        namespace: str = "",
        id: str | None = None,  # noqa: A002
    ) -> Unit:
        """Get a unit, by its name in its namespace, such as web/0, or by `id`; raises `NotFound`."""
        request = field.build(pb.GetUnitRequest, namespace=namespace, **field.exactly_one(name=name, id=id))
        return message.unit(await self._caller.unary(self._stub.GetUnit, request, may_repeat=True))

    def units(self, application: str = "", *, namespace: str = "", with_settled: bool = False) -> AsyncIterator[Unit]:
        """Iterate over units by namespace, application and number, of one application or of all.

        With `with_settled` the server checks for each whether an event is due.
        """
        request = field.build(
            pb.ListUnitsRequest, namespace=namespace, application=application, with_settled=with_settled
        )
        return self._list(self._stub.ListUnits, request, message.unit)

    async def relation(self, number: int, *, namespace: str = "", with_bags: bool = False) -> Relation:
        """Get a relation by its number, optionally with its bags; raises `NotFound`."""
        request = field.build(pb.GetRelationRequest, namespace=namespace, number=number, with_bags=with_bags)
        return message.relation(await self._caller.unary(self._stub.GetRelation, request, may_repeat=True))

    def relations(self, application: str = "", *, namespace: str = "") -> AsyncIterator[Relation]:
        """Iterate over relations without their bags by namespace and number, of one application or of all."""
        request = field.build(pb.ListRelationsRequest, namespace=namespace, application=application)
        return self._list(self._stub.ListRelations, request, message.relation)

    def storages(self, application: str = "", *, namespace: str = "") -> AsyncIterator[Storage]:
        """Iterate over instances of storage by namespace and name, of one application or of all."""
        request = field.build(pb.ListStoragesRequest, namespace=namespace, application=application)
        return self._list(self._stub.ListStorages, request, message.storage)

    async def explain(self, unit: str, *, namespace: str = "") -> UnitExplanation:
        """Explain what a unit does, waits for or failed at, what caused that, and what the user may do.

        print((await client.applications.explain("web/1")).sentence)
        """
        request = field.build(pb.ExplainUnitRequest, namespace=namespace, unit=unit)
        return explanation.explanation(await self._caller.unary(self._stub.Explain, request, may_repeat=True))

    def events(
        self, unit: str, *, namespace: str = "", kinds: Iterable[EventKind | str] = (), limit: int = 0
    ) -> AsyncIterator[UnitEvent]:
        """Iterate over the events of a unit, newest first, at most `limit`, 0 for all that are kept.

        `kinds` filters by kinds such as relation-joined, or by their names in the JSON documents.
        """
        request = field.build(pb.ListUnitEventsRequest, namespace=namespace, unit=unit, kinds=tuple(kinds), limit=limit)
        return self._list(self._stub.ListEvents, request, message.event)

    def deferred(self, unit: str, *, namespace: str = "") -> AsyncIterator[DeferredNotice]:
        """Iterate over the deferred events of a unit, in the order in which they are tried again."""
        request = field.build(pb.ListDeferredRequest, namespace=namespace, unit=unit)
        return self._list(self._stub.ListDeferred, request, message.notice)

    async def logs(
        self, name: str, *, namespace: str = "", follow: bool = False, limit: int = 0
    ) -> AsyncIterator[UnitLogLine]:
        """Iterate over the log of a unit, or of all units of an application; with `follow`, for ever.

        `limit` is the number of newest lines to begin with, 0 for all that are kept.
        """
        request = field.build(pb.UnitLogsRequest, namespace=namespace, name=name, follow=follow, limit=limit)
        # Units may be silent for long, so no time limit applies. The connection's keepalive notices a dead server.
        silence = None if follow else self._caller.timeout_seconds
        stream = self._caller.stream(self._stub.Logs, request, silence_seconds=silence)
        try:
            while (answer := await stream.read()) is not None:
                for line in answer.lines:
                    yield message.log_line(line)
        finally:
            stream.cancel()
