"""The stored events of units, the notices that their charms have deferred, and their logs."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.unit.kinds import EventState, Phase
from tinkwell.core.unit.record import Event, EventRelation, LogLine, Notice
from tinkwell.server.database.database import Fetch

_LISTED_ROWS = 100
_EVENT = """
    CAST(e.id AS text) AS event_id, e.unit AS event_unit, e.kind, e.ordinal, e.attempt, e.state, e.phase AS event_phase,
    e.relation, e.endpoint, e.is_peer, e.remote_application, e.remote_unit, e.departing_unit, e.storage, e.secret,
    e.secret_revision AS revision, e.is_mirrored,
    e.is_echo, e.seen_config, e.seen_charm, e.seen_term, e.seen_bag, e.reason, e.leaving, e.actor,
    CAST(e.cause AS text) AS cause, e.message, e.deferred, e.consumed, e.started_at, e.finished_at,
    e.retry_at, e.version AS event_version, e.namespace AS event_namespace,
    CAST(e.application_id AS text) AS event_application_id, CAST(e.unit_id AS text) AS event_unit_id,
    e.created_at AS event_created_at, e.updated_at AS event_updated_at
"""
COLUMNS = _EVENT
_LIST = sqlalchemy.text(f"""
    SELECT {_EVENT} FROM unit_event e
     WHERE e.unit_id = CAST(:unit_id AS uuid)
       AND (CAST(:kinds AS text[]) = '{{}}' OR e.kind = ANY (CAST(:kinds AS text[])))
     ORDER BY e.ordinal DESC LIMIT :limit
""").execution_options(yield_per=_LISTED_ROWS)  # noqa: S608
NOTICES = """
    SELECT n.handler, n.ordinal, CAST(n.event AS text) AS event, n.attempts, n.created_at
      FROM deferred_notice n WHERE n.unit_id = $1::text::uuid ORDER BY n.id
"""
# The lines of a page come in the order of their ids, which is the order in which they were stored.
_LINE = """
    SELECT l.id, CAST(u.id AS text) AS unit_id, u.name AS unit,
           coalesce(coalesce(nullif(e.endpoint, ''), nullif(split_part(e.storage, '/', 1), '')) || '-', '')
               || coalesce(e.kind, '') AS event_name,
           l.ordinal, l.attempt, l.number, l.level, l.line AS text, l.created_at
      FROM unit u JOIN unit_log l ON l.unit_id = u.id
      LEFT JOIN unit_event e ON e.unit_id = u.id AND e.ordinal = l.ordinal
"""
# Ids grow only within one unit: a smaller id of another unit may appear later.
LINES = f"""
    {_LINE}
      JOIN unnest($1::text[], $2::bigint[]) AS p (unit_id, after) ON u.id = p.unit_id::uuid AND l.id > p.after
     ORDER BY l.id LIMIT $3
"""
NEWEST = """
    SELECT coalesce(min(f.id), 1) - 1 FROM (
        SELECT l.id FROM unit_log l WHERE l.unit_id = ANY ($1::text[]::uuid[]) ORDER BY l.id DESC LIMIT $2
    ) f
"""


async def list_events(
    connection: AsyncConnection, unit_id: str, *, kinds: Sequence[str], limit: int
) -> AsyncGenerator[Event, None]:
    """Yield the events of a unit, newest first, of some kinds or all, at most `limit`."""
    values = {"unit_id": unit_id, "kinds": list(kinds), "limit": limit}
    async with connection.stream(_LIST, values) as rows:
        async for found in rows.mappings():
            yield read(found)


async def list_notices(fetch: Fetch, unit_id: str) -> Sequence[Notice]:
    """Return the notices that a unit's charm has deferred, in the order in which they are retried."""
    return [Notice(**dict(row)) for row in await fetch(NOTICES, unit_id)]


async def list_lines(fetch: Fetch, after: Mapping[str, int], *, limit: int) -> Sequence[LogLine]:
    """Return the next lines of several units' logs, each after a line of its own, at most `limit`."""
    return [LogLine(**dict(row)) for row in await fetch(LINES, list(after.keys()), list(after.values()), limit)]


async def find_newest(fetch: Fetch, unit_ids: Sequence[str], *, count: int) -> int:
    """Return the id of the line that is followed by `count` lines of units, or by all lines if there are fewer."""
    return int((await fetch(NEWEST, list(unit_ids), count))[0][0])


def read(found: Mapping[Any, Any]) -> Event:
    """Read an event from a row with `COLUMNS`."""
    relation = None
    if found["relation"]:
        relation = EventRelation(
            number=found["relation"],
            endpoint=found["endpoint"],
            is_peer=found["is_peer"],
            application=found["remote_application"],
            unit=found["remote_unit"],
            departing_unit=found["departing_unit"],
        )
    return Event(
        **{name: found[f"event_{name}"] for name in _OF_ROW},
        state=EventState(found["state"]),
        phase=Phase(found["event_phase"]),
        relation=relation,
        cause=json.loads(found["cause"]),
        **{name: found[name] for name in _SAME},
    )


_OF_ROW = ("id", "namespace", "application_id", "unit_id", "unit", "version", "created_at", "updated_at")
_SAME = (
    *(
        "kind",
        "ordinal",
        "attempt",
        "storage",
        "secret",
        "revision",
        "is_mirrored",
        "is_echo",
        "seen_config",
        "seen_charm",
        "seen_term",
    ),
    *("seen_bag", "reason", "leaving", "actor", "message", "deferred", "consumed", "started_at", "finished_at"),
    "retry_at",
)
