"""The results of events that were emitted."""

import datetime
from dataclasses import dataclass
from enum import StrEnum

MAX_HANDLERS = 1_000


class Outcome(StrEnum):
    """The result of an event. WARNED: a handler failed, and this made nothing else fail."""

    SUCCEEDED = "SUCCEEDED"
    WARNED = "WARNED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerRun:
    """A handler that heard an event.

    `chart` is the path of the chart that brought it, "" for a handler in Python. `file` is the path in the chart, such
    as ext/lua/init.lua, and for Python the name of the entry point.
    """

    chart: str
    file: str
    line: int
    weight: float
    seconds: float
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleRun:
    """A stored event: `chart` is the path of its chart, "" without charts.

    `ordinal` counts the events of the operation, from 1. `seconds` is the total time of all handlers.
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
