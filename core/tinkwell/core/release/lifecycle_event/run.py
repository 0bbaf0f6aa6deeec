"""What came of an event that was emitted."""

import datetime
from dataclasses import dataclass
from enum import StrEnum

MAX_HANDLERS = 1_000


class Outcome(StrEnum):
    """How an event went by. WARNED: a handler failed, and nothing else by that."""

    SUCCEEDED = "SUCCEEDED"
    WARNED = "WARNED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerRun:
    """A handler that heard an event. `chart` is the path of the chart that brought it, empty for one in Python.

    `file` is as in the chart, such as ext/lua/init.lua, and for Python the name of the entry point.
    """

    chart: str
    file: str
    line: int
    weight: float
    seconds: float
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleRun:
    """An event as it is stored: `chart` is the path of the one whose event it is, empty without charts.

    `ordinal` counts what was emitted in the operation, from 1. `seconds` is how long all handlers took together.
    """

    id: str
    version: int
    operation_id: str
    release_id: str
    ordinal: int
    event: str
    chart: str
    handlers: tuple[HandlerRun, ...]
    outcome: Outcome
    message: str
    seconds: float
    created_at: datetime.datetime
    updated_at: datetime.datetime
