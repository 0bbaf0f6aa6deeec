"""The lifecycle events that releases emitted: stored, and read in order."""

import dataclasses
import json
from typing import Any

import asyncpg

from tinkwell.core.release.lifecycle_event.run import HandlerRun, LifecycleRun, Outcome
from tinkwell.core.release.report import LifecycleReport
from tinkwell.server.database.database import Fetch

# An event that is stored already with the same content stays unchanged, and makes no event of the log. The row of the
# operation is locked, so no other transaction takes the next ordinal.
STORE = """
    INSERT INTO lifecycle AS e (operation_id, release_id, ordinal, event, chart, handlers, outcome, message, seconds)
    SELECT o.id, o.release_id,
           (SELECT coalesce(max(former.ordinal), 0) + 1 FROM lifecycle former WHERE former.operation_id = o.id),
           $2, $3, $4::text::json, $5, $6, $7
      FROM operation o WHERE o.id = $1::text::uuid
        ON CONFLICT (operation_id, event, chart) DO UPDATE
       SET handlers = excluded.handlers, outcome = excluded.outcome, message = excluded.message,
           seconds = excluded.seconds
     WHERE (e.handlers::text, e.outcome, e.message, e.seconds)
           IS DISTINCT FROM (excluded.handlers::text, excluded.outcome, excluded.message, excluded.seconds)
"""
LIST = """
    SELECT CAST(id AS text) AS id, version, CAST(operation_id AS text) AS operation_id,
           CAST(release_id AS text) AS release_id, ordinal, event, chart, CAST(handlers AS text) AS handlers, outcome,
           message, seconds, created_at, updated_at
      FROM lifecycle WHERE operation_id = $1::text::uuid ORDER BY ordinal
"""


def values(told: LifecycleReport) -> tuple[object, ...]:
    """Return the values of `STORE` that follow the id of the operation."""
    handlers = json.dumps([dataclasses.asdict(each) for each in told.handlers])
    return (told.event, told.chart, handlers, told.outcome, told.message, told.seconds)


async def list_runs(fetch: Fetch, operation_id: str) -> list[LifecycleRun]:
    """Return the lifecycle events of an operation, by ordinal."""
    return [_run(found) for found in await fetch(LIST, operation_id)]


def _run(found: asyncpg.Record) -> LifecycleRun:
    handlers = tuple(_handler(each) for each in json.loads(found["handlers"]))
    return LifecycleRun(**dict(found) | {"handlers": handlers, "outcome": Outcome(found["outcome"])})


def _handler(found: dict[str, Any]) -> HandlerRun:
    return HandlerRun(**found | {"outcome": Outcome(found["outcome"])})
