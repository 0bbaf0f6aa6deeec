"""WorkflowService on the wire."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable

from tinkwell.api.v1 import event_service_pb2, workflow_service_pb2_grpc
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.server.rpc import auth
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.workflow.api import message
from tinkwell.server.workflow.service.data import WorkflowDataService
from tinkwell.server.workflow.service.operations import WorkflowService
from tinkwell.server.workflow.service.output import LogService
from tinkwell.server.workflow.service.report import ActionReport

# The largest number of reports in one call.
MAX_REPORTS = 100


class WorkflowServicer(workflow_service_pb2_grpc.WorkflowServiceServicer):
    """Translates between protobuf and the workflow services."""

    def __init__(
        self, workflows: WorkflowService, data: WorkflowDataService, logs: LogService, watches: Watches
    ) -> None:
        self._workflows = workflows
        self._data = data
        self._logs = logs
        self._watches = watches

    async def CreateWorkflow(self, request: pb.CreateWorkflowRequest, context: Context) -> pb.CreateWorkflowResponse:
        created = await self._workflows.create(
            workflow_id=request.id,
            template_name=request.template,
            devices_text=request.hardware,
            with_units=request.with_units,
            actor=auth.actor(context),
        )
        return pb.CreateWorkflowResponse(id=created.id, revision=created.revision)

    async def GetWorkflow(self, request: pb.GetWorkflowRequest, context: Context) -> pb.Workflow:
        return message.workflow(await self._workflows.get(request.id))

    async def ListWorkflows(
        self, request: pb.ListWorkflowsRequest, context: Context
    ) -> AsyncGenerator[pb.Workflow, None]:
        async with contextlib.aclosing(self._workflows.list_in(message.states(request.states))) as found:
            async for listed in found:
                yield message.workflow(listed)

    async def ListUnfinishedWorkflows(
        self, request: pb.ListUnfinishedWorkflowsRequest, context: Context
    ) -> AsyncGenerator[pb.ListUnfinishedWorkflowsResponse, None]:
        async with contextlib.aclosing(self._workflows.list_unfinished()) as pages:
            async for page in pages:
                yield pb.ListUnfinishedWorkflowsResponse(running_ids=page.running_ids, pending_ids=page.pending_ids)

    async def DeleteWorkflow(self, request: pb.DeleteWorkflowRequest, context: Context) -> pb.DeleteWorkflowResponse:
        revision = await self._workflows.delete(request.id, actor=auth.actor(context))
        return pb.DeleteWorkflowResponse(revision=revision)

    async def CancelWorkflow(self, request: pb.CancelWorkflowRequest, context: Context) -> pb.CancelWorkflowResponse:
        revision = await self._workflows.cancel(request.id, request.reason, actor=auth.actor(context))
        return pb.CancelWorkflowResponse(revision=revision)

    async def ExpireWorkflow(self, request: pb.ExpireWorkflowRequest, context: Context) -> pb.ExpireWorkflowResponse:
        expired = await self._workflows.expire(
            request.id, deadlines_only=request.deadlines_only, actor=auth.actor(context)
        )
        return pb.ExpireWorkflowResponse(revision=expired.revision, remaining_seconds=expired.remaining_seconds)

    async def PruneWorkflows(
        self, request: pb.PruneWorkflowsRequest, context: Context
    ) -> AsyncGenerator[pb.PruneWorkflowsResponse, None]:
        age_seconds = request.older_than_seconds if request.HasField("older_than_seconds") else None
        pieces = self._workflows.prune(age_seconds, is_wanted=request.apply, actor=auth.actor(context))
        async with contextlib.aclosing(pieces):
            async for pruned in pieces:
                yield message.pruned(pruned)

    async def ShowWorkflowEvents(
        self, request: pb.ShowWorkflowEventsRequest, context: Context
    ) -> AsyncGenerator[pb.WorkflowActionStatus, None]:
        async with contextlib.aclosing(self._workflows.list_reports(request.id)) as entries:
            async for entry in entries:
                yield message.action_status(entry)

    async def GetWorkflowContext(self, request: pb.GetWorkflowContextRequest, context: Context) -> pb.WorkflowContext:
        return message.context(await self._workflows.progress(request.id, with_actions=request.with_actions))

    async def GetWorkflowContextList(
        self, request: pb.WorkflowContextRequest, context: Context
    ) -> pb.WorkflowContextList:
        found = await self._workflows.progress_of_worker(request.worker_id)
        return pb.WorkflowContextList(workflow_contexts=[message.context(progress) for progress in found])

    async def GetWorkflowContexts(
        self, request: pb.WorkflowContextRequest, context: Context
    ) -> AsyncGenerator[pb.WorkflowContext, None]:
        async with contextlib.aclosing(self._workflows.list_due(request.worker_id)) as found:
            async for progress in found:
                yield message.context(progress)

    async def GetWorkflowActions(
        self, request: pb.GetWorkflowActionsRequest, context: Context
    ) -> pb.WorkflowActionList:
        found = await self._workflows.list_actions(request.workflow_id)
        return pb.WorkflowActionList(actions=[message.action(action) for action in found])

    async def ReportActionStatus(
        self, request: pb.ReportActionStatusRequest, context: Context
    ) -> pb.ReportActionStatusResponse:
        return message.reported(await self._workflows.report(message.report(request), actor=auth.actor(context)))

    async def ReportActionStatuses(
        self, request: pb.ReportActionStatusesRequest, context: Context
    ) -> pb.ReportActionStatusesResponse:
        if len(request.reports) > MAX_REPORTS:
            raise errors.InvalidField.of("reports", f"there are {len(request.reports)}; at most {MAX_REPORTS} may be")
        reports = [_read(report) for report in request.reports]
        outcomes = await self._workflows.report_together(reports, actor=auth.actor(context))
        return pb.ReportActionStatusesResponse(outcomes=[message.outcome(outcome) for outcome in outcomes])

    async def GetWorkflowData(self, request: pb.GetWorkflowDataRequest, context: Context) -> pb.GetWorkflowDataResponse:
        found = await self._data.get_data(request.workflow_id, request.version)
        return pb.GetWorkflowDataResponse(data=found.text.encode(), version=found.version)

    async def GetWorkflowMetadata(
        self, request: pb.GetWorkflowDataRequest, context: Context
    ) -> pb.GetWorkflowDataResponse:
        found = await self._data.get_metadata(request.workflow_id, request.version)
        return pb.GetWorkflowDataResponse(data=found.text.encode(), version=found.version)

    async def GetWorkflowDataVersion(
        self, request: pb.GetWorkflowDataRequest, context: Context
    ) -> pb.GetWorkflowDataResponse:
        return pb.GetWorkflowDataResponse(version=await self._data.get_version(request.workflow_id))

    async def UpdateWorkflowData(
        self, request: pb.UpdateWorkflowDataRequest, context: Context
    ) -> pb.UpdateWorkflowDataResponse:
        version = await self._data.update(
            request.workflow_id, metadata=request.metadata, data=request.data, actor=auth.actor(context)
        )
        return pb.UpdateWorkflowDataResponse(version=version)

    async def AppendLogs(
        self, request_iterator: AsyncIterator[pb.AppendLogsRequest], context: Context
    ) -> pb.AppendLogsResponse:
        accepted = 0
        async for request in request_iterator:
            lines = message.new_lines(request.lines)
            await self._logs.append(request.workflow_id, lines, actor=auth.actor(context))
            accepted += len(lines)
        return pb.AppendLogsResponse(accepted=accepted)

    async def WatchLogs(
        self, request: pb.WatchLogsRequest, context: Context
    ) -> AsyncGenerator[pb.WatchLogsResponse, None]:
        async with contextlib.aclosing(self._logs.watch(request.workflow_id, follow=request.follow)) as batches:
            async for batch in batches:
                yield pb.WatchLogsResponse(lines=[message.log_line(line) for line in batch])

    def Watch(  # type: ignore[override]  # writes its responses by itself
        self, request: event_service_pb2.WatchRequest, context: Context
    ) -> Awaitable[None]:
        return self._watches.stream(request, context, resource_types=(ResourceType.WORKFLOW, ResourceType.ACTION))


def _read(request: pb.ReportActionStatusRequest) -> ActionReport | errors.InvalidField:
    try:
        return message.report(request)
    except errors.InvalidField as error:
        return error
