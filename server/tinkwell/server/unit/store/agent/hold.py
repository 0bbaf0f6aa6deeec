"""The holder of a unit, its application, and whether that needs a leader: read before an event is granted."""

import dataclasses

import asyncpg

from tinkwell.core.lease import lease
from tinkwell.core.unit.kinds import EventKind, EventState
from tinkwell.core.unit.resolver.leadership import GRACE_SECONDS
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.unit.store.agent.wake import Found, Serving

# The time that a leader keeps the lead after its unit's lease has expired, as SQL.
GRACE = f"interval '{GRACE_SECONDS} seconds'"

# An application has a leader as long as its unit's lease is live, or expired less than GRACE ago, and its term lasts.
HAS_LEADER = f"""
    EXISTS (SELECT FROM unit w JOIN lease k ON k.id = w.lease_id
             WHERE w.application_id = a.id AND w.number = a.leader AND w.life <> 'DEAD'
               AND k.expires_at + {GRACE} > clock_timestamp()
               AND coalesce(a.leader_until > clock_timestamp(), true))
"""
_UNIT = f"""
    CAST(u.id AS text) AS unit_id, CAST(u.application_id AS text) AS application_id,
    u.number IS NOT DISTINCT FROM a.leader AS leads, a.life = 'ALIVE' AND NOT {HAS_LEADER} AS lacks_leader
"""
FIND = f"""
    SELECT {_UNIT} FROM unit u JOIN application a ON a.id = u.application_id WHERE u.id = $1::text::uuid
"""  # noqa: S608
FIND_EVENT = f"""
    SELECT e.namespace, e.kind, e.relation, e.state, e.attempt, {_UNIT}
      FROM unit_event e JOIN unit u ON u.id = e.unit_id JOIN application a ON a.id = u.application_id
     WHERE e.id = $1::text::uuid
"""  # noqa: S608
# The columns of a unit `u`, its application `a`, the application's charm `c`, and the lease `held` of the unit's agent.
COLUMNS = f"""
    u.number IS NOT DISTINCT FROM a.leader AS leads, u.life = 'DEAD' AS is_dead, u.namespace, a.name AS application,
    a.life = 'ALIVE' AND NOT {HAS_LEADER} AS lacks_leader, c.kind AS charm_kind, a.charm,
    coalesce(u.charm, '') AS code, coalesce(CAST(u.machine_id AS text), '') AS machine_id, u.is_anywhere,
    coalesce(CAST(u.lease_id AS text), '') AS lease_id,
    CAST(held.id AS text) AS held_id, held.engine AS held_engine, held.expires_at > clock_timestamp() AS is_held_live,
    CAST(mine.id AS text) AS own_id, mine.engine AS own_engine, mine.expires_at > clock_timestamp() AS is_own_live,
    g.lease_id IS NOT NULL AS is_serving, g.kinds, CAST(g.machines AS text[]) AS machines,
    g.is_anywhere AS is_serving_anywhere, g.charms, g.namespace AS served_namespace, g.applications
"""
JOINS = """
      LEFT JOIN lease mine ON mine.token = $2
      LEFT JOIN unit_agent g ON g.lease_id = mine.id
"""
HOLD = f"""
    SELECT {COLUMNS}
      FROM unit u JOIN application a ON a.id = u.application_id JOIN charm c ON c.digest = a.charm
      LEFT JOIN lease held ON held.id = u.lease_id {JOINS}
     WHERE u.id = $1::text::uuid
"""  # noqa: S608
LEASE = """
    SELECT CAST(id AS text) AS id, engine, expires_at > clock_timestamp() AS is_live FROM lease WHERE token = $1
"""
_FORGET = "DELETE FROM unit_agent g WHERE NOT EXISTS (SELECT FROM lease l WHERE l.id = g.lease_id)"
_SERVE = """
    INSERT INTO unit_agent (lease_id, machines, is_anywhere, kinds, charms, namespace, applications)
    VALUES ($1::text::uuid, $2::text[]::uuid[], $3, $4::text[], $5::text[], $6, $7::text[])
        ON CONFLICT (lease_id) DO UPDATE
       SET machines = excluded.machines, is_anywhere = excluded.is_anywhere, kinds = excluded.kinds,
           charms = excluded.charms, namespace = excluded.namespace, applications = excluded.applications,
           connected_at = clock_timestamp()
"""
# SKIP LOCKED: a unit that is locked by a change is placed by the next agent, or the next call.
_PLACE = """
    UPDATE unit SET machine_id = $1::text::uuid
     WHERE id IN (SELECT u.id FROM unit u
                    JOIN application a ON a.id = u.application_id
                    JOIN charm c ON c.digest = a.charm
                   WHERE u.phase = 'WAITING' AND u.life = 'ALIVE' AND u.machine_id IS NULL AND NOT u.is_anywhere
                     AND c.kind = ANY ($2::text[]) AND (cardinality($3::text[]) = 0 OR a.charm = ANY ($3::text[]))
                     AND $4 IN ('', u.namespace)
                     AND (cardinality($5::text[]) = 0 OR a.name = ANY ($5::text[]))
                   ORDER BY u.id
                     FOR NO KEY UPDATE OF u SKIP LOCKED)
"""
_TAKE = "UPDATE unit SET lease_id = $2::text::uuid WHERE id = $1::text::uuid"


@dataclasses.dataclass(frozen=True, slots=True)
class FoundUnit:
    """A unit read without a lock: whether it leads its application, and whether that, if alive, lacks a leader."""

    unit_id: str
    application_id: str
    leads: bool
    lacks_leader: bool


@dataclasses.dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event and its unit as they were read without a lock. Its kind, and its relation, 0 for none, never change."""

    unit: FoundUnit
    namespace: str
    kind: EventKind
    relation: int
    state: EventState
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """Whether a unit leads its application, its holder, and the caller's own lease, if there is one.

    `serving` is what the caller has declared to serve, or None; `is_served`: the unit is part of it. `lacks_leader`:
    its application is alive and has no leader.
    """

    leads: bool
    is_dead: bool
    hold: lease.Hold
    own: lease.Lease | None
    serving: Serving | None
    is_served: bool
    lacks_leader: bool = False


async def find(fetch: Fetch, unit_id: str) -> FoundUnit | None:
    """Return a unit without a lock, or None if there is none."""
    found = await fetch(FIND, unit_id)
    return FoundUnit(**dict(found[0])) if found else None


async def find_event(fetch: Fetch, event_id: str) -> FoundEvent | None:
    """Return an event without a lock, or None if there is none."""
    found = await fetch(FIND_EVENT, event_id)
    if not found:
        return None
    row = dict(found[0])
    unit = FoundUnit(**{name: row.pop(name) for name in FoundUnit.__slots__})
    return FoundEvent(**row | {"unit": unit, "kind": EventKind(row["kind"]), "state": EventState(row["state"])})


async def find_lease(fetch: Fetch, token: int) -> lease.Lease | None:
    """Return the lease with a token, or None if the token is not a lease's current one."""
    found = await fetch(LEASE, token)
    return lease.Lease(**dict(found[0])) if found else None


async def read(transaction: Transaction, unit_id: str, *, lease_token: int) -> Held:
    """Return the holder of a locked unit."""
    return held_of(unit_id, (await transaction.fetch(HOLD, unit_id, lease_token))[0])


def held_of(unit_id: str, found: asyncpg.Record) -> Held:
    """Read the columns."""
    held = own = None
    if found["held_id"] is not None:
        held = lease.Lease(id=found["held_id"], engine=found["held_engine"], is_live=found["is_held_live"])
    if found["own_id"] is not None:
        own = lease.Lease(id=found["own_id"], engine=found["own_engine"], is_live=found["is_own_live"])
    serving = _serving(found)
    return Held(
        leads=found["leads"],
        is_dead=found["is_dead"],
        hold=lease.Hold(kind="unit", id=unit_id, lease_id=found["lease_id"], lease=held),
        own=own,
        serving=serving,
        is_served=serving is not None and serving.has(_unit(unit_id, found)),
        lacks_leader=found["lacks_leader"],
    )


def _unit(unit_id: str, found: asyncpg.Record) -> Found:
    return Found(
        unit_id=unit_id,
        namespace=found["namespace"],
        application=found["application"],
        kind=found["charm_kind"],
        charm=found["charm"],
        unit_charm=found["code"],
        machine=found["machine_id"],
        is_anywhere=found["is_anywhere"],
        lease_id="",
        engine="",
    )


def _serving(found: asyncpg.Record) -> Serving | None:
    if not found["is_serving"]:
        return None
    return Serving(
        lease_id=found["own_id"],
        engine=found["own_engine"],
        kinds=frozenset(found["kinds"]),
        machines=frozenset(found["machines"]),
        is_anywhere=found["is_serving_anywhere"],
        charms=frozenset(found["charms"]),
        namespace=found["served_namespace"],
        applications=frozenset(found["applications"]),
    )


async def serve(transaction: Transaction, serving: Serving) -> None:
    """Store what an agent serves beside its lease.

    This replaces its former declaration, and deletes those of dead agents.
    """
    await transaction.fetch(_FORGET)
    await transaction.fetch(
        _SERVE,
        serving.lease_id,
        sorted(serving.machines),
        serving.is_anywhere,
        sorted(serving.kinds),
        sorted(serving.charms),
        serving.namespace,
        sorted(serving.applications),
    )


async def place(transaction: Transaction, serving: Serving) -> None:
    """Place units that wait for a machine on the first machine of an agent, if the agent serves them."""
    if serving.machines:
        machine, *_ = sorted(serving.machines)
        kinds, charms = sorted(serving.kinds), sorted(serving.charms)
        await transaction.fetch(_PLACE, machine, kinds, charms, serving.namespace, sorted(serving.applications))


async def take(transaction: Transaction, unit_id: str, lease_id: str) -> None:
    """Put a unit under a lease."""
    await transaction.fetch(_TAKE, unit_id, lease_id)
