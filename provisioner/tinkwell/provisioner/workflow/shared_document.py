"""The document that the actions of a workflow share, on whichever machine they run.

    the server ──▶ $WORKFLOW_DIR/data ──▶ an action ──▶ $WORKFLOW_DIR/data ──▶ the server
             before it begins                       after it has succeeded

Tinkerbell's worker does the same, but sends the document a moment after it reports the success; see
`tinkwell.core.workflow.handover`. This provisioner sends it before, so the next action always has it. The document of
an action that fails is not sent. A file that is no JSON object is not sent either, so that a workflow may use a file of
that name for itself.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol

from tinkwell.client import errors, retry
from tinkwell.client.workflow.model import Action, Document
from tinkwell.core.value.run_key import RunKey
from tinkwell.core.workflow import handover
from tinkwell.provisioner.agent.run_spec import fields
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.state_dir import document
from tinkwell.provisioner.workflow import workflow_folder

logger = logging.getLogger(__name__)

# The server's limit for a document.
MAX_BYTES = 2 * 1024 * 1024
# The time between two questions for a document that may still come.
ASK_SECONDS = 0.05
_NOT_JSON = "its data is not handed on, for it is not JSON"


class DocumentApi(Protocol):
    """The calls to the server that sharing a document needs."""

    async def data(self, id: str) -> Document:  # noqa: A002
        """Return the latest version of a workflow's document, empty if there is none."""

    async def metadata(self, id: str) -> Document:  # noqa: A002
        """Return the metadata of that version."""

    async def update_data(self, id: str, data: bytes, metadata: bytes) -> int:  # noqa: A002
        """Store a new version of the document and return its number."""


class Refused(Exception):
    """The document that an action has left cannot be sent; the text says why."""


class SharedDocument:
    """Gives the document to one attempt at an action, and sends what the attempt makes of it.

    `before` is the action before that one.
    """

    def __init__(
        self,
        api: DocumentApi,
        files: workflow_folder.Files,
        key: RunKey,
        action: Action,
        *,
        before: Action | None = None,
    ) -> None:
        self._api = api
        self._before = before
        self._files = files
        self._key = key
        self._action = action
        # The latest version, as the server said when it let the attempt begin.
        self.version = 0
        # The document as the attempt found it; None if another process began the attempt.
        self._found: bytes | None = None

    async def bring(self) -> None:
        """Write the document for the attempt that is about to begin; raises `RunError` if that fails.

        If the server has no document, an empty one is written, also over a document that a failed attempt has left. If
        only the empty one cannot be written, that is logged and the attempt begins, since most actions need none.
        """
        if self._before is not None and handover.may_come(self._before, worker_id=self._action.worker_id):
            await self._await_version(self._before)
        content = await self._latest() if self.version else None
        self._found = content or document.EMPTY
        try:
            if content is None and self._key.attempt > 1 and await self._has_left():
                content = document.EMPTY
            if content is not None or self._size() is None:
                await asyncio.to_thread(
                    self._files.bring_document, self._key.owner, self._action.worker_id, content=content
                )
        except OSError as error:
            message = f"the data of its workflow cannot be written: {error.strerror}"
            if content is not None:
                raise port.RunError(port.Reason.UNAVAILABLE, message) from error
            logger.warning(
                "the empty data file of an action cannot be written; the action begins without it",
                extra=fields(self._key) | {"cause": str(error)},
            )

    async def hand_on(self, confirm: Callable[[], Awaitable[bool]]) -> str:
        """Send the document to the server if the attempt has changed it and `confirm` says that this process owns it.

        Returns a remark for the action's message if the file is not sent, else an empty string. Raises `Refused`.
        """
        try:
            content = None if self._is_still_empty() else await self._read()
        except OSError as error:
            return f"its data is not handed on, for it cannot be read: {error.strerror}"
        if content is None or not _is_meant(content):
            return ""
        if len(content) > MAX_BYTES:
            raise Refused(
                f"its data cannot be handed on, for it has more than the {MAX_BYTES:,} bytes that are allowed"
            )
        if self._found is None:
            self._found = await self._latest() or document.EMPTY
        if content == self._found:
            return ""
        if not await asyncio.to_thread(_is_json, content):
            return _NOT_JSON
        if await confirm():
            await self._send(content)
        return ""

    def _size(self) -> int | None:
        """Return the size of the file in bytes, None if there is none; raises `OSError`."""
        return self._files.document_size(self._key.owner, self._action.worker_id)

    def _is_still_empty(self) -> bool:
        """Return whether the document was empty before the attempt and is so now; raises `OSError`.

        This is so for nearly all actions. The size is enough to tell, because no other JSON object is as short.
        """
        return self._found == document.EMPTY and (self._size() or 0) <= len(document.EMPTY)

    async def _read(self) -> bytes | None:
        """Return the content of the file, None if there is none; raises `OSError`."""
        return await asyncio.to_thread(
            self._files.read_document, self._key.owner, self._action.worker_id, max_bytes=MAX_BYTES
        )

    async def _has_left(self) -> bool:
        """Return whether an earlier attempt has left a document; raises `OSError`."""
        content = await self._read()
        return content is not None and _is_meant(content) and await asyncio.to_thread(_is_json, content)

    async def _await_version(self, before: Action) -> None:
        """Wait until the latest version is from the action before, at most `SETTLING_SECONDS`; raises `RunError`."""
        clock = asyncio.get_running_loop().time
        ends_at = clock() + handover.SETTLING_SECONDS
        while True:
            told = await self._ask(lambda: self._api.metadata(self._key.owner))
            self.version = told.version
            if handover.is_from(told.data, before) or clock() >= ends_at:
                return
            await asyncio.sleep(ASK_SECONDS)

    async def _latest(self) -> bytes:
        """Return the document that the server has; raises `RunError` if it does not answer."""
        return (await self._ask(lambda: self._api.data(self._key.owner))).data

    async def _ask(self, question: Callable[[], Awaitable[Document]]) -> Document:
        try:
            return await retry.until_answered(question, what="get a workflow's data", gives_up=(errors.Internal,))
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            message = f"the server failed to return the data of its workflow: {error}"
            raise port.RunError(port.Reason.UNAVAILABLE, message) from error

    async def _send(self, content: bytes) -> None:
        metadata = await asyncio.to_thread(self._metadata, content)
        try:
            await retry.until_answered(
                lambda: self._api.update_data(self._key.owner, content, metadata),
                what="hand on a workflow's data",
                gives_up=(errors.Internal,),
            )
        except errors.NotFound:
            # The report that follows is refused for the same reason.
            logger.info("a workflow was deleted while its data was sent; the data is dropped", extra=fields(self._key))
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            raise Refused(f"its data cannot be handed on: {error}") from error

    def _metadata(self, content: bytes) -> bytes:
        """Return the metadata that names the origin of the document, with the keys that Tinkerbell's worker uses."""
        metadata = {
            handover.WORKER: self._action.worker_id,
            handover.ACTION: self._action.name,
            handover.TASK: self._action.task_name,
            "updatedAt": datetime.now(UTC).isoformat(),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        return json.dumps(metadata, ensure_ascii=False).encode()


def _is_meant(content: bytes) -> bool:
    """Return whether a file begins like a JSON object; any other file is the workflow's own business."""
    return content.lstrip().startswith(b"{")


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True
