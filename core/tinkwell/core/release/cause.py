"""Why an operation ended without success, as events and answers carry it.

    {"reason": "NODE_FAILED", "message": "…", "path": "db"}

`path` is there where a node failed.
"""

import itertools
import json
from collections.abc import Callable
from enum import StrEnum

MAX_MESSAGE_CHARACTERS = 4_000
# The size of the message as JSON text, in which some characters take many bytes.
MAX_MESSAGE_BYTES = 12 * 1024


class Reason(StrEnum):
    """Why an operation ended without success.

    PREPARATION_FAILED: there was no plan yet, and nothing was changed. SECRETS_DISABLED: the server could not seal or
    open the operation's secrets. PLAN_STALE: the operation was to apply a plan, and the release has changed since.
    OUTPUTS_FAILED: all resources are READY, but the release's outputs cannot be evaluated.
    """

    PREPARATION_FAILED = "PREPARATION_FAILED"
    NODE_FAILED = "NODE_FAILED"
    STEP_LOST = "STEP_LOST"
    TIMEOUT = "TIMEOUT"
    INTERNAL = "INTERNAL"
    SECRETS_DISABLED = "SECRETS_DISABLED"
    CANCELLED = "CANCELLED"
    PLAN_STALE = "PLAN_STALE"
    OUTPUTS_FAILED = "OUTPUTS_FAILED"


def text(reason: Reason, message: str, *, path: str = "") -> str:
    """Return the JSON text of a cause."""
    document = {"reason": str(reason), "message": fitting(message)} | ({"path": path} if path else {})
    return json.dumps(document, ensure_ascii=False)


def with_message(cause: str, change: Callable[[str], str]) -> str:
    """Return a cause with a changed message; both are JSON text."""
    told = json.loads(cause)
    return json.dumps(told | {"message": fitting(change(told["message"]))}, ensure_ascii=False)


def fitting(message: str) -> str:
    """Return a message as it can be stored: a long one is cut and gets an ellipsis, and NUL is escaped."""
    message = message.replace("\0", "\\0")
    if len(message) <= MAX_MESSAGE_CHARACTERS and _size(message) <= MAX_MESSAGE_BYTES:
        return message
    sizes = itertools.accumulate(map(_size, message[: MAX_MESSAGE_CHARACTERS - 1]))
    return message[: sum(size <= MAX_MESSAGE_BYTES - len("…".encode()) for size in sizes)] + "…"


def _size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - len('""')


def is_lost(cause: str) -> bool:
    """Return whether an operation ended because the result of an action was lost; `cause` is JSON text."""
    told = json.loads(cause) if cause else None
    return isinstance(told, dict) and told.get("reason") == Reason.STEP_LOST
