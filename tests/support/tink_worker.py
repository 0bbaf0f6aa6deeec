"""Tinkerbell's worker of v0.5: what it calls, in which order, and what it concludes from the answers."""

import base64
import hashlib
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from support.tink import FIRST_WORKER, Tools
from tinkwell.api.tink import workflow_pb2 as pb

_CALL_SECONDS = 30
# What Docker takes for the name of a container, which is the action's.
_CONTAINER_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")


async def nothing(action: pb.WorkflowAction) -> None:
    """Do nothing."""


@dataclass
class Worker:
    """A worker whose actions succeed, unless `outcome` says otherwise.

    `meanwhile` is done while an action runs, and `afterwards` once its success is told. An action turns the file `data`
    of its workflow into what `write` says.
    """

    tools: Tools
    id: str = FIRST_WORKER
    outcome: Callable[[pb.WorkflowAction], int] = lambda action: pb.STATE_SUCCESS
    meanwhile: Callable[[pb.WorkflowAction], Awaitable[None]] = nothing
    afterwards: Callable[[pb.WorkflowAction], Awaitable[None]] = nothing
    write: Callable[[pb.WorkflowAction, bytes], bytes] = lambda action, data: data
    ran: list[tuple[str, str]] = field(default_factory=list)
    # By workflow, the file, and what the server is known to have.
    files: dict[str, bytes] = field(default_factory=dict)
    known: dict[str, bytes] = field(default_factory=dict)

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
        self.files.setdefault(context.workflow_id, b"{}")
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
        data = (await workflow.GetWorkflowData(request, timeout=_CALL_SECONDS)).data
        if data:
            # Over the beginning of the file, whatever was behind it.
            self.files[workflow_id] = data + self.files[workflow_id][len(data) :]
            self.known[workflow_id] = data
        self.ran.append((workflow_id, action.name))
        await self.meanwhile(action)
        state = self.outcome(action) if _CONTAINER_NAME.fullmatch(action.name) else pb.STATE_FAILED
        if state != pb.STATE_SUCCESS:
            await self.report(workflow_id, action, state, "")
            return False
        self.files[workflow_id] = self.write(action, self.files[workflow_id])
        await self.report(workflow_id, action, state, "finished execution successfully")
        await self.afterwards(action)
        await self._hand_on(workflow_id, action)
        return True

    async def _hand_on(self, workflow_id: str, action: pb.WorkflowAction) -> None:
        """Tell what the file holds, if that is new; the worker ends with what this raises."""
        data = self.files[workflow_id]
        if not _is_object(data) or self.known.get(workflow_id) == data:
            return
        self.known[workflow_id] = data
        update = pb.UpdateWorkflowDataRequest(workflow_id=workflow_id, data=data, metadata=metadata(action, data))
        await self.tools.workflow.UpdateWorkflowData(update, timeout=_CALL_SECONDS)

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


def metadata(action: pb.WorkflowAction, data: bytes) -> bytes:
    """Return what is told about a document. The checksum is one of nothing, behind the document itself."""
    about = {
        "workerID": action.worker_id,
        "actionName": action.name,
        "taskName": action.task_name,
        "updatedAt": "2021-03-15T00:00:00Z",
        "sha256": base64.b64encode(data + hashlib.sha256().digest()).decode(),
    }
    return json.dumps(about).encode()


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except ValueError:
        return False
