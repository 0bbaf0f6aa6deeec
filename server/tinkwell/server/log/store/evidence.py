"""Checks that the log still has what a reader has seen of it."""

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
    """Return whether the log has all delivered events (revision and id), and none in the dead ranges of revisions.

    Events that retention has forgotten count as present.
    """
    if dead and await connection.fetchval(_REVIVED, [first for first, _ in dead], [last for _, last in dead]):
        return False
    if not delivered:
        return True
    rows = await connection.fetch(_EVENTS, [revision for revision, _ in delivered])
    found = {row[0]: row[1] for row in rows}
    gone = [revision for revision, event_id in delivered if found.get(revision) != event_id]
    # Read after the events: some of them may have been forgotten before they were read.
    return not gone or max(gone) < (await connection.fetchval(_OLDEST) or 0)


async def renounce(connection: asyncpg.Connection, known: str) -> None:
    """Give the log a new history if its history still is `known`."""
    await connection.execute("SELECT renew_history($1::text::uuid)", known)
