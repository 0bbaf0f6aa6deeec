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
from tinkwell.server.tink import container_name
from tinkwell.server.tink import workflow_message as message
from tinkwell.server.tink.dispatch import Dispatch
from tinkwell.server.tink.worker_document import WorkerDocuments
from tinkwell.server.tink.worker_id import WorkerIds
from tinkwell.server.workflow.service.data import WorkflowDataService
from tinkwell.server.workflow.service.operations import WorkflowService
from tinkwell.server.workflow.service.report import ActionReport


class WorkflowServicer(workflow_pb2_grpc.WorkflowServiceServicer):
    """Translates between protobuf and the services."""

    def __init__(
        self, workflows: WorkflowService, data: WorkflowDataService, dispatch: Dispatch, workers: WorkerIds
    ) -> None:
        self._workflows = workflows
        self._data = data
        self._dispatch = dispatch
        self._workers = workers
        self._documents = WorkerDocuments(workflows, data, workers)

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
        found = await self._workflows.progress_of_worker(await self._workers.resolve(request.worker_id))
        return pb.WorkflowContextList(workflow_contexts=map(message.context, found))

    def GetWorkflowContexts(  # type: ignore[override]  # writes its responses by itself
        self, request: pb.WorkflowContextRequest, context: Context
    ) -> Awaitable[None]:
        return self._serve(request, context)

    async def _serve(self, request: pb.WorkflowContextRequest, context: Context) -> None:
        async def write(progress: Progress) -> None:
            await interceptor.write(context, message.work(progress), interceptor.WRITE_TIMEOUT_SECONDS)

        await self._dispatch.serve(await self._workers.greet(context.peer(), request.worker_id), write)

    async def GetWorkflowActions(self, request: pb.WorkflowActionsRequest, context: Context) -> pb.WorkflowActionList:
        workflow = await self._workflows.get(request.workflow_id)
        actions = await self._workflows.list_actions(request.workflow_id)
        told = pb.WorkflowActionList()
        for action, name in zip(actions, container_name.told(actions), strict=True):
            worker_id = self._workers.spelled(context.peer(), action.worker_id)
            told.action_list.append(
                message.action(
                    action, name=name, worker_id=worker_id, global_timeout_seconds=workflow.global_timeout_seconds
                )
            )
        return told

    async def ReportActionStatus(self, request: pb.WorkflowActionStatus, context: Context) -> pb.Empty:
        report, actor = message.report(request), auth.actor(context)
        report = dataclasses.replace(report, worker_id=await self._workers.resolve(report.worker_id))
        try:
            await self._report(report, actor)
        except errors.NotFound as missing:
            await self._report(await self._by_own_name(report, missing), actor)
        return pb.Empty()

    async def _report(self, report: ActionReport, actor: str) -> None:
        try:
            await self._workflows.report(report, actor=actor)
        except errors.IllegalTransition:
            if not await self._is_unsaid_start(report):
                raise
            started = dataclasses.replace(report, state=State.RUNNING, seconds=0, message="")
            await self._workflows.report(started, actor=actor)
            await self._workflows.report(report, actor=actor)

    async def _by_own_name(self, report: ActionReport, missing: errors.NotFound) -> ActionReport:
        """Return a report with the action's own name, if it has the name that the worker was told.

        Raises `missing` if it has neither.
        """
        if missing.resource_type == "ACTION":
            actions = await self._workflows.list_actions(report.workflow_id)
            if (action := container_name.find(actions, report.task_name, report.action_name)) is not None:
                return dataclasses.replace(report, action_name=action.name)
        raise missing

    async def _is_unsaid_start(self, report: ActionReport) -> bool:
        """Whether a worker reports the end of an action whose start it has not reported.

        A worker that was told of a running action, by a former release, reports no start of the actions after it.
        """
        if report.state is State.RUNNING:
            return False
        names = (report.task_name, report.action_name)
        actions = await self._workflows.list_actions(report.workflow_id)
        return any((action.task_name, action.name) == names and action.state is State.PENDING for action in actions)

    async def GetWorkflowData(self, request: pb.GetWorkflowDataRequest, context: Context) -> pb.GetWorkflowDataResponse:
        try:
            if request.version:
                found = await self._data.get_data(request.workflow_id, request.version)
            else:
                found = await self._documents.find(request.workflow_id)
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
        await self._documents.take(
            request.workflow_id, metadata=request.metadata, data=request.data, actor=auth.actor(context)
        )
        return pb.Empty()


def _nothing(missing: errors.NotFound) -> pb.GetWorkflowDataResponse:
    """Answer with an empty document for a version that does not exist. A missing workflow stays an error."""
    if missing.resource_type != "WORKFLOW_DATA":
        raise missing
    return pb.GetWorkflowDataResponse()
