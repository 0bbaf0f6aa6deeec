"""The ApplicationService of the fake server."""

# ruff: noqa: N802  # RPC methods carry their names

import dataclasses
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import (
    application_service_pb2_grpc,
    event_service_pb2,
)
from tinkwell.client.testing import encode
from tinkwell.client.testing.unit import answer, explanation, task
from tinkwell.client.testing.unit.book import DEFAULT_NAMESPACE, Room, UnitBook
from tinkwell.client.testing.unit.delivery import Delivery
from tinkwell.client.testing.unit.request import Requests
from tinkwell.client.testing.world import World
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import ALIASES, EventKind
from tinkwell.core.unit.world import Unit as WorldUnit

_TYPES = (
    ResourceType.CHARM,
    ResourceType.APPLICATION,
    ResourceType.UNIT,
    ResourceType.UNIT_EVENT,
    ResourceType.RELATION,
    ResourceType.STORAGE,
    ResourceType.TASK,
)

T = TypeVar("T")


class ApplicationServicer(application_service_pb2_grpc.ApplicationServiceServicer):
    """Applications in memory."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._book: UnitBook = world.units
        self._requests = Requests(world)
        self._delivery = Delivery(world)
        self._tasks = task.Tasks(self._book)

    async def UploadCharm(self, request_iterator: AsyncIterator[pb.UploadCharmRequest], context: Any) -> pb.Charm:
        data = b"".join([request.data async for request in request_iterator])
        return answer.charm(self._requests.upload(data))

    async def GetCharm(self, request: pb.GetCharmRequest, context: Any) -> pb.Charm:
        return answer.charm(self._book.charm(request.digest).charm)

    async def ListCharms(self, request: pb.ListCharmsRequest, context: Any) -> AsyncIterator[pb.Charm]:
        newest_first = [each.charm for each in self._book.charms.values()][::-1]
        for charm in sorted(newest_first, key=lambda found: found.name):
            if request.name in ("", charm.name):
                yield answer.charm(charm)

    async def Deploy(self, request: pb.DeployRequest, context: Any) -> pb.Application:
        room, made = self._requests.deploy(request)
        self._delivery.place()
        return self._application(room, made)

    async def GetApplication(self, request: pb.GetApplicationRequest, context: Any) -> pb.Application:
        for room in self._book.all_rooms() if request.id else ():
            for found in room.world.applications.values():
                if found.id == request.id:
                    return self._application(room, found.name)
        if request.id:
            raise errors.NotFound(ResourceType.APPLICATION, request.id)
        return self._application(self._room(request.namespace, request.name), request.name)

    async def ListApplications(
        self, request: pb.ListApplicationsRequest, context: Any
    ) -> AsyncIterator[pb.Application]:
        for room in self._book.all_rooms(request.namespace):
            for key in sorted(room.world.applications):
                # An application may be removed while the ones before it are sent.
                if (found := room.world.applications.get(key)) is not None:
                    yield answer.application(room, found, with_config=False)

    async def GetUnit(self, request: pb.GetUnitRequest, context: Any) -> pb.Unit:
        if request.id:
            found = self._book.find(lambda unit: unit.id == request.id)
            if found is None:
                raise errors.NotFound(ResourceType.UNIT, request.id)
            return self._unit(*found)
        room = self._book.room(request.namespace)
        return self._unit(room, room.unit(request.name))

    async def ListUnits(self, request: pb.ListUnitsRequest, context: Any) -> AsyncIterator[pb.Unit]:
        for room in self._chosen(request):
            names = (unit.name for unit in room.world.units.values() if unit.life != "DEAD")
            for key in sorted(names, key=name.order):
                is_wanted = request.application in ("", name.application_of(key))
                if is_wanted and key in room.world.units:
                    yield self._unit(room, room.world.units[key], with_settled=request.with_settled)

    async def GetRelation(self, request: pb.GetRelationRequest, context: Any) -> pb.Relation:
        room = self._book.room(request.namespace)
        if request.number not in room.world.relations:
            raise errors.NotFound(ResourceType.RELATION, str(request.number))
        return answer.relation(room, room.world.relations[request.number], with_bags=request.with_bags)

    async def ListRelations(self, request: pb.ListRelationsRequest, context: Any) -> AsyncIterator[pb.Relation]:
        for room in self._chosen(request):
            for number in sorted(room.world.relations):
                found = room.world.relations.get(number)
                if found is None:
                    continue
                if not request.application or request.application in found.ends:
                    yield answer.relation(room, found)

    async def ListStorages(self, request: pb.ListStoragesRequest, context: Any) -> AsyncIterator[pb.Storage]:
        for room in self._chosen(request):
            for key in sorted(room.world.storages, key=name.order):
                found = room.world.storages.get(key)
                if found is None:
                    continue
                if request.application in ("", found.application):
                    yield answer.storage(room, found)

    async def SetConfig(self, request: pb.SetConfigRequest, context: Any) -> pb.Application:
        return self._application(*self._requests.set_config(request))

    async def AddUnits(self, request: pb.AddUnitsRequest, context: Any) -> pb.AddUnitsResponse:
        room, added = self._requests.add_units(request)
        self._delivery.place()
        return pb.AddUnitsResponse(units=[self._unit(room, room.world.units[each]) for each in added])

    async def RemoveUnit(self, request: pb.RemoveUnitRequest, context: Any) -> pb.Unit:
        return self._ended(lambda: self._requests.remove_unit(request))

    async def Refresh(self, request: pb.RefreshRequest, context: Any) -> pb.Application:
        return self._application(*self._requests.refresh(request))

    async def Remove(self, request: pb.RemoveRequest, context: Any) -> pb.Application:
        room = self._room(request.namespace, request.application)
        found = room.world.applications[request.application]
        self._requests.remove(request)
        told = answer.application(room, found, with_config=True)
        room.tell()
        return told

    async def Relate(self, request: pb.RelateRequest, context: Any) -> pb.Relation:
        return answer.relation(*self._requests.relate(request))

    async def Unrelate(self, request: pb.UnrelateRequest, context: Any) -> pb.Relation:
        return answer.relation(*self._requests.unrelate(request))

    async def Resolve(self, request: pb.ResolveRequest, context: Any) -> pb.Unit:
        return self._named(*self._requests.resolve(request))

    async def Request(self, request: pb.RequestRequest, context: Any) -> pb.Unit:
        return self._named(*self._requests.request(request))

    async def Attach(self, request: pb.AttachRequest, context: Any) -> pb.Storage:
        room, key = self._requests.attach(request)
        return answer.storage(room, room.world.storages[key])

    async def Detach(self, request: pb.DetachRequest, context: Any) -> pb.Storage:
        room = self._book.room(request.namespace)
        if request.storage not in room.world.storages:
            raise errors.NotFound(ResourceType.STORAGE, request.storage)
        found = room.world.storages[request.storage]
        former = dataclasses.replace(found)
        self._requests.detach(request)
        return answer.storage(room, room.world.storages.get(request.storage, former))

    async def RemoveStorage(self, request: pb.RemoveStorageRequest, context: Any) -> pb.Storage:
        room = self._book.room(request.namespace)
        if request.storage not in room.world.storages:
            raise errors.NotFound(ResourceType.STORAGE, request.storage)
        told = answer.storage(room, room.world.storages[request.storage])
        self._requests.remove_storage(request)
        return told

    async def Explain(self, request: pb.ExplainUnitRequest, context: Any) -> pb.ExplainUnitResponse:
        room = self._book.room(request.namespace)
        found = room.unit(request.unit)
        return explanation.explain(room, found, self._unit(room, found, with_settled=True))

    async def ListEvents(self, request: pb.ListUnitEventsRequest, context: Any) -> AsyncIterator[pb.UnitEvent]:
        room = self._book.room(request.namespace)
        found = room.unit(request.unit)
        kinds = _kinds(request.kinds)
        events = [*room.events.get(found.name, {}).values()][::-1]
        wanted = [each for each in events if not kinds or each.event.kind in kinds]
        for each in wanted[: request.limit or None]:
            yield answer.event(room, each)

    async def ListDeferred(self, request: pb.ListDeferredRequest, context: Any) -> AsyncIterator[pb.Notice]:
        room = self._book.room(request.namespace)
        for each in answer.notices(room, room.unit(request.unit)):
            yield each

    async def Logs(self, request: pb.UnitLogsRequest, context: Any) -> AsyncIterator[pb.UnitLogsResponse]:
        room = self._book.room(request.namespace)
        if request.name not in room.world.applications:
            room.unit(request.name)
        told: int | None = None
        while True:
            changed = self._world.log.changed
            wanted = [each for each in room.lines if request.name in (each.unit, name.application_of(each.unit))]
            begin = told if told is not None else max(len(wanted) - request.limit, 0) if request.limit else 0
            if lines := wanted[begin:]:
                yield pb.UnitLogsResponse(lines=[encode.fill(pb.UnitLogLine(), each) for each in lines])
            told = len(wanted)
            if not request.follow:
                return
            await changed.wait()

    async def RunTask(self, request: pb.RunTaskRequest, context: Any) -> pb.Task:
        return task.message(*self._tasks.run(request))

    async def CancelTask(self, request: pb.CancelTaskRequest, context: Any) -> pb.Task:
        return task.message(*self._tasks.cancel(request.id))

    async def GetTask(self, request: pb.GetTaskRequest, context: Any) -> pb.Task:
        return task.message(*self._tasks.find(request.id), with_log=True)

    async def ListTasks(self, request: pb.ListTasksRequest, context: Any) -> AsyncIterator[pb.Task]:
        for room, found in self._tasks.of(request):
            yield task.message(room, found)

    async def Watch(
        self, request: event_service_pb2.WatchRequest, context: Any
    ) -> AsyncIterator[event_service_pb2.WatchResponse]:
        async for response in self._world.log.follow(request, _TYPES):
            yield response

    def _room(self, namespace: str, application: str) -> Room:
        found = self._book.rooms.get(namespace or DEFAULT_NAMESPACE)
        if found is None or application not in found.world.applications:
            raise errors.NotFound(ResourceType.APPLICATION, application)
        return found

    def _chosen(self, request: Any) -> Iterable[Room]:
        """Return the namespaces to list: the named one, else "default" if an application is named, else all."""
        return self._book.all_rooms(request.namespace or (DEFAULT_NAMESPACE if request.application else ""))

    def _application(self, room: Room, wanted: str) -> pb.Application:
        return answer.application(room, room.world.applications[wanted], with_config=True)

    def _unit(self, room: Room, unit: WorldUnit, *, with_settled: bool = True) -> pb.Unit:
        has_agent = self._delivery.has_agent(room, unit)
        return answer.unit(room, unit, has_agent=has_agent, with_settled=with_settled)

    def _named(self, room: Room, wanted: str) -> pb.Unit:
        return self._unit(room, room.unit(wanted))

    def _ended(self, end: Callable[[], tuple[Room, WorldUnit]]) -> pb.Unit:
        room, unit = end()
        told = answer.unit(room, unit, has_agent=False, with_settled=False)
        room.tell()
        return told


def _kinds(names: Iterable[str]) -> set[EventKind]:
    found = set()
    for index, each in enumerate(names):
        try:
            found.add(ALIASES.get(each) or EventKind(each))
        except ValueError:
            choices = ", ".join(EventKind)
            raise errors.InvalidField.of(f"kinds[{index}]", f"{each!r} is none of {choices}") from None
    return found
