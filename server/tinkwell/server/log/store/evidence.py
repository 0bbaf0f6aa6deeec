"""Whether the log still is what somebody has seen of it."""

from collections.abc import Sequence

import asyncpg

_EVENTS = "SELECT revision, id::text FROM events WHERE revision = ANY ($1::bigint[])"
_OLDEST = "SELECT oldest_revision FROM event_history"
_REVIVED = """
    SELECT EXISTS (
        SELECT FROM unnest($1::bigint[], $2::bigint[]) AS dead (first, last)
         CROSS JOIN LATERAL (SELECT FROM events WHERE revision BETWEEN dead.first AND dead.last LIMIT 1) AS event
    )
"""


async def holds(
    connection: asyncpg.Connection, *, delivered: Sequence[tuple[int, str]], dead: Sequence[tuple[int, int]]
) -> bool:
    """Return whether these events, by revision and id, are there unless they are forgotten, and none in the ranges."""
    if dead and await connection.fetchval(_REVIVED, [first for first, _ in dead], [last for _, last in dead]):
        return False
    if not delivered:
        return True
    rows = await connection.fetch(_EVENTS, [revision for revision, _ in delivered])
    found = {row[0]: row[1] for row in rows}
    gone = [revision for revision, event_id in delivered if found.get(revision) != event_id]
    # Read last: what was forgotten meanwhile is no longer there.
    return not gone or max(gone) < (await connection.fetchval(_OLDEST) or 0)


async def renounce(connection: asyncpg.Connection, known: str) -> None:
    """Give the log another history, unless it has another one than this already."""
    await connection.execute("SELECT renew_history($1::text::uuid)", known)
