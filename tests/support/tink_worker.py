"""Tinkerbell's worker of v0.5: what it calls, in which order, and what it concludes from the answers."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from support.tink import FIRST_WORKER, Tools
from tinkwell.api.tink import workflow_pb2 as pb

_CALL_SECONDS = 30


@dataclass
class Worker:
    """A worker whose actions succeed, unless `outcome` says otherwise."""

    tools: Tools
    id: str = FIRST_WORKER
    outcome: Callable[[pb.WorkflowAction], int] = lambda action: pb.STATE_SUCCESS
    ran: list[tuple[str, str]] = field(default_factory=list)

    async def contexts(self) -> AsyncGenerator[pb.WorkflowContext, None]:
        """Yield what the stream brings."""
        call = self.tools.workflow.GetWorkflowContexts(pb.WorkflowContextRequest(worker_id=self.id), timeout=100)
        try:
            async for context in call:
                yield context
        finally:
            call.cancel()

    async def take(self, context: pb.WorkflowContext) -> None:
        """Run a workflow as far as this worker can."""
        request = pb.WorkflowActionsRequest(workflow_id=context.workflow_id)
        actions = (await self.tools.workflow.GetWorkflowActions(request, timeout=_CALL_SECONDS)).action_list
        index = _next_index(context, len(actions))
        if index is None or actions[index].worker_id != self.id:
            return
        # Looked at once, so after a running action no start of any action is told.
        tells_starts = context.current_action_state != pb.STATE_RUNNING or not context.current_action
        while index < len(actions) and actions[index].worker_id == self.id:
            if not await self._run(context.workflow_id, actions, index, tells_starts=tells_starts):
                return
            index += 1

    async def _run(
        self, workflow_id: str, actions: Sequence[pb.WorkflowAction], index: int, *, tells_starts: bool
    ) -> bool:
        action, workflow = actions[index], self.tools.workflow
        if tells_starts:
            await self.report(workflow_id, action, pb.STATE_RUNNING, "Started execution")
        request = pb.GetWorkflowDataRequest(workflow_id=workflow_id, version=0)
        await workflow.GetWorkflowData(request, timeout=_CALL_SECONDS)
        self.ran.append((workflow_id, action.name))
        state = self.outcome(action)
        if state != pb.STATE_SUCCESS:
            await self.report(workflow_id, action, state, "")
            return False
        await self.report(workflow_id, action, state, "finished execution successfully")
        if index == 0:
            update = pb.UpdateWorkflowDataRequest(
                workflow_id=workflow_id, data=b"{}", metadata=_metadata(action, self.id)
            )
            await workflow.UpdateWorkflowData(update, timeout=_CALL_SECONDS)
        return True

    async def report(self, workflow_id: str, action: pb.WorkflowAction, state: int, message: str) -> None:
        """Tell the state of an action."""
        status = pb.WorkflowActionStatus(
            workflow_id=workflow_id,
            task_name=action.task_name,
            action_name=action.name,
            action_status=pb.State.ValueType(state),
            seconds=1,
            message=message,
            worker_id=action.worker_id,
        )
        await self.tools.workflow.ReportActionStatus(status, timeout=_CALL_SECONDS)


def _next_index(context: pb.WorkflowContext, count: int) -> int | None:
    match context.current_action_state:
        case _ if not context.current_action:
            return 0
        case pb.STATE_SUCCESS:
            following = context.current_action_index + 1
            return following if following < count else None
        case pb.STATE_FAILED | pb.STATE_TIMEOUT:
            return None
        case _:
            return context.current_action_index


def _metadata(action: pb.WorkflowAction, worker_id: str) -> bytes:
    names = f'"workerID":"{worker_id}","actionName":"{action.name}","taskName":"{action.task_name}"'
    return f'{{{names},"updatedAt":"2021-03-15T00:00:00Z","sha256":"e30="}}'.encode()
