"""Tinkerbell's WorkflowService: for its command line, for its worker, and for what boots machines."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Awaitable

from tinkwell.api.tink import workflow_pb2 as pb
from tinkwell.api.tink import workflow_pb2_grpc
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow.record import Progress
from tinkwell.server.rpc import auth, interceptor
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.tink import workflow_message as message
from tinkwell.server.tink.dispatch import Dispatch
from tinkwell.server.workflow.service.data import WorkflowDataService
from tinkwell.server.workflow.service.operations import WorkflowService
from tinkwell.server.workflow.service.report import ActionReport


class WorkflowServicer(workflow_pb2_grpc.WorkflowServiceServicer):
    """Translates between protobuf and the services."""

    def __init__(self, workflows: WorkflowService, data: WorkflowDataService, dispatch: Dispatch) -> None:
        self._workflows = workflows
        self._data = data
        self._dispatch = dispatch

    async def CreateWorkflow(self, request: pb.CreateRequest, context: Context) -> pb.CreateResponse:
        created = await self._workflows.create(
            workflow_id="", template_name=request.template, devices_text=request.hardware, actor=auth.actor(context)
        )
        return pb.CreateResponse(id=created.id)

    async def GetWorkflow(self, request: pb.GetRequest, context: Context) -> pb.Workflow:
        return message.workflow(await self._workflows.get(request.id))

    async def DeleteWorkflow(self, request: pb.GetRequest, context: Context) -> pb.Empty:
        await self._workflows.delete(request.id, actor=auth.actor(context))
        return pb.Empty()

    async def ListWorkflows(self, request: pb.Empty, context: Context) -> AsyncGenerator[pb.Workflow, None]:
        async with contextlib.aclosing(self._workflows.list_in(())) as found:
            async for listed in found:
                yield message.workflow(listed)

    async def GetWorkflowContext(self, request: pb.GetRequest, context: Context) -> pb.WorkflowContext:
        return message.context(await self._workflows.progress(request.id))

    async def ShowWorkflowEvents(
        self, request: pb.GetRequest, context: Context
    ) -> AsyncGenerator[pb.WorkflowActionStatus, None]:
        async with contextlib.aclosing(self._workflows.list_reports(request.id)) as entries:
            async for entry in entries:
                yield message.action_status(entry)

    async def GetWorkflowContextList(
        self, request: pb.WorkflowContextRequest, context: Context
    ) -> pb.WorkflowContextList:
        found = await self._workflows.progress_of_worker(request.worker_id)
        return pb.WorkflowContextList(workflow_contexts=map(message.context, found))

    def GetWorkflowContexts(  # type: ignore[override]  # writes its responses by itself
        self, request: pb.WorkflowContextRequest, context: Context
    ) -> Awaitable[None]:
        async def write(progress: Progress) -> None:
            await interceptor.write(context, message.context(progress), interceptor.WRITE_TIMEOUT_SECONDS)

        return self._dispatch.serve(request.worker_id, write)

    async def GetWorkflowActions(self, request: pb.WorkflowActionsRequest, context: Context) -> pb.WorkflowActionList:
        workflow = await self._workflows.get(request.workflow_id)
        actions = await self._workflows.list_actions(request.workflow_id)
        limit = workflow.global_timeout_seconds
        return pb.WorkflowActionList(
            action_list=[message.action(action, global_timeout_seconds=limit) for action in actions]
        )

    async def ReportActionStatus(self, request: pb.WorkflowActionStatus, context: Context) -> pb.Empty:
        report, actor = message.report(request), auth.actor(context)
        try:
            await self._workflows.report(report, actor=actor)
        except errors.IllegalTransition:
            if not await self._is_unsaid_start(report):
                raise
            started = dataclasses.replace(report, state=State.RUNNING, seconds=0, message="")
            await self._workflows.report(started, actor=actor)
            await self._workflows.report(report, actor=actor)
        return pb.Empty()

    async def _is_unsaid_start(self, report: ActionReport) -> bool:
        """Whether a worker tells the end of an action whose start it has not told.

        A worker that goes on with an action that was running tells no start of the actions after it.
        """
        if report.state is State.RUNNING:
            return False
        names = (report.task_name, report.action_name)
        actions = await self._workflows.list_actions(report.workflow_id)
        return any((action.task_name, action.name) == names and action.state is State.PENDING for action in actions)

    async def GetWorkflowData(self, request: pb.GetWorkflowDataRequest, context: Context) -> pb.GetWorkflowDataResponse:
        try:
            found = await self._data.get_data(request.workflow_id, request.version)
        except errors.NotFound as missing:
            return _nothing(missing)
        return pb.GetWorkflowDataResponse(data=found.text.encode(), version=found.version)

    async def GetWorkflowMetadata(
        self, request: pb.GetWorkflowDataRequest, context: Context
    ) -> pb.GetWorkflowDataResponse:
        try:
            found = await self._data.get_metadata(request.workflow_id, request.version)
        except errors.NotFound as missing:
            return _nothing(missing)
        return pb.GetWorkflowDataResponse(data=found.text.encode(), version=found.version)

    async def GetWorkflowDataVersion(
        self, request: pb.GetWorkflowDataRequest, context: Context
    ) -> pb.GetWorkflowDataResponse:
        return pb.GetWorkflowDataResponse(version=await self._data.get_version(request.workflow_id))

    async def UpdateWorkflowData(self, request: pb.UpdateWorkflowDataRequest, context: Context) -> pb.Empty:
        await self._data.update(
            request.workflow_id, metadata=request.metadata, data=request.data, actor=auth.actor(context)
        )
        return pb.Empty()


def _nothing(missing: errors.NotFound) -> pb.GetWorkflowDataResponse:
    """Answer with an empty document for a version that there is not; a missing workflow stays an error."""
    if missing.resource_type != "WORKFLOW_DATA":
        raise missing
    return pb.GetWorkflowDataResponse()
