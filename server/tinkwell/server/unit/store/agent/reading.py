"""Reads for agents, besides grants: bags of others that a unit may read, and the packages of charms.

An agent can read only for units that it holds. A token is not valid after its lease has a newer one, even if the event
that was granted under it has not been taken over.
"""

import json
from collections.abc import AsyncGenerator

from tinkwell.server.database.database import Database, Fetch
from tinkwell.server.unit.store.agent.own import Bag

# The event, or the task, must be in flight under the caller's lease, which holds its unit. `coalesce` makes the planner
# find it by its own id, and not among the thousands that a lease may hold.
RUNNING = """
    SELECT e.unit_id
      FROM (SELECT unit_id FROM unit_event WHERE id = $1::text::uuid AND state = 'RUNNING' AND lease_token = $2
             UNION ALL
            SELECT unit_id FROM task WHERE id = $1::text::uuid AND state = 'RUNNING' AND lease_token = $2) e
      JOIN unit h ON h.id = e.unit_id
     WHERE coalesce(h.lease_id = (SELECT l.id FROM lease l WHERE l.token = $2), false)
"""
# From the event to a relation that the unit is in, until the unit has committed its relation-broken.
_MINE = f"""
    WITH mine AS (
        SELECT u.id AS unit_id, u.namespace, u.name, u.application_id, a.name AS application, o.name AS other,
               r.id AS relation_id, r.is_peer, u.number IS NOT DISTINCT FROM a.leader AS leads
          FROM ({RUNNING}) e
          JOIN unit u ON u.id = e.unit_id
          JOIN application a ON a.id = u.application_id
          JOIN relation r ON r.namespace = u.namespace AND r.number = $3
          JOIN relation_member m ON m.relation_id = r.id AND m.unit_id = u.id AND m.membership <> 'LEFT'
          LEFT JOIN relation_end far ON far.relation_id = r.id AND far.application_id <> u.application_id
          LEFT JOIN application o ON o.id = far.application_id
         WHERE NOT EXISTS (SELECT FROM unit_relation t
                            WHERE t.unit_id = u.id AND t.relation_id = r.id AND t.is_broken)
    )
"""  # noqa: S608
# A unit may read its own bags; its own application's if it is a peer relation, or if the unit leads; on the other side,
# the application's bag and the bags of members, including former ones, that it was told of; and those of its siblings
# that it was told of.
READ = f"""
    {_MINE}
    SELECT CAST(b.data AS text) AS data, b.version
      FROM mine m
      LEFT JOIN relation_bag b ON b.relation_id = m.relation_id AND b.owner = $4
     WHERE $4 = m.name
        OR $4 = m.application AND (m.is_peer OR m.leads)
        OR $4 = m.other
        OR EXISTS (
               SELECT FROM unit s JOIN relation_member x ON x.unit_id = s.id
                WHERE x.relation_id = m.relation_id AND x.membership <> 'ENTERING'
                  AND s.namespace = m.namespace AND s.name = $4
                  AND (x.membership = 'IN' AND (m.is_peer OR s.application_id <> m.application_id)
                       OR EXISTS (SELECT FROM unit_member t
                                   WHERE t.unit_id = m.unit_id AND t.relation_id = m.relation_id
                                     AND t.member_id = s.id AND NOT t.is_older)))
"""  # noqa: S608
RUNS = f"SELECT CAST(r.unit_id AS text) AS unit_id FROM ({RUNNING}) r"  # noqa: S608
# The charm that a unit runs, and the one that it will run from its next `upgrade-charm` on.
HOLDS_CHARM = """
    SELECT EXISTS (SELECT FROM unit u JOIN application a ON a.id = u.application_id
                    WHERE u.lease_id = $1::text::uuid AND $2 IN (u.charm, a.charm)) AS is_held
"""
_CHUNK = """
    SELECT k.data FROM charm c LEFT JOIN charm_chunk k ON k.charm_id = c.id AND k.number = $2 WHERE c.digest = $1
"""


async def is_running(fetch: Fetch, event_id: str, *, lease_token: int) -> bool:
    """Return whether an event or a task runs under the lease with a token."""
    return bool(await fetch(RUNS, event_id, lease_token))


async def bag(fetch: Fetch, event_id: str, *, lease_token: int, relation: int, owner: str) -> Bag | None:
    """Return a bag, possibly empty, that the unit of a running event may read, or None if it may not."""
    found = await fetch(READ, event_id, lease_token, relation, owner)
    if not found:
        return None
    row = found[0]
    return Bag(owner, json.loads(row["data"]) if row["data"] else {}, row["version"] or 0)


async def holds_charm(fetch: Fetch, lease_id: str, digest: str) -> bool:
    """Return whether a unit that is held under a lease runs, or will run, the charm with a digest."""
    found = await fetch(HOLDS_CHARM, lease_id, digest)
    return bool(found[0]["is_held"])


async def package(database: Database, digest: str) -> AsyncGenerator[bytes, None]:
    """Yield the package of a charm in chunks. Each is read by its own query, because a charm never changes."""
    number = 0
    while True:
        found = await database.fetch(_CHUNK, digest, number)
        if not found or found[0]["data"] is None:
            return
        yield bytes(found[0]["data"])
        number += 1
