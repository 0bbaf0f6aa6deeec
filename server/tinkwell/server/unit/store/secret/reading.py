"""Finds the revision of a secret that a unit reads in an event or a task, if it may."""

from dataclasses import dataclass

from tinkwell.server.database.database import Fetch
from tinkwell.server.unit.store.agent.reading import RUNNING
from tinkwell.server.unit.store.secret.access import may_read, owns

# By its name, or else by the label that the unit has for it, or that it has as its owner.
READ = f"""
    SELECT CAST(s.id AS text) AS id, s.name, v.revision
      FROM ({RUNNING}) e
      JOIN unit u ON u.id = e.unit_id JOIN application a ON a.id = u.application_id
     CROSS JOIN LATERAL (
           SELECT s.* FROM (
               SELECT id FROM secret WHERE $3 <> '' AND namespace = u.namespace AND name = $3
                UNION
               SELECT id FROM secret
                WHERE $3 = '' AND namespace = u.namespace AND label = $4 AND label <> ''
                  AND owner = ANY (ARRAY[u.name,
                                         CASE WHEN u.number IS NOT DISTINCT FROM a.leader THEN a.name END]::text[])
                UNION
               SELECT secret_id FROM secret_reader WHERE $3 = '' AND unit_id = u.id AND label = $4 AND label <> ''
           ) mine JOIN secret s ON s.id = mine.id OFFSET 0) s
      LEFT JOIN secret_revision v
        ON v.secret_id = s.id AND v.revision = CASE WHEN CAST($5 AS bigint) = 0 THEN s.latest ELSE $5 END
     WHERE {may_read()}
     ORDER BY {owns()} DESC LIMIT 1
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Found:
    """A secret that a unit may read. `revision` is None if it has no such revision."""

    id: str
    name: str
    revision: int | None


async def find(fetch: Fetch, event_id: str, *, lease_token: int, name: str, label: str, revision: int) -> Found | None:
    """Return a secret that the unit of a running event or task may read, or None. Revision 0 is the newest."""
    found = await fetch(READ, event_id, lease_token, name, label, revision)
    return Found(**dict(found[0])) if found else None
