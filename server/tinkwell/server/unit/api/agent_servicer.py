"""UnitService on the wire."""

import contextlib
from collections.abc import AsyncGenerator

from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2_grpc
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.unit.api import agent_message as message
from tinkwell.server.unit.api import task_message
from tinkwell.server.unit.service.agent.service import AgentService


class UnitServicer(unit_service_pb2_grpc.UnitServiceServicer):
    """Translates between protobuf and the agent service."""

    def __init__(self, service: AgentService) -> None:
        self._service = service

    async def WatchUnits(
        self, request: pb.WatchUnitsRequest, context: Context
    ) -> AsyncGenerator[pb.WatchUnitsResponse, None]:
        watched = self._service.serving.watch(message.offer(request), request.lease_token, actor=auth.actor(context))
        async with contextlib.aclosing(watched) as batches:
            async for unit_ids, is_created in batches:
                yield pb.WatchUnitsResponse(unit_ids=unit_ids, created=is_created)

    async def NextEvent(self, request: pb.NextEventRequest, context: Context) -> pb.NextEventResponse:
        found = await self._service.granting.next_event(request.unit_id, request.lease_token, actor=auth.actor(context))
        return message.following(found)

    async def CommitEvent(self, request: pb.CommitEventRequest, context: Context) -> pb.CommitEventResponse:
        if request.HasField("task"):
            ended = await self._service.tasks.commit(
                request.event_id,
                request.attempt,
                task_message.to_outcome(request.task),
                message.effects(request.effects),
                lease_token=request.lease_token,
                is_last=request.is_last,
                actor=auth.actor(context),
            )
            return pb.CommitEventResponse(next=message.following(ended))
        found = await self._service.committing.commit(
            request.event_id,
            request.attempt,
            message.effects(request.effects),
            lease_token=request.lease_token,
            is_last=request.is_last,
            actor=auth.actor(context),
        )
        return pb.CommitEventResponse(next=message.following(found))

    async def FailEvent(self, request: pb.FailEventRequest, context: Context) -> pb.FailEventResponse:
        found = await self._service.committing.fail(
            request.event_id,
            request.attempt,
            message=request.message,
            is_lost=request.is_lost,
            is_handed_back=request.is_handed_back,
            lease_token=request.lease_token,
            actor=auth.actor(context),
        )
        return pb.FailEventResponse(next=message.following(found))

    async def ReadBag(self, request: pb.ReadBagRequest, context: Context) -> pb.ReadBagResponse:
        found = await self._service.telling.read_bag(
            request.event_id, relation=request.relation, owner=request.owner, lease_token=request.lease_token
        )
        return pb.ReadBagResponse(bag=message.bag(found))

    async def ReadSecret(self, request: pb.ReadSecretRequest, context: Context) -> pb.ReadSecretResponse:
        name, revision, content = await self._service.secrets.read(
            request.event_id,
            name=request.id,
            label=request.label,
            revision=request.revision,
            lease_token=request.lease_token,
        )
        return pb.ReadSecretResponse(id=name, revision=revision, content=content)

    async def AppendTaskLog(self, request: pb.AppendTaskLogRequest, context: Context) -> pb.AppendTaskLogResponse:
        await self._service.tasks.append(
            request.task_id,
            request.number,
            request.lines,
            lease_token=request.lease_token,
            actor=auth.actor(context),
        )
        return pb.AppendTaskLogResponse()

    async def SetStatus(self, request: pb.SetStatusRequest, context: Context) -> pb.SetStatusResponse:
        has_application = request.HasField("application_status")
        await self._service.telling.set_status(
            request.unit_id,
            status=message.status(request.status) if request.HasField("status") else None,
            application_status=message.status(request.application_status) if has_application else None,
            workload_version=request.workload_version if request.HasField("workload_version") else None,
            lease_token=request.lease_token,
            actor=auth.actor(context),
        )
        return pb.SetStatusResponse()

    async def AppendLogs(self, request: pb.AppendUnitLogsRequest, context: Context) -> pb.AppendUnitLogsResponse:
        self._service.telling.check_count(len(request.lines))
        accepted = await self._service.telling.append(
            request.unit_id,
            message.lines(request.lines),
            lease_token=request.lease_token,
            actor=auth.actor(context),
        )
        return pb.AppendUnitLogsResponse(accepted=accepted)

    async def FetchCharm(
        self, request: pb.FetchCharmRequest, context: Context
    ) -> AsyncGenerator[pb.FetchCharmResponse, None]:
        parts = self._service.telling.fetch_charm(request.digest, lease_token=request.lease_token)
        async with contextlib.aclosing(parts):
            async for data in parts:
                yield pb.FetchCharmResponse(data=data)
