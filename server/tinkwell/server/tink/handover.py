"""The document that a worker hands on after an action.

Tinkerbell's worker has told by then that its action has succeeded, and it ends where the document is refused. So what
its own server takes is taken, and where that cannot be, its workflow ends with the reason.
"""

import base64
import binascii
import hashlib
import json
import logging
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.value import parse
from tinkwell.server.database.offload import Aside
from tinkwell.server.tink import container_name
from tinkwell.server.tink.worker_id import WorkerIds
from tinkwell.server.workflow.service.data import WorkflowDataService
from tinkwell.server.workflow.service.operations import MAX_REASON_BYTES, WorkflowService

logger = logging.getLogger(__name__)

_READERS = 2
_CHECKSUM = "sha256"
_CHECKSUM_BYTES = 32


@dataclass(frozen=True, slots=True)
class _Sender:
    """Who hands a document on, as its metadata says."""

    worker_id: str
    task_name: str
    action_name: str


class Handover:
    """Stores documents."""

    def __init__(self, workflows: WorkflowService, data: WorkflowDataService, workers: WorkerIds) -> None:
        self._workflows = workflows
        self._data = data
        self._workers = workers
        self._aside = Aside(_READERS)

    async def take(self, workflow_id: str, *, metadata: bytes, data: bytes, actor: str) -> None:
        """Store the next version. Raises as `WorkflowDataService.update` does; a worker's workflow has then ended."""
        metadata, sender = await self._aside.run(_read, metadata, data)
        try:
            await self._data.update(workflow_id, metadata=metadata, data=data, actor=actor)
        except errors.InvalidField as refused:
            if sender is not None:
                await self._end(workflow_id, sender, refused, actor=actor)
            raise

    async def _end(self, workflow_id: str, sender: _Sender, refused: errors.InvalidField, *, actor: str) -> None:
        """End a workflow whose worker has ended with this refusal. Whoever is no worker of it changes nothing."""
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
            # It is deleted, or over: that was its last action.
            return


def _read(metadata: bytes, data: bytes) -> tuple[bytes, _Sender | None]:
    """Return the metadata, without what repeats the data, and who sent it; None for what is no worker's."""
    try:
        told = json.loads(metadata)
    except (ValueError, RecursionError):
        return metadata, None
    if not isinstance(told, dict):
        return metadata, None
    names = [told.get(key) for key in ("workerID", "taskName", "actionName")]
    sender = _Sender(*names) if all(isinstance(name, str) for name in names) else None
    if _repeats(told.get(_CHECKSUM), data):
        told[_CHECKSUM] = base64.b64encode(hashlib.sha256(data).digest()).decode()
        metadata = json.dumps(told, separators=(",", ":")).encode()
    return metadata, sender


def _repeats(checksum: object, data: bytes) -> bool:
    """Say whether a checksum is the data itself with one of nothing behind it, which is what v0.5 sends."""
    if not isinstance(checksum, str) or len(checksum) < len(data):
        return False
    try:
        told = base64.b64decode(checksum, validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(told) == len(data) + _CHECKSUM_BYTES and told.startswith(data)


def _shortened(reason: str) -> str:
    return reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
