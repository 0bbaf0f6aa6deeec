"""The machines that units may go to: which exist, which of them a live agent serves, and the units on them."""

from collections.abc import Collection, Mapping

from tinkwell.server.database.database import Fetch, Transaction

# No transaction deletes the machines until this one ends.
HOLD = """
    SELECT CAST(h.id AS text) AS id FROM hardware h
     WHERE h.id = ANY ($1::text[]::uuid[]) AND h.deleted_at IS NULL ORDER BY h.id FOR SHARE
"""
SERVED = """
    WITH served AS (
        SELECT DISTINCT m.id
          FROM unit_agent g JOIN lease l ON l.id = g.lease_id CROSS JOIN unnest(g.machines) AS m (id)
         WHERE l.expires_at > clock_timestamp() AND $1 = ANY (g.kinds)
           AND (g.charms = '{}' OR $2 = ANY (g.charms))
           AND (g.namespace = '' OR g.namespace = $3)
           AND (g.applications = '{}' OR $4 = ANY (g.applications))
    )
    SELECT CAST(s.id AS text) AS id, count(u.id) AS units
      FROM served s LEFT JOIN unit u ON u.machine_id = s.id AND u.life <> 'DEAD'
     GROUP BY s.id
"""
# Whether a live agent takes a unit `u`. This is the SQL form of the agent side's `Serving.has`.
SERVES = """EXISTS (
        SELECT FROM application t
          JOIN charm c ON c.digest = t.charm
          JOIN unit_agent g ON c.kind = ANY (g.kinds)
          JOIN lease l ON l.id = g.lease_id AND l.expires_at > clock_timestamp()
         WHERE t.id = u.application_id
           AND (CASE WHEN u.is_anywhere THEN g.is_anywhere ELSE u.machine_id = ANY (g.machines) END)
           AND (g.charms = '{}' OR t.charm = ANY (g.charms))
           AND (g.namespace = '' OR g.namespace = u.namespace)
           AND (g.applications = '{}' OR t.name = ANY (g.applications))
    )"""
HAS_AGENT = f"SELECT {SERVES} AS has_agent FROM unit u WHERE u.id = $1::text::uuid"  # noqa: S608


async def hold_machines(transaction: Transaction, machines: Collection[str]) -> Collection[str]:
    """Return those of the machines that exist. They are not deleted until the transaction ends."""
    return {row["id"] for row in await transaction.fetch(HOLD, list(machines))}


async def served(fetch: Fetch, *, kind: str, charm: str, namespace: str, application: str) -> Mapping[str, int]:
    """Return the number of units on each machine whose agent is alive and takes units of this application."""
    return {row["id"]: row["units"] for row in await fetch(SERVED, kind, charm, namespace, application)}


async def has_agent(fetch: Fetch, unit_id: str) -> bool:
    """Return whether a live agent takes a unit and has the charm of its application."""
    return bool((await fetch(HAS_AGENT, unit_id))[0]["has_agent"])
