"""Why an operation ended without success, as events and answers carry it.

    {"reason": "NODE_FAILED", "message": "…", "path": "db"}

`path` is there where a node failed.
"""

import json
from enum import StrEnum


class Reason(StrEnum):
    """Why an operation ended without success. Before there was a plan nothing was changed: PREPARATION_FAILED.

    SECRETS_DISABLED: the server could not seal or open what is secret in it. PLAN_STALE: it was to apply a plan that
    was made for something else. OUTPUTS_FAILED: all is there, but what the release gives out cannot be evaluated.
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
    document = {"reason": str(reason), "message": message} | ({"path": path} if path else {})
    return json.dumps(document, ensure_ascii=False)


def is_lost(cause: str) -> bool:
    """Return whether an operation ended since nobody could tell how an action of it did; `cause` is JSON text."""
    told = json.loads(cause) if cause else None
    return isinstance(told, dict) and told.get("reason") == Reason.STEP_LOST
