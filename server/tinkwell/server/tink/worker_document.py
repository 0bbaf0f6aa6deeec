"""The document that a worker hands on after an action.

Before that, Tinkerbell's worker has reported the success of its action, and it exits if the document is refused. So the
server accepts every document that Tinkerbell's server accepts. If that is impossible, the workflow ends with the
reason. Another worker may already have begun the next action, and waits a moment for the document; see
`tinkwell.core.workflow.handover`.
"""

import asyncio
import base64
import binascii
import hashlib
import itertools
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.value import parse
from tinkwell.core.workflow import handover
from tinkwell.core.workflow.record import Action
from tinkwell.server.database.offload import Aside
from tinkwell.server.tink import container_name
from tinkwell.server.tink.worker_id import WorkerIds
from tinkwell.server.workflow.service.data import Document, WorkflowDataService
from tinkwell.server.workflow.service.operations import MAX_REASON_BYTES, WorkflowService

logger = logging.getLogger(__name__)

_READERS = 2
_CHECKSUM = "sha256"
_CHECKSUM_BYTES = 32
# The interval between two looks while the document may still come.
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class _Sender:
    """The sender of a document, as its metadata names it."""

    worker_id: str
    task_name: str
    action_name: str


class WorkerDocuments:
    """Stores documents."""

    def __init__(self, workflows: WorkflowService, data: WorkflowDataService, workers: WorkerIds) -> None:
        self._workflows = workflows
        self._data = data
        self._workers = workers
        self._aside = Aside(_READERS)

    async def take(self, workflow_id: str, *, metadata: bytes, data: bytes, actor: str) -> None:
        """Store the next version.

        Raises the errors of `WorkflowDataService.update`; a worker's workflow has then ended.
        """
        metadata, sender = await self._aside.run(_read, metadata, data)
        try:
            await self._data.update(workflow_id, metadata=metadata, data=data, actor=actor)
        except errors.InvalidField as refused:
            if sender is not None:
                await self._end(workflow_id, sender, refused, actor=actor)
            raise

    async def find(self, workflow_id: str) -> Document:
        """Return the latest version for an action that begins, as `WorkflowDataService.get_data` does.

        It is padded with spaces to the length of the longest version that is kept: a worker writes it over the
        beginning of its file, and would leave the end of a longer version behind it.
        """
        if (before := _awaited(await self._workflows.list_actions(workflow_id))) is not None:
            await self._await_version(workflow_id, before)
        found = await self._data.get_data(workflow_id, 0)
        if not found.text:
            return found
        length = await self._data.get_length(workflow_id) - len(found.text.encode())
        return replace(found, text=found.text + " " * max(length, 0))

    async def _await_version(self, workflow_id: str, before: Action) -> None:
        clock = asyncio.get_running_loop().time
        ends_at = clock() + handover.SETTLING_SECONDS
        while clock() < ends_at:
            told = await self._data.get_metadata(workflow_id, 0)
            if handover.is_from(told.text, before):
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def _end(self, workflow_id: str, sender: _Sender, refused: errors.InvalidField, *, actor: str) -> None:
        """End a workflow whose worker has ended because of this refusal.

        A sender that is not its worker changes nothing.
        """
        try:
            worker_id = await self._workers.resolve(sender.worker_id)
            actions = await self._workflows.list_actions(workflow_id)
        except (errors.InvalidField, errors.NotFound):
            return
        action = container_name.find(actions, sender.task_name, sender.action_name)
        if action is None or action.state is not State.SUCCEEDED or action.worker_id != worker_id:
            return
        name, task_name = parse.excerpt(action.name), parse.excerpt(action.task_name)
        reason = f"the data after action {name} of task {task_name} was refused: {refused}"
        logger.warning("a worker's data is refused", extra={"workflow": workflow_id, "cause": reason})
        try:
            await self._workflows.cancel(workflow_id, _shortened(reason), actor=actor)
        except (errors.NotFound, errors.IllegalTransition):
            # The workflow is deleted, or over: this was its last action.
            return


def _awaited(actions: Sequence[Action]) -> Action | None:
    """Return the action before the one that has just begun, if its document may still come."""
    for before, current in itertools.pairwise(actions):
        if current.state is not State.RUNNING or not handover.may_come(before, worker_id=current.worker_id):
            continue
        if current.started_at is None or before.finished_at is None:
            continue
        if (current.started_at - before.finished_at).total_seconds() < handover.SETTLING_SECONDS:
            return before
    return None


def _read(metadata: bytes, data: bytes) -> tuple[bytes, _Sender | None]:
    """Return the metadata, without the copy of the data, and the sender, or None if it is not a worker."""
    try:
        told = json.loads(metadata)
    except (ValueError, RecursionError):
        return metadata, None
    if not isinstance(told, dict):
        return metadata, None
    sender = None
    match told.get(handover.WORKER), told.get(handover.TASK), told.get(handover.ACTION):
        case str() as worker_id, str() as task_name, str() as action_name:
            sender = _Sender(worker_id, task_name, action_name)
    if _repeats(told.get(_CHECKSUM), data):
        told[_CHECKSUM] = base64.b64encode(hashlib.sha256(data).digest()).decode()
        metadata = json.dumps(told, separators=(",", ":")).encode()
    return metadata, sender


def _repeats(checksum: object, data: bytes) -> bool:
    """Return whether a checksum is the data itself, followed by the checksum of nothing, which v0.5 sends."""
    if not isinstance(checksum, str) or len(checksum) < len(data):
        return False
    try:
        told = base64.b64decode(checksum, validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(told) == len(data) + _CHECKSUM_BYTES and told.startswith(data)


def _shortened(reason: str) -> str:
    return reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
