"""Attempts at an action, in words."""

import math
from datetime import datetime
from typing import TYPE_CHECKING

from tinkwell.cli.shell import duration

if TYPE_CHECKING:
    from tinkwell.client import Action


def ordinal(action: "Action") -> str:
    """Say which attempt it is, and of how many if there may be several; empty before the first."""
    return count(action.attempt, action.retries)


def count(attempt: int, retries: int) -> str:
    """Say the same for numbers. A user has started attempts beyond the retries."""
    if not attempt:
        return ""
    return f"attempt {attempt} of {max(attempt, retries + 1)}" if retries else f"attempt {attempt}"


def pause(action: "Action", at: datetime | None) -> str:
    """Say how long an action waits, from `at` on, for its next attempt; empty if it does not wait."""
    return "" if at is None else until(action.retry_at, at)


def until(retry_at: datetime | None, at: datetime) -> str:
    """Say the same for times."""
    if retry_at is None or retry_at <= at:
        return ""
    return f"retries in {duration.show(math.ceil((retry_at - at).total_seconds()))}"
