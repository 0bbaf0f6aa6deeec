"""The client of workflows, their actions, their output, and the document that their workers share."""

import dataclasses
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from datetime import timedelta

from grpc import aio

from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.api.v1 import workflow_service_pb2_grpc
from tinkwell.client import call, errors
from tinkwell.client.value import field, output
from tinkwell.client.value.change import Change, Created
from tinkwell.client.watch import informer, service
from tinkwell.client.workflow import message as workflow_message
from tinkwell.client.workflow.model import (
    Action,
    ActionStatus,
    Document,
    Expired,
    LogLine,
    Pruned,
    Report,
    Reported,
    Unfinished,
    Workflow,
    WorkflowContext,
)
from tinkwell.core.event.kinds import ResourceType, State

# A client stream of one message is the same on the wire as a call with one message. It is sent as the latter, because
# gRPC may lose the status of the server while it still writes to a stream.
_APPEND_LOGS = "/tinkwell.api.v1.WorkflowService/AppendLogs"


class WorkflowClient(service.Service):
    """Creates, follows and watches workflows, and reports on their actions."""

    def __init__(self, caller: call.Caller) -> None:
        self._stub = workflow_service_pb2_grpc.WorkflowServiceStub(caller.channel)
        self._append_logs: aio.UnaryUnaryMultiCallable[pb.AppendLogsRequest, pb.AppendLogsResponse]
        self._append_logs = caller.channel.unary_unary(
            _APPEND_LOGS,
            request_serializer=pb.AppendLogsRequest.SerializeToString,
            response_deserializer=pb.AppendLogsResponse.FromString,
        )
        super().__init__(caller, self._stub.Watch)

    async def create(
        self,
        template: str,
        devices: Mapping[str, str] | str,
        *,
        with_units: bool = False,
        id: str | None = None,  # noqa: A002
    ) -> Created:
        """Create a workflow from a template, by its id or name, for devices: a mapping or its JSON text.

            created = await client.workflows.create("ubuntu", {"device_1": "52:54:00:10:00:03"})

        Raises `NotFound` for an unknown template, `InvalidField` if the template cannot be rendered for these devices,
        and `MachineHasUnits` if units are on a machine. `with_units` allows that: the units get no events while it
        runs.
        """
        request = field.build(
            pb.CreateWorkflowRequest,
            id=id or str(uuid.uuid4()),
            template=template,
            hardware=field.to_json_text(devices, "hardware"),
            with_units=with_units,
        )
        answer = await self._caller.unary(self._stub.CreateWorkflow, request, may_repeat=True)
        return Created(answer.id, answer.revision)

    async def get(self, id: str) -> Workflow:  # noqa: A002
        """Get a workflow with its rendered template; raises `NotFound`."""
        request = field.build(pb.GetWorkflowRequest, id=id)
        return workflow_message.workflow(await self._caller.unary(self._stub.GetWorkflow, request, may_repeat=True))

    def list(self, states: Iterable[State | str] = ()) -> AsyncIterator[Workflow]:
        """Iterate over workflows without their data, oldest first, in one of `states`; empty means all states."""
        wanted = [workflow_message.STATES[field.member(State, state, f"states[{i}]")] for i, state in enumerate(states)]
        return self._list(self._stub.ListWorkflows, pb.ListWorkflowsRequest(states=wanted), workflow_message.workflow)

    def unfinished(self) -> AsyncIterator[Unfinished]:
        """Iterate over the ids of unfinished workflows, in groups of thousands."""
        request = pb.ListUnfinishedWorkflowsRequest()
        return self._list(self._stub.ListUnfinishedWorkflows, request, workflow_message.unfinished)

    async def delete(self, id: str) -> Change:  # noqa: A002
        """Delete a workflow; an unfinished one is cancelled first. Raises `NotFound`."""
        request = field.build(pb.DeleteWorkflowRequest, id=id)
        answer = await self._caller.unary(self._stub.DeleteWorkflow, request, may_repeat=False)
        return Change(answer.revision)

    async def cancel(self, id: str, reason: str = "") -> Change:  # noqa: A002
        """End an unfinished workflow, and stop its running action. Revision 0 means that it was cancelled before."""
        request = field.build(pb.CancelWorkflowRequest, id=id, reason=reason)
        answer = await self._caller.unary(self._stub.CancelWorkflow, request, may_repeat=True)
        return Change(answer.revision)

    async def expire(self, id: str, *, deadlines_only: bool = False) -> Expired:  # noqa: A002
        """End a workflow if one of its deadlines is past, by the server's clock, or its owner's lease is over.

        With `deadlines_only` a workflow whose owner's lease is over is left to an owner that may still take it over.
        Provisioners make this call by themselves.
        """
        request = field.build(pb.ExpireWorkflowRequest, id=id, deadlines_only=deadlines_only)
        answer = await self._caller.unary(self._stub.ExpireWorkflow, request, may_repeat=True)
        remaining = answer.remaining_seconds if answer.HasField("remaining_seconds") else None
        return Expired(answer.revision, remaining)

    async def prune(self, older_than: timedelta | float | None = None, *, apply: bool = False) -> Pruned:
        """Count the workflows that ended longer ago than `older_than`, and with `apply` delete them for good.

            await client.workflows.prune(timedelta(days=30), apply=True)

        `older_than` is in seconds or a timedelta, by the database's clock; None means the server's own setting. All
        that belongs to the workflows goes with them, and so do machines and templates that were deleted as long ago and
        that nothing refers to. The server works in small pieces: after an error, such as `Unavailable`, some are done,
        and another call goes on.
        """
        seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else older_than
        request = field.build(pb.PruneWorkflowsRequest, older_than_seconds=seconds, apply=apply)
        total = Pruned()
        # No time limit for an answer: a piece may have many lines of output. The connection's keepalive notices a dead
        # server.
        stream = self._caller.stream(self._stub.PruneWorkflows, request)
        try:
            while (answer := await stream.read()) is not None:
                total += workflow_message.pruned(answer)
        finally:
            stream.cancel()
        return total

    def events(self, id: str) -> AsyncIterator[ActionStatus]:  # noqa: A002
        """Iterate over the reports about a workflow's actions, in order; also for a deleted workflow."""
        request = field.build(pb.ShowWorkflowEventsRequest, id=id)
        return self._list(self._stub.ShowWorkflowEvents, request, workflow_message.action_status)

    async def context(self, id: str, *, with_actions: bool = False) -> WorkflowContext:  # noqa: A002
        """Get the progress of a workflow, and optionally its actions at the same moment; raises `NotFound`."""
        request = field.build(pb.GetWorkflowContextRequest, id=id, with_actions=with_actions)
        answer = await self._caller.unary(self._stub.GetWorkflowContext, request, may_repeat=True)
        return workflow_message.workflow_context(answer)

    def contexts(self, worker_id: str) -> AsyncIterator[WorkflowContext]:
        """Iterate over the progress of the workflows whose next action is this worker's."""
        request = field.build(pb.WorkflowContextRequest, worker_id=worker_id)
        return self._list(self._stub.GetWorkflowContexts, request, workflow_message.workflow_context)

    async def context_list(self, worker_id: str) -> tuple[WorkflowContext, ...]:
        """Get the progress of every workflow of a worker."""
        request = field.build(pb.WorkflowContextRequest, worker_id=worker_id)
        answer = await self._caller.unary(self._stub.GetWorkflowContextList, request, may_repeat=True)
        return tuple(workflow_message.workflow_context(context) for context in answer.workflow_contexts)

    async def actions(self, id: str) -> tuple[Action, ...]:  # noqa: A002
        """Get a workflow's actions in order; raises `NotFound`."""
        request = field.build(pb.GetWorkflowActionsRequest, workflow_id=id)
        answer = await self._caller.unary(self._stub.GetWorkflowActions, request, may_repeat=True)
        return tuple(workflow_message.action(action) for action in answer.actions)

    async def report(
        self,
        workflow_id: str,
        *,
        action_id: str = "",
        task_name: str = "",
        action_name: str = "",
        worker_id: str,
        state: State | str,
        attempt: int = 0,
        seconds: float = 0.0,
        message: str = "",
        exit_code: int | None = None,
        lease_token: int = 0,
    ) -> Reported:
        """Report the state of an action, which is named by `action_id` or by `task_name` and `action_name`.

        `state` is RUNNING, SUCCEEDED, FAILED or TIMEOUT. Attempt 0 means the current attempt, and for RUNNING the next
        one. A repeated report changes nothing, so a call that names an attempt is retried. `lease_token` is that of the
        reporter's lease (`client.work`), 0 without one. Raises `WrongWorker`; `LeaseHeld` if another live owner has the
        machine; `LeaseLost` if the lease is over, or another owner has the work; `IllegalTransition`, the parent of
        these two, if the action's state does not allow the report.
        """
        report = Report(
            workflow_id=workflow_id,
            action_id=action_id,
            task_name=task_name,
            action_name=action_name,
            worker_id=worker_id,
            state=state,
            attempt=attempt,
            seconds=seconds,
            message=message,
            exit_code=exit_code,
            lease_token=lease_token,
        )
        request = workflow_message.to_report(report)
        answer = await self._caller.unary(self._stub.ReportActionStatus, request, may_repeat=attempt > 0)
        return workflow_message.reported(answer)

    async def report_together(self, reports: Sequence[Report]) -> tuple[Reported | errors.Error, ...]:
        """Make up to a hundred reports by one call; returns for each what `report` would return or raise.

        A report that has to wait too long for other calls ends with `Unavailable`; the rest are not affected.
        """
        request = pb.ReportActionStatusesRequest(reports=[workflow_message.to_report(report) for report in reports])
        may_repeat = all(report.attempt > 0 for report in reports)
        answer = await self._caller.unary(self._stub.ReportActionStatuses, request, may_repeat=may_repeat)
        return tuple(workflow_message.outcome(outcome) for outcome in answer.outcomes)

    async def data(self, id: str, version: int = 0) -> Document:  # noqa: A002
        """Get a version of the document that a workflow's workers share; version 0 means the latest."""
        request = field.build(pb.GetWorkflowDataRequest, workflow_id=id, version=version)
        answer = await self._caller.unary(self._stub.GetWorkflowData, request, may_repeat=True)
        return Document(answer.data, answer.version)

    async def metadata(self, id: str, version: int = 0) -> Document:  # noqa: A002
        """Get the metadata of a version of the document; version 0 means the latest."""
        request = field.build(pb.GetWorkflowDataRequest, workflow_id=id, version=version)
        answer = await self._caller.unary(self._stub.GetWorkflowMetadata, request, may_repeat=True)
        return Document(answer.data, answer.version)

    async def data_version(self, id: str) -> int:  # noqa: A002
        """Get the number of the document's latest version, 0 if there is none."""
        request = field.build(pb.GetWorkflowDataRequest, workflow_id=id)
        answer = await self._caller.unary(self._stub.GetWorkflowDataVersion, request, may_repeat=True)
        return answer.version

    async def update_data(self, id: str, data: bytes, metadata: bytes = b"") -> int:  # noqa: A002
        """Store a new version of the document, and return its number. Both parts are JSON text."""
        request = field.build(pb.UpdateWorkflowDataRequest, workflow_id=id, data=data, metadata=metadata)
        return (await self._caller.unary(self._stub.UpdateWorkflowData, request, may_repeat=False)).version

    async def append_logs(self, workflow_id: str, lines: Iterable[LogLine] | AsyncIterable[LogLine]) -> int:
        """Store output lines, and return how many were accepted, repeated ones included; those do not change.

            await client.workflows.append_logs(workflow_id, [LogLine(action_id, attempt=1, number=1, text="written")])

        Lines are sent in batches, each of which is retried as calls are; those of an async iterable as it produces
        them.
        """
        accepted = 0

        async def send(batch: list[LogLine]) -> None:
            nonlocal accepted
            request = field.build(
                pb.AppendLogsRequest,
                workflow_id=workflow_id,
                lines=[workflow_message.to_log_line(line) for line in batch],
            )
            accepted += (await self._caller.unary(self._append_logs, request, may_repeat=True)).accepted

        if isinstance(lines, AsyncIterable):
            await output.relay(lines, send)
        else:
            for batch in output.pack(lines):
                await send(batch)
        return accepted

    async def logs(self, id: str, follow: bool = False) -> AsyncIterator[LogLine]:  # noqa: A002
        """Iterate over a workflow's output in order; with `follow`, until the workflow is finished."""
        request = field.build(pb.WatchLogsRequest, workflow_id=id, follow=follow)
        # A workflow may be silent for hours, so no time limit applies. The connection's keepalive notices a dead
        # server.
        silence = None if follow else self._caller.timeout_seconds
        stream = self._caller.stream(self._stub.WatchLogs, request, silence_seconds=silence)
        try:
            while (answer := await stream.read()) is not None:
                for line in answer.lines:
                    yield workflow_message.log_line(line)
        finally:
            stream.cancel()

    def informer(self, *, strict: bool = False) -> "informer.Informer[Workflow]":
        """Make a live cache of all workflows, without their data, with handlers; see `Informer`.

        The events of actions reach handlers too; they change no workflow in the cache.
        """
        return informer.Informer(
            ResourceType.WORKFLOW, self.list, lambda: self.watch(now=True), _without_data, strict=strict
        )


def _without_data(data: object) -> Workflow:
    # Lists have no data, so the cache drops the data of events.
    return dataclasses.replace(Workflow.from_json(data), data=None)
