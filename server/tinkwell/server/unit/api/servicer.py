"""ApplicationService and NamespaceService on the wire."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import (
    application_service_pb2_grpc,
    event_service_pb2,
    namespace_service_pb2_grpc,
)
from tinkwell.api.v1 import namespace_service_pb2 as namespace_pb
from tinkwell.core.event.kinds import ResourceType
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.unit.api import charm_stream, message, task_message
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.namespaces import Namespaces
from tinkwell.server.unit.service.request.service import ApplicationService

_WATCHED = (
    ResourceType.CHARM,
    ResourceType.APPLICATION,
    ResourceType.UNIT,
    ResourceType.UNIT_EVENT,
    ResourceType.RELATION,
    ResourceType.STORAGE,
    ResourceType.TASK,
)


class ApplicationServicer(application_service_pb2_grpc.ApplicationServiceServicer):
    """Translates between protobuf and the application service."""

    def __init__(self, service: ApplicationService, watches: Watches) -> None:
        self._service = service
        self._watches = watches

    async def UploadCharm(self, request_iterator: AsyncIterator[pb.UploadCharmRequest], context: Context) -> pb.Charm:
        async with contextlib.aclosing(charm_stream.parts(request_iterator)) as parts:
            return message.charm(await self._service.charms.upload(parts, actor=auth.actor(context)))

    async def GetCharm(self, request: pb.GetCharmRequest, context: Context) -> pb.Charm:
        return message.charm(await self._service.charms.get(request.digest))

    async def ListCharms(self, request: pb.ListCharmsRequest, context: Context) -> AsyncGenerator[pb.Charm, None]:
        async with contextlib.aclosing(self._service.charms.list_named(request.name)) as found:
            async for each in found:
                yield message.charm(each)

    async def Deploy(self, request: pb.DeployRequest, context: Context) -> pb.Application:
        asked = requests.Deploy(
            id=request.id,
            namespace=request.namespace,
            name=request.name,
            charm=request.charm,
            config=request.config,
            profile=message.to_profile(request.profile),
            units=message.to_units(request),
        )
        return message.application(await self._service.deploying.deploy(asked, actor=auth.actor(context)))

    async def GetApplication(self, request: pb.GetApplicationRequest, context: Context) -> pb.Application:
        return message.application(await self._service.reading.application(request.id, request.namespace, request.name))

    async def ListApplications(
        self, request: pb.ListApplicationsRequest, context: Context
    ) -> AsyncGenerator[pb.Application, None]:
        async with contextlib.aclosing(self._service.reading.list_applications(request.namespace)) as found:
            async for each in found:
                yield message.application(each, with_config=False)

    async def GetUnit(self, request: pb.GetUnitRequest, context: Context) -> pb.Unit:
        return message.unit(await self._service.reading.unit(request.id, request.namespace, request.name))

    async def ListUnits(self, request: pb.ListUnitsRequest, context: Context) -> AsyncGenerator[pb.Unit, None]:
        units = self._service.reading.list_units(
            request.namespace, request.application, with_settled=request.with_settled
        )
        async with contextlib.aclosing(units) as found:
            async for each in found:
                yield message.unit(each)

    async def GetRelation(self, request: pb.GetRelationRequest, context: Context) -> pb.Relation:
        found = await self._service.reading.relation(request.namespace, request.number, with_bags=request.with_bags)
        return message.relation(found)

    async def ListRelations(
        self, request: pb.ListRelationsRequest, context: Context
    ) -> AsyncGenerator[pb.Relation, None]:
        relations = self._service.reading.list_relations(request.namespace, request.application)
        async with contextlib.aclosing(relations) as found:
            async for each in found:
                yield message.relation(each)

    async def ListStorages(self, request: pb.ListStoragesRequest, context: Context) -> AsyncGenerator[pb.Storage, None]:
        storages = self._service.reading.list_storages(request.namespace, request.application)
        async with contextlib.aclosing(storages) as found:
            async for each in found:
                yield message.storage(each)

    async def SetConfig(self, request: pb.SetConfigRequest, context: Context) -> pb.Application:
        changed = await self._service.changing.set_config(
            request.namespace, request.application, request.config, actor=auth.actor(context)
        )
        return message.application(changed)

    async def AddUnits(self, request: pb.AddUnitsRequest, context: Context) -> pb.AddUnitsResponse:
        units = message.to_units(request, ids=request.ids)
        added = await self._service.deploying.add_units(
            request.namespace, request.application, units, actor=auth.actor(context)
        )
        return pb.AddUnitsResponse(units=[message.unit(each) for each in added])

    async def RemoveUnit(self, request: pb.RemoveUnitRequest, context: Context) -> pb.Unit:
        removed = await self._service.removing.remove_unit(
            request.namespace, request.unit, message.to_removal(request), actor=auth.actor(context)
        )
        return message.unit(removed)

    async def Refresh(self, request: pb.RefreshRequest, context: Context) -> pb.Application:
        asked = requests.Refresh(
            namespace=request.namespace,
            application=request.application,
            charm=request.charm,
            config=request.config,
        )
        return message.application(await self._service.changing.refresh(asked, actor=auth.actor(context)))

    async def Remove(self, request: pb.RemoveRequest, context: Context) -> pb.Application:
        removed = await self._service.removing.remove(
            request.namespace, request.application, message.to_removal(request), actor=auth.actor(context)
        )
        return message.application(removed)

    async def Relate(self, request: pb.RelateRequest, context: Context) -> pb.Relation:
        made = await self._service.relating.relate(
            request.namespace, request.first, request.second, actor=auth.actor(context)
        )
        return message.relation(made)

    async def Unrelate(self, request: pb.UnrelateRequest, context: Context) -> pb.Relation:
        ended = await self._service.relating.unrelate(
            request.namespace, request.first, request.second, request.number, actor=auth.actor(context)
        )
        return message.relation(ended)

    async def Resolve(self, request: pb.ResolveRequest, context: Context) -> pb.Unit:
        resolved = await self._service.resolving.resolve(
            request.namespace, request.unit, skip=request.skip, actor=auth.actor(context)
        )
        return message.unit(resolved)

    async def Request(self, request: pb.RequestRequest, context: Context) -> pb.Unit:
        asked = await self._service.resolving.request(
            request.namespace, request.unit, message.to_request(request.request), actor=auth.actor(context)
        )
        return message.unit(asked)

    async def Attach(self, request: pb.AttachRequest, context: Context) -> pb.Storage:
        attached = await self._service.storing.attach(
            request.namespace, request.unit, request.storage, actor=auth.actor(context)
        )
        return message.storage(attached)

    async def Detach(self, request: pb.DetachRequest, context: Context) -> pb.Storage:
        detached = await self._service.storing.detach(request.namespace, request.storage, actor=auth.actor(context))
        return message.storage(detached)

    async def RemoveStorage(self, request: pb.RemoveStorageRequest, context: Context) -> pb.Storage:
        removed = await self._service.storing.remove(request.namespace, request.storage, actor=auth.actor(context))
        return message.storage(removed)

    async def Explain(self, request: pb.ExplainUnitRequest, context: Context) -> pb.ExplainUnitResponse:
        return message.explanation(await self._service.explaining.explain(request.namespace, request.unit))

    async def ListEvents(
        self, request: pb.ListUnitEventsRequest, context: Context
    ) -> AsyncGenerator[pb.UnitEvent, None]:
        events = self._service.reading.list_events(
            request.namespace, request.unit, kinds=request.kinds, count=request.limit
        )
        async with contextlib.aclosing(events) as found:
            async for each in found:
                yield message.event(each)

    async def ListDeferred(self, request: pb.ListDeferredRequest, context: Context) -> AsyncGenerator[pb.Notice, None]:
        for each in await self._service.reading.list_deferred(request.namespace, request.unit):
            yield message.notice(each)

    async def Logs(self, request: pb.UnitLogsRequest, context: Context) -> AsyncGenerator[pb.UnitLogsResponse, None]:
        lines = self._service.logs.watch(request.namespace, request.name, follow=request.follow, newest=request.limit)
        async with contextlib.aclosing(lines) as batches:
            async for batch in batches:
                yield pb.UnitLogsResponse(lines=[message.log_line(line) for line in batch])

    async def RunTask(self, request: pb.RunTaskRequest, context: Context) -> pb.Task:
        return task_message.task(
            await self._service.tasks.run(task_message.to_asked(request), actor=auth.actor(context))
        )

    async def CancelTask(self, request: pb.CancelTaskRequest, context: Context) -> pb.Task:
        return task_message.task(await self._service.tasks.cancel(request.id, actor=auth.actor(context)))

    async def GetTask(self, request: pb.GetTaskRequest, context: Context) -> pb.Task:
        found, log = await self._service.tasks.get(request.id)
        return task_message.task(found, log=log)

    async def ListTasks(self, request: pb.ListTasksRequest, context: Context) -> AsyncGenerator[pb.Task, None]:
        async with contextlib.aclosing(self._service.tasks.list_of(request.namespace, request.name)) as found:
            async for each in found:
                yield task_message.task(each)

    def Watch(  # type: ignore[override]  # writes its responses by itself
        self, request: event_service_pb2.WatchRequest, context: Context
    ) -> Awaitable[None]:
        return self._watches.stream(request, context, resource_types=_WATCHED)


class NamespaceServicer(namespace_service_pb2_grpc.NamespaceServiceServicer):
    """Translates between protobuf and the namespace service."""

    def __init__(self, service: Namespaces, watches: Watches) -> None:
        self._service = service
        self._watches = watches

    async def SetNamespace(self, request: namespace_pb.SetNamespaceRequest, context: Context) -> namespace_pb.Namespace:
        changed = await self._service.set(
            request.name,
            update_status_seconds=(
                request.update_status_seconds if request.HasField("update_status_seconds") else None
            ),
            event_timeout_seconds=(
                request.event_timeout_seconds if request.HasField("event_timeout_seconds") else None
            ),
            is_retrying=request.is_retrying if request.HasField("is_retrying") else None,
            actor=auth.actor(context),
        )
        return message.namespace(changed)

    async def GetNamespace(self, request: namespace_pb.GetNamespaceRequest, context: Context) -> namespace_pb.Namespace:
        return message.namespace(await self._service.get(request.name))

    async def ListNamespaces(
        self, request: namespace_pb.ListNamespacesRequest, context: Context
    ) -> AsyncGenerator[namespace_pb.Namespace, None]:
        async with contextlib.aclosing(self._service.list_all()) as found:
            async for each in found:
                yield message.namespace(each)

    def Watch(  # type: ignore[override]  # writes its responses by itself
        self, request: event_service_pb2.WatchRequest, context: Context
    ) -> Awaitable[None]:
        return self._watches.stream(request, context, resource_types=(ResourceType.NAMESPACE,))
