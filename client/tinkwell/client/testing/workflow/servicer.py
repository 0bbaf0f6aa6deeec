"""The WorkflowService of the fake server.

Templates are rendered and reports are judged by the rules of the core, as the real server does. A worker that is no
known machine stays what the template calls it, and no workflow is created to recover another one.
"""

# ruff: noqa: N802  # RPC methods carry their names

import dataclasses
import functools
import uuid
from collections.abc import AsyncIterator
from typing import Any

from tinkwell.api.v1 import event_service_pb2, workflow_service_pb2_grpc
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.client.template.model import Template
from tinkwell.client.testing import encode, output, status
from tinkwell.client.testing.gate import Gate, ReceivedCall
from tinkwell.client.testing.workflow import report, retention
from tinkwell.client.testing.world import World
from tinkwell.client.value import shape
from tinkwell.client.workflow import message
from tinkwell.client.workflow.model import Action, LogLine, Workflow, WorkflowContext
from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.template import template as core_template
from tinkwell.core.workflow import devices as core_devices
from tinkwell.core.workflow import transition

# The server's default for `workflow_retention_seconds`.
_RETENTION_SECONDS = 90 * 86_400.0


class WorkflowServicer(workflow_service_pb2_grpc.WorkflowServiceServicer):
    """Workflows in memory."""

    def __init__(self, world: World, gate: Gate) -> None:
        self._world = world
        self._gate = gate

    async def CreateWorkflow(self, request: pb.CreateWorkflowRequest, context: Any) -> pb.CreateWorkflowResponse:
        id_ = request.id or str(uuid.uuid4())
        if id_ in self._world.resources[ResourceType.WORKFLOW]:
            return pb.CreateWorkflowResponse(id=id_)
        template = self._world.template(request.template)
        self._create(id_, template, request.hardware, with_units=request.with_units)
        return pb.CreateWorkflowResponse(id=id_, revision=self._world.log.tail)

    async def GetWorkflow(self, request: pb.GetWorkflowRequest, context: Any) -> pb.Workflow:
        return encode.fill(pb.Workflow(), self._world.find(Workflow, request.id))

    async def ListWorkflows(self, request: pb.ListWorkflowsRequest, context: Any) -> AsyncIterator[pb.Workflow]:
        for workflow in self._world.all(Workflow):
            if not request.states or message.STATES[workflow.state] in request.states:
                yield encode.fill(pb.Workflow(), dataclasses.replace(workflow, data=None))

    async def ListUnfinishedWorkflows(
        self, request: pb.ListUnfinishedWorkflowsRequest, context: Any
    ) -> AsyncIterator[pb.ListUnfinishedWorkflowsResponse]:
        found = self._world.all(Workflow)
        yield pb.ListUnfinishedWorkflowsResponse(
            running_ids=[workflow.id for workflow in found if workflow.state is State.RUNNING],
            pending_ids=[workflow.id for workflow in found if workflow.state is State.PENDING],
        )

    async def DeleteWorkflow(self, request: pb.DeleteWorkflowRequest, context: Any) -> pb.DeleteWorkflowResponse:
        workflow = self._world.find(Workflow, request.id)
        if not workflow.state.is_final:
            report.cancel(self._world, workflow, "the workflow was deleted")
        return pb.DeleteWorkflowResponse(revision=self._world.remove(workflow).revision)

    async def CancelWorkflow(self, request: pb.CancelWorkflowRequest, context: Any) -> pb.CancelWorkflowResponse:
        workflow = self._world.find(Workflow, request.id)
        changes = report.cancel(self._world, workflow, request.reason)
        return pb.CancelWorkflowResponse(revision=self._world.log.tail if changes.steps else 0)

    async def ExpireWorkflow(self, request: pb.ExpireWorkflowRequest, context: Any) -> pb.ExpireWorkflowResponse:
        changes, left = report.expire(self._world, request.id, deadlines_only=request.deadlines_only)
        return pb.ExpireWorkflowResponse(
            revision=self._world.log.tail if changes.steps else 0, remaining_seconds=self._world.clock.told(left)
        )

    async def PruneWorkflows(
        self, request: pb.PruneWorkflowsRequest, context: Any
    ) -> AsyncIterator[pb.PruneWorkflowsResponse]:
        seconds = request.older_than_seconds if request.HasField("older_than_seconds") else _RETENTION_SECONDS
        for workflow in retention.forgettable(self._world, seconds):
            yield encode.fill(pb.PruneWorkflowsResponse(), retention.count(self._world, workflow))
            if request.apply:
                retention.forget(self._world, workflow)

    async def ShowWorkflowEvents(
        self, request: pb.ShowWorkflowEventsRequest, context: Any
    ) -> AsyncIterator[pb.WorkflowActionStatus]:
        for entry in self._world.journal:
            if entry.workflow_id == request.id:
                yield encode.fill(pb.WorkflowActionStatus(), entry)

    async def GetWorkflowContext(self, request: pb.GetWorkflowContextRequest, context: Any) -> pb.WorkflowContext:
        progress = self._context(self._world.find(Workflow, request.id))
        holds = self._world.ledger.holds_of(request.id)
        actions = self._actions(request.id) if request.with_actions else ()
        return encode.fill(pb.WorkflowContext(), dataclasses.replace(progress, holds=holds, actions=actions))

    async def GetWorkflowContextList(self, request: pb.WorkflowContextRequest, context: Any) -> pb.WorkflowContextList:
        mine = [workflow for workflow in self._world.all(Workflow) if self._works_on(request.worker_id, workflow)]
        contexts = [encode.fill(pb.WorkflowContext(), self._context(workflow)) for workflow in mine]
        return pb.WorkflowContextList(workflow_contexts=contexts)

    async def GetWorkflowContexts(
        self, request: pb.WorkflowContextRequest, context: Any
    ) -> AsyncIterator[pb.WorkflowContext]:
        for workflow in self._world.all(Workflow):
            unfinished = [a for a in self._world.actions_of(workflow.id) if not a.state.is_final]
            if not workflow.state.is_final and unfinished and unfinished[0].worker_id == request.worker_id:
                progress = self._context(workflow)
                if not progress.waits_for_workflow:
                    yield encode.fill(pb.WorkflowContext(), progress)

    async def GetWorkflowActions(self, request: pb.GetWorkflowActionsRequest, context: Any) -> pb.WorkflowActionList:
        self._world.find(Workflow, request.workflow_id)
        actions = self._actions(request.workflow_id)
        return pb.WorkflowActionList(actions=[encode.fill(pb.WorkflowAction(), action) for action in actions])

    async def ReportActionStatus(
        self, request: pb.ReportActionStatusRequest, context: Any
    ) -> pb.ReportActionStatusResponse:
        action, changes = report.take(self._world, message.report(request), lease_token=request.lease_token)
        return pb.ReportActionStatusResponse(
            revision=self._world.log.tail if changes.steps else 0,
            attempt=changes.attempt,
            remaining_seconds=self._world.clock.told(report.remaining_seconds(self._world, action)),
            state=message.STATES[transition.state_after(action, changes)],
            data_version=len(self._world.documents.get(request.workflow_id, ())),
        )

    async def ReportActionStatuses(
        self, request: pb.ReportActionStatusesRequest, context: Any
    ) -> pb.ReportActionStatusesResponse:
        outcomes = []
        for one in request.reports:
            outcome = pb.ReportOutcome()
            call = ReceivedCall("ReportActionStatus", {}, one)
            try:
                answer = functools.partial(self.ReportActionStatus, one, context)
                outcome.reported.CopyFrom(await self._gate.pass_through(call, answer))
            except errors.TinkwellError as error:
                outcome.error.Pack(status.of(error))
            outcomes.append(outcome)
        return pb.ReportActionStatusesResponse(outcomes=outcomes)

    async def GetWorkflowData(self, request: pb.GetWorkflowDataRequest, context: Any) -> pb.GetWorkflowDataResponse:
        return self._document(request, 0)

    async def GetWorkflowMetadata(self, request: pb.GetWorkflowDataRequest, context: Any) -> pb.GetWorkflowDataResponse:
        return self._document(request, 1)

    async def GetWorkflowDataVersion(
        self, request: pb.GetWorkflowDataRequest, context: Any
    ) -> pb.GetWorkflowDataResponse:
        return pb.GetWorkflowDataResponse(version=len(self._world.documents.get(request.workflow_id, ())))

    async def UpdateWorkflowData(
        self, request: pb.UpdateWorkflowDataRequest, context: Any
    ) -> pb.UpdateWorkflowDataResponse:
        self._world.find(Workflow, request.workflow_id)
        versions = self._world.documents.setdefault(request.workflow_id, [])
        versions.append((request.data, request.metadata))
        return pb.UpdateWorkflowDataResponse(version=len(versions))

    async def AppendLogs(
        self, request_iterator: AsyncIterator[pb.AppendLogsRequest], context: Any
    ) -> pb.AppendLogsResponse:
        accepted = 0
        async for request in request_iterator:
            self._world.find(Workflow, request.workflow_id)
            lines = self._world.lines.setdefault(request.workflow_id, [])
            output.add(lines, map(self._named, map(message.log_line, request.lines)), _place)
            accepted += len(request.lines)
            self._world.log.wake()
        return pb.AppendLogsResponse(accepted=accepted)

    async def WatchLogs(self, request: pb.WatchLogsRequest, context: Any) -> AsyncIterator[pb.WatchLogsResponse]:
        told = output.Told()
        while True:
            changed = self._world.log.changed
            workflow = self._world.find(Workflow, request.workflow_id)
            lines = told.news(self._world.lines.get(workflow.id, []), _place)
            if lines:
                yield pb.WatchLogsResponse(lines=[encode.fill(pb.LogLine(), line) for line in lines])
            elif workflow.state.is_final or not request.follow:
                return
            else:
                await changed.wait()

    async def Watch(
        self, request: event_service_pb2.WatchRequest, context: Any
    ) -> AsyncIterator[event_service_pb2.WatchResponse]:
        async for response in self._world.log.follow(request, [ResourceType.WORKFLOW, ResourceType.ACTION]):
            yield response

    def _create(self, id_: str, template: Template, hardware: str, *, with_units: bool = True) -> None:
        rendered = core_template.render(template.data or "", core_devices.parse_devices("hardware", hardware))
        if not with_units:
            machines = {self._world.machine_id(action.worker) for action in rendered.actions}
            advice = "remove them, or create it with_units: then they get no events until it has ended"
            self._world.units.check_free(machines, advice=advice)
        self._world.put(
            Workflow(
                id=id_,
                template_id=template.id,
                template_name=template.name,
                hardware=shape.parse(hardware),
                total_actions=len(rendered.actions),
                global_timeout_seconds=rendered.template.global_timeout_seconds,
                on_timeout=rendered.template.on_timeout,
                on_failure=rendered.template.on_failure,
                data=rendered.text,
            )
        )
        for index, action in enumerate(rendered.actions):
            fields = dataclasses.asdict(action)
            worker_id = self._world.machine_id(fields.pop("worker"))
            self._world.put(Action(id=str(uuid.uuid4()), workflow_id=id_, index=index, worker_id=worker_id, **fields))

    def _actions(self, workflow_id: str) -> tuple[Action, ...]:
        """Return the actions of a workflow, with the seconds that are left at this moment."""
        clock = self._world.clock
        return tuple(
            dataclasses.replace(
                action,
                remaining_seconds=clock.told(report.remaining_seconds(self._world, action)),
                wait_seconds=clock.told(report.wait_seconds(self._world, action)),
            )
            for action in self._world.actions_of(workflow_id)
        )

    def _context(self, workflow: Workflow) -> WorkflowContext:
        actions = self._world.actions_of(workflow.id)
        begun: list[Action] = [action for action in actions if action.state is not State.PENDING or action.attempt]
        progress = WorkflowContext(
            workflow_id=workflow.id,
            total_number_of_actions=len(actions),
            workflow_state=workflow.state,
            completed_actions=workflow.completed_actions,
            created_at=workflow.created_at,
        )
        if workflow.state is State.PENDING and (held := self._world.holder(workflow)):
            progress = dataclasses.replace(
                progress, waits_for_workflow=held.workflow_id, waits_for_worker=held.worker_id
            )
        if not begun:
            return progress
        return dataclasses.replace(
            progress,
            current_worker=begun[-1].worker_id,
            current_task=begun[-1].task_name,
            current_action=begun[-1].name,
            current_action_index=begun[-1].index,
            current_action_state=begun[-1].state,
        )

    def _named(self, line: LogLine) -> LogLine:
        action = self._world.resources[ResourceType.ACTION].get(line.action_id)
        return dataclasses.replace(line, task_name=action.task_name, action_name=action.name) if action else line

    def _works_on(self, worker_id: str, workflow: Workflow) -> bool:
        return any(action.worker_id == worker_id for action in self._world.actions_of(workflow.id))

    def _document(self, request: pb.GetWorkflowDataRequest, part: int) -> pb.GetWorkflowDataResponse:
        self._world.find(Workflow, request.workflow_id)
        versions = self._world.documents.get(request.workflow_id, [])
        version = request.version or len(versions)
        if not versions and not request.version:
            return pb.GetWorkflowDataResponse()
        if version > len(versions):
            raise errors.NotFound("workflow data", f"{request.workflow_id} version {version}")
        return pb.GetWorkflowDataResponse(data=versions[version - 1][part], version=version)


def _place(line: LogLine) -> tuple[str, int, int]:
    return line.action_id, line.attempt, line.number
