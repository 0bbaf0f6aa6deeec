"""Finds attempts that are past their deadline although their agent lives."""

from collections.abc import Sequence

from tinkwell.server.database.database import Fetch

FIND = """
    SELECT CAST(e.unit_id AS text) AS unit_id, CAST(e.id AS text) AS id
      FROM unit_event e JOIN lease l ON l.token = e.lease_token
     WHERE e.state = 'RUNNING' AND l.expires_at > clock_timestamp()
       AND e.deadline_at < clock_timestamp() - make_interval(secs => $1)
     ORDER BY e.deadline_at LIMIT $2
"""


async def find(fetch: Fetch, *, late_seconds: float, most: int) -> Sequence[tuple[str, str]]:
    """Return the units and events whose attempts are late by more than `late_seconds`, the latest first."""
    return [(row["unit_id"], row["id"]) for row in await fetch(FIND, late_seconds, most)]
