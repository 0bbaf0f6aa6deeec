"""ReleaseService on the wire."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from typing import Any

from tinkwell.api.v1 import event_service_pb2, release_service_pb2_grpc
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core.event.kinds import ResourceType
from tinkwell.server.database import offload
from tinkwell.server.release.api import chart_stream, document_stream, explanation, message, report
from tinkwell.server.release.service import looking
from tinkwell.server.release.service import request as requests
from tinkwell.server.release.service.chart import request as chart_requests
from tinkwell.server.release.service.operations import ReleaseService
from tinkwell.server.release.service.output import StepLogs
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.rpc.watch.watch import Watches

_WATCHED = (
    ResourceType.CHART,
    ResourceType.RELEASE,
    ResourceType.OPERATION,
    ResourceType.NODE,
    ResourceType.STEP,
    ResourceType.LIFECYCLE,
)


class ReleaseServicer(release_service_pb2_grpc.ReleaseServiceServicer):
    """Translates between protobuf and the release services."""

    def __init__(self, releases: ReleaseService, logs: StepLogs, watches: Watches) -> None:
        self._releases = releases
        self._logs = logs
        self._watches = watches

    async def UploadChart(self, request_iterator: AsyncIterator[pb.UploadChartRequest], context: Context) -> pb.Chart:
        data = await chart_stream.receive(request_iterator)
        return message.chart(await self._releases.charts.upload(data, actor=auth.actor(context)))

    async def GetChart(
        self, request: pb.GetChartRequest, context: Context
    ) -> AsyncGenerator[pb.GetChartResponse, None]:
        found = await self._releases.charts.get(request.digest)
        yield pb.GetChartResponse(chart=message.chart(found))
        if request.with_archive:
            for part in await self._releases.charts.parts(found.digest):
                yield pb.GetChartResponse(data=part)

    async def ListCharts(self, request: pb.ListChartsRequest, context: Context) -> AsyncGenerator[pb.Chart, None]:
        async with contextlib.aclosing(self._releases.charts.list_named(request.name)) as found:
            async for listed in found:
                yield message.chart(listed)

    async def Install(self, request: pb.InstallRequest, context: Context) -> pb.Operation:
        asked = chart_requests.Install(**_of_chart(request))
        return message.operation(await self._releases.chart_beginning.install(asked, actor=auth.actor(context)))

    async def Upgrade(self, request: pb.UpgradeRequest, context: Context) -> pb.Operation:
        asked = chart_requests.Upgrade(
            **_of_chart(request),
            install=request.install,
            reset_values=request.reset_values,
            reuse_values=request.reuse_values,
        )
        return message.operation(await self._releases.chart_beginning.upgrade(asked, actor=auth.actor(context)))

    async def Apply(self, request: pb.ApplyRequest, context: Context) -> pb.Operation:
        asked = requests.Apply(
            operation_id=request.operation_id,
            namespace=request.namespace,
            name=request.name,
            **_of_files(request),
            options=message.to_options(request.options),
            description=request.description,
            reason=request.reason,
        )
        return message.operation(await self._releases.beginning.apply(asked, actor=auth.actor(context)))

    async def Rollback(self, request: pb.RollbackRequest, context: Context) -> pb.Operation:
        asked = requests.Rollback(
            operation_id=request.operation_id,
            namespace=request.namespace,
            name=request.name,
            revision=request.revision,
            options=message.to_options(request.options),
            description=request.description,
            reason=request.reason,
        )
        return message.operation(await self._releases.beginning.rollback(asked, actor=auth.actor(context)))

    async def Uninstall(self, request: pb.UninstallRequest, context: Context) -> pb.Operation:
        asked = _to_request(request)
        return message.operation(await self._releases.beginning.uninstall(asked, actor=auth.actor(context)))

    async def Resume(self, request: pb.ResumeRequest, context: Context) -> pb.Operation:
        asked = _to_request(request)
        return message.operation(await self._releases.beginning.resume(asked, actor=auth.actor(context)))

    async def Test(self, request: pb.TestRequest, context: Context) -> pb.Operation:
        asked = _to_request(request)
        return message.operation(await self._releases.looking.test(asked, actor=auth.actor(context)))

    async def Plan(self, request: pb.PlanRequest, context: Context) -> pb.Operation:
        asked = looking.Plan(
            **_of_chart(request),
            **_of_files(request),
            reset_values=request.reset_values,
            reuse_values=request.reuse_values,
        )
        return message.operation(await self._releases.looking.plan(asked, actor=auth.actor(context)))

    async def ApplyPlan(self, request: pb.ApplyPlanRequest, context: Context) -> pb.Operation:
        asked = looking.ApplyPlan(operation_id=request.operation_id, plan=request.plan, reason=request.reason)
        return message.operation(await self._releases.looking.apply_plan(asked, actor=auth.actor(context)))

    async def Cancel(self, request: pb.CancelRequest, context: Context) -> pb.Operation:
        ended = await self._releases.cancel(
            request.operation_id, now=request.now, reason=request.reason, actor=auth.actor(context)
        )
        return message.operation(ended)

    async def GetRelease(self, request: pb.GetReleaseRequest, context: Context) -> pb.Release:
        found = await self._releases.get(
            release_id=request.id, namespace=request.namespace, name=request.name, actor=auth.actor(context)
        )
        return message.release(found)

    async def ListReleases(self, request: pb.ListReleasesRequest, context: Context) -> AsyncGenerator[pb.Release, None]:
        states = message.release_states(request.states)
        releases = self._releases.listing.stream(request.namespace, states, include_planned=request.include_planned)
        async with contextlib.aclosing(releases) as found:
            async for listed in found:
                yield message.release(listed.release, listed.annotations)

    async def History(self, request: pb.HistoryRequest, context: Context) -> AsyncGenerator[pb.Revision, None]:
        revisions = self._releases.history(request.namespace, request.name, actor=auth.actor(context))
        async with contextlib.aclosing(revisions) as found:
            async for revision in found:
                yield message.revision(revision)

    async def GetRevision(self, request: pb.GetRevisionRequest, context: Context) -> pb.Revision:
        found = await self._releases.get_revision(
            request.namespace,
            request.name,
            request.revision,
            with_all_values=request.with_all_values,
            actor=auth.actor(context),
        )
        return message.revision(found)

    async def GetOperation(self, request: pb.GetOperationRequest, context: Context) -> pb.Operation:
        return message.operation(await self._releases.get_operation(request.id, actor=auth.actor(context)))

    async def ListOperations(
        self, request: pb.ListOperationsRequest, context: Context
    ) -> AsyncGenerator[pb.Operation, None]:
        operations = self._releases.list_operations(request.namespace, request.name, actor=auth.actor(context))
        async with contextlib.aclosing(operations) as found:
            async for operation in found:
                yield message.operation(operation)

    async def ListNodes(self, request: pb.ListNodesRequest, context: Context) -> AsyncGenerator[pb.Node, None]:
        nodes = self._releases.list_nodes(request.operation_id, actor=auth.actor(context))
        async with contextlib.aclosing(nodes) as found:
            async for planned in found:
                yield message.node(planned.node, planned.steps, planned.after)

    async def ListLifecycle(
        self, request: pb.ListLifecycleRequest, context: Context
    ) -> AsyncGenerator[pb.LifecycleRun, None]:
        for run in await self._releases.list_lifecycle(request.operation_id, actor=auth.actor(context)):
            yield message.lifecycle_run(run)

    async def Explain(self, request: pb.ExplainRequest, context: Context) -> pb.ExplainResponse:
        found = await self._releases.explain(
            request.namespace,
            request.name,
            path=request.path,
            operation_id=request.operation_id,
            with_values=request.with_values,
            actor=auth.actor(context),
        )
        return explanation.response(found)

    async def ListResources(
        self, request: pb.ListResourcesRequest, context: Context
    ) -> AsyncGenerator[pb.Resource, None]:
        resources = self._releases.list_resources(request.namespace, request.name, actor=auth.actor(context))
        async with contextlib.aclosing(resources) as found:
            async for resource in found:
                yield message.resource(resource)

    async def WatchLogs(
        self, request: pb.WatchStepLogsRequest, context: Context
    ) -> AsyncGenerator[pb.WatchStepLogsResponse, None]:
        watch = self._logs.watch(
            request.operation_id, path=request.path, follow=request.follow, actor=auth.actor(context)
        )
        async with contextlib.aclosing(watch) as batches:
            async for batch in batches:
                yield pb.WatchStepLogsResponse(lines=[message.log_line(line) for line in batch])

    def Watch(  # type: ignore[override]  # writes its responses by itself
        self, request: event_service_pb2.WatchRequest, context: Context
    ) -> Awaitable[None]:
        return self._watches.stream(request, context, resource_types=_WATCHED)

    async def ListUnfinished(
        self, request: pb.ListUnfinishedOperationsRequest, context: Context
    ) -> AsyncGenerator[pb.UnfinishedOperation, None]:
        unfinished = self._releases.list_unfinished(request.namespaces, actor=auth.actor(context))
        async with contextlib.aclosing(unfinished) as found:
            async for operation in found:
                yield message.unfinished(operation)

    async def AcquireOperation(
        self, request: pb.AcquireOperationRequest, context: Context
    ) -> pb.AcquireOperationResponse:
        acquired = await self._releases.carrying.acquire(
            request.operation_id, request.lease_token, actor=auth.actor(context)
        )
        return pb.AcquireOperationResponse(
            operation=message.operation(acquired.operation),
            is_first=acquired.is_first,
            is_same_engine=acquired.is_same_engine,
        )

    async def GetWork(self, request: pb.GetWorkRequest, context: Context) -> AsyncGenerator[pb.GetWorkResponse, None]:
        work = self._releases.work.read(request.operation_id, request.lease_token, revision=request.revision)
        async with contextlib.aclosing(work) as parts:
            async for part in parts:
                yield document_stream.to_part(part)

    async def SubmitPlan(
        self, request_iterator: AsyncIterator[pb.SubmitPlanRequest], context: Context
    ) -> pb.SubmitPlanResponse:
        new = await document_stream.receive_plan(request_iterator)
        submitted = await self._releases.carrying.submit(new, actor=auth.actor(context))
        nodes = await offload.each(message.node, submitted.nodes)
        return pb.SubmitPlanResponse(revision=submitted.revision, nodes=nodes)

    async def ReportOperation(self, request: pb.ReportOperationRequest, context: Context) -> pb.ReportOperationResponse:
        operation = await self._releases.carrying.report(
            request.operation_id,
            request.lease_token,
            report.read_all(request.operation_id, request.reports),
            actor=auth.actor(context),
        )
        return pb.ReportOperationResponse(operation=message.operation(operation))

    async def AppendLogs(self, request: pb.AppendStepLogsRequest, context: Context) -> pb.AppendStepLogsResponse:
        self._logs.check_count(len(request.lines))
        lines = message.new_lines(request.lines)
        await self._logs.append(request.operation_id, lines, actor=auth.actor(context))
        return pb.AppendStepLogsResponse(accepted=len(lines))


def _of_chart(request: pb.InstallRequest | pb.UpgradeRequest | pb.PlanRequest) -> dict[str, Any]:
    return {
        "operation_id": request.operation_id,
        "namespace": request.namespace,
        "name": request.name,
        "chart": request.chart,
        "values": request.values,
        "secret_values": tuple(request.secret_values),
        "options": message.to_options(request.options),
        "description": request.description,
        "reason": request.reason,
    }


def _of_files(request: pb.ApplyRequest | pb.PlanRequest) -> dict[str, Any]:
    return {
        "files": [(file.name, file.text) for file in request.files],
        "variables": request.variables,
        "variable_files": [(file.name, file.variables) for file in request.variable_files],
        "secret_variables": tuple(request.secret_variables),
    }


def _to_request(request: pb.UninstallRequest | pb.ResumeRequest | pb.TestRequest) -> requests.Request:
    return requests.Request(
        operation_id=request.operation_id,
        namespace=request.namespace,
        name=request.name,
        options=message.to_options(request.options),
        reason=request.reason,
    )
