"""Where units may go: which machines there are, which of them an agent serves that is alive, and who is there."""

from collections.abc import Collection, Mapping, Sequence

from tinkwell.server.database.database import Fetch, Transaction

# Nobody deletes the machines until the end.
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
COUNT = """
    SELECT CAST(u.machine_id AS text) AS id, count(*) AS units
      FROM unit u WHERE u.machine_id = ANY ($1::text[]::uuid[]) AND u.life <> 'DEAD' GROUP BY u.machine_id
"""
UNITS = """
    SELECT CAST(u.machine_id AS text) AS machine, u.name
      FROM unit u WHERE u.machine_id = ANY ($1::text[]::uuid[]) ORDER BY u.machine_id, u.name LIMIT $2
"""
_MOST_NAMES = 1_000


async def hold_machines(transaction: Transaction, machines: Collection[str]) -> Collection[str]:
    """Return those of some machines that there are, which nobody deletes until the transaction ends."""
    return {row["id"] for row in await transaction.fetch(HOLD, list(machines))}


async def served(fetch: Fetch, *, kind: str, charm: str, namespace: str, application: str) -> Mapping[str, int]:
    """Return how many units are on each machine whose agent is alive and takes units of this application."""
    return {row["id"]: row["units"] for row in await fetch(SERVED, kind, charm, namespace, application)}


async def count_units(fetch: Fetch, machines: Collection[str]) -> Mapping[str, int]:
    """Return how many units are on each of some machines, for those that have any."""
    return {row["id"]: row["units"] for row in await fetch(COUNT, list(machines))}


async def units_on(fetch: Fetch, machines: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Return the names of the units on each of some machines that have any, the first thousand of them."""
    found: dict[str, list[str]] = {}
    for row in await fetch(UNITS, list(machines), _MOST_NAMES):
        found.setdefault(row["machine"], []).append(row["name"])
    return found
