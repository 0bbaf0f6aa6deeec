"""Workflows, their actions, their output, and the document their workers share."""

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

# A client stream of one message is, on the wire, the same as a call with one message; and such a call ends with the
# server's own status where gRPC, still writing to a stream that the server has ended, may lose it.
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

        Raises `NotFound` for an unknown template, `InvalidField` where it cannot be rendered for these devices, and
        `MachineHasUnits` for a machine that units are on. `with_units` lets it run there: they get no events meanwhile.
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
        """Iterate over workflows without their data, oldest first; `states` filters, empty means all."""
        wanted = [workflow_message.STATES[field.member(State, state, f"states[{i}]")] for i, state in enumerate(states)]
        return self._list(self._stub.ListWorkflows, pb.ListWorkflowsRequest(states=wanted), workflow_message.workflow)

    def unfinished(self) -> AsyncIterator[Unfinished]:
        """Iterate over the ids of the workflows that are not finished, thousands at a time."""
        request = pb.ListUnfinishedWorkflowsRequest()
        return self._list(self._stub.ListUnfinishedWorkflows, request, workflow_message.unfinished)

    async def delete(self, id: str) -> Change:  # noqa: A002
        """Delete a workflow; one that is not finished is cancelled first. Raises `NotFound`."""
        request = field.build(pb.DeleteWorkflowRequest, id=id)
        answer = await self._caller.unary(self._stub.DeleteWorkflow, request, may_repeat=False)
        return Change(answer.revision)

    async def cancel(self, id: str, reason: str = "") -> Change:  # noqa: A002
        """End an unfinished workflow; what runs is stopped. Revision 0 means that it was cancelled before."""
        request = field.build(pb.CancelWorkflowRequest, id=id, reason=reason)
        answer = await self._caller.unary(self._stub.CancelWorkflow, request, may_repeat=True)
        return Change(answer.revision)

    async def expire(self, id: str, *, deadlines_only: bool = False) -> Expired:  # noqa: A002
        """End a workflow if a deadline in it is past, by the server's clock, and what is lost with its owner's lease.

        `deadlines_only` leaves what is lost to whoever may still take it over. Provisioners ask this by themselves.
        """
        request = field.build(pb.ExpireWorkflowRequest, id=id, deadlines_only=deadlines_only)
        answer = await self._caller.unary(self._stub.ExpireWorkflow, request, may_repeat=True)
        remaining = answer.remaining_seconds if answer.HasField("remaining_seconds") else None
        return Expired(answer.revision, remaining)

    async def prune(self, older_than: timedelta | float | None = None, *, apply: bool = False) -> Pruned:
        """Say which workflows, with all that belongs to them, ended so long ago, and with `apply` delete them for good.

            await client.workflows.prune(timedelta(days=30), apply=True)

        `older_than` is in seconds or a timedelta, by the database's clock; None means what the server does by itself.
        Machines and templates that were deleted so long ago go as well when nothing refers to them. It goes by small
        pieces: after an error, such as `Unavailable`, a part is done, and a further call goes on.
        """
        seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else older_than
        request = field.build(pb.PruneWorkflowsRequest, older_than_seconds=seconds, apply=apply)
        total = Pruned()
        # A piece may have many lines of output; there the connection's keepalive finds a dead server.
        stream = self._caller.stream(self._stub.PruneWorkflows, request)
        try:
            while (answer := await stream.read()) is not None:
                total += workflow_message.pruned(answer)
        finally:
            stream.cancel()
        return total

    def events(self, id: str) -> AsyncIterator[ActionStatus]:  # noqa: A002
        """Iterate over what was reported about a workflow's actions, in order; also for a deleted workflow."""
        request = field.build(pb.ShowWorkflowEventsRequest, id=id)
        return self._list(self._stub.ShowWorkflowEvents, request, workflow_message.action_status)

    async def context(self, id: str, *, with_actions: bool = False) -> WorkflowContext:  # noqa: A002
        """Get how far a workflow is, if wanted with its actions at the same moment; raises `NotFound`."""
        request = field.build(pb.GetWorkflowContextRequest, id=id, with_actions=with_actions)
        answer = await self._caller.unary(self._stub.GetWorkflowContext, request, may_repeat=True)
        return workflow_message.workflow_context(answer)

    def contexts(self, worker_id: str) -> AsyncIterator[WorkflowContext]:
        """Iterate over the workflows whose next action is this worker's."""
        request = field.build(pb.WorkflowContextRequest, worker_id=worker_id)
        return self._list(self._stub.GetWorkflowContexts, request, workflow_message.workflow_context)

    async def context_list(self, worker_id: str) -> tuple[WorkflowContext, ...]:
        """Get how far every workflow of a worker is."""
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
        """Report on an action, named by `action_id` or by `task_name` and `action_name`, and so move it on.

        `state` is RUNNING, SUCCEEDED, FAILED or TIMEOUT; attempt 0 means the current one, for RUNNING the next one. A
        repeated report changes nothing; a call for a certain attempt is therefore retried. `lease_token` is that of the
        reporter's lease (`client.work`), 0 without one. Raises `WrongWorker`; `LeaseHeld` where somebody alive has the
        machine, `LeaseLost` where the lease is over or the work another's; `IllegalTransition`, their parent, where the
        action's state does not allow it.
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
        """Make up to a hundred reports by one call; each comes to what `report` returns or raises for it alone.

        One that has to wait for others longer than the rest comes to `Unavailable`.
        """
        request = pb.ReportActionStatusesRequest(reports=[workflow_message.to_report(report) for report in reports])
        may_repeat = all(report.attempt > 0 for report in reports)
        answer = await self._caller.unary(self._stub.ReportActionStatuses, request, may_repeat=may_repeat)
        return tuple(workflow_message.outcome(outcome) for outcome in answer.outcomes)

    async def data(self, id: str, version: int = 0) -> Document:  # noqa: A002
        """Get the document that a workflow's workers share, as (data, version); version 0 means the latest."""
        request = field.build(pb.GetWorkflowDataRequest, workflow_id=id, version=version)
        answer = await self._caller.unary(self._stub.GetWorkflowData, request, may_repeat=True)
        return Document(answer.data, answer.version)

    async def metadata(self, id: str, version: int = 0) -> Document:  # noqa: A002
        """Get the metadata stored with a version of the document, as (data, version); version 0 means the latest."""
        request = field.build(pb.GetWorkflowDataRequest, workflow_id=id, version=version)
        answer = await self._caller.unary(self._stub.GetWorkflowMetadata, request, may_repeat=True)
        return Document(answer.data, answer.version)

    async def data_version(self, id: str) -> int:  # noqa: A002
        """Get the latest version of the document, 0 when there is none."""
        request = field.build(pb.GetWorkflowDataRequest, workflow_id=id)
        answer = await self._caller.unary(self._stub.GetWorkflowDataVersion, request, may_repeat=True)
        return answer.version

    async def update_data(self, id: str, data: bytes, metadata: bytes = b"") -> int:  # noqa: A002
        """Store a new version of the document, both parts JSON text, and give its number."""
        request = field.build(pb.UpdateWorkflowDataRequest, workflow_id=id, data=data, metadata=metadata)
        return (await self._caller.unary(self._stub.UpdateWorkflowData, request, may_repeat=False)).version

    async def append_logs(self, workflow_id: str, lines: Iterable[LogLine] | AsyncIterable[LogLine]) -> int:
        """Store output lines, and give how many the server took; a line that is already there is left as it is.

            await client.workflows.append_logs(workflow_id, [LogLine(action_id, attempt=1, number=1, text="written")])

        An async iterable is sent as it produces lines. Both are sent in batches, each of which is retried as calls are.
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
        """Iterate over a workflow's output in order; `follow` goes on until the workflow is finished."""
        request = field.build(pb.WatchLogsRequest, workflow_id=id, follow=follow)
        # A workflow may be silent for hours; there the connection's keepalive finds a dead server.
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
    # As lists give them, so that the cache holds the same whatever it was filled from.
    return dataclasses.replace(Workflow.from_json(data), data=None)
