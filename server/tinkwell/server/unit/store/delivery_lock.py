"""Who locks what before a unit's event is granted or ended: the application, if it has to, and then the unit.

All locks leave the rows' keys alone, so that whatever refers to a unit, or to an application, need not wait.
"""

import dataclasses

from tinkwell.core.lease import lease
from tinkwell.server.database.database import Fetch, Transaction

# How long a leader lives on when its unit's lease has expired, in SQL.
GRACE = "interval '30 seconds'"

# A leader is there as long as somebody alive, or who was alive a moment ago, serves its unit, and its term lasts.
HAS_LEADER = f"""
    EXISTS (SELECT FROM unit w JOIN lease k ON k.id = w.lease_id
             WHERE w.application_id = a.id AND w.number = a.leader AND w.life <> 'DEAD'
               AND k.expires_at + {GRACE} > clock_timestamp()
               AND coalesce(a.leader_until > clock_timestamp(), true))
"""  # noqa: S608
FIND = f"""
    SELECT CAST(u.application_id AS text) AS application_id, u.number IS NOT DISTINCT FROM a.leader AS leads,
           a.life = 'ALIVE' AND NOT {HAS_LEADER} AS lacks_leader
      FROM unit u JOIN application a ON a.id = u.application_id
     WHERE u.id = $1::text::uuid
"""  # noqa: S608
FIND_OF_EVENT = "SELECT CAST(unit_id AS text) AS unit_id FROM unit_event WHERE id = $1::text::uuid"
_LOCK_APPLICATION = "SELECT id FROM application WHERE id = $1::text::uuid FOR NO KEY UPDATE"
_LOCK_UNIT = "SELECT id FROM unit WHERE id = $1::text::uuid FOR NO KEY UPDATE"
# A statement of its own, because it must see what was committed while the lock was waited for.
HOLD = """
    SELECT u.number IS NOT DISTINCT FROM a.leader AS leads, CAST(u.lease_id AS text) AS lease_id,
           CAST(l.id AS text) AS held_id, l.engine, l.expires_at > clock_timestamp() AS is_live,
           CAST(mine.id AS text) AS own_id, mine.engine AS own_engine, mine.expires_at > clock_timestamp() AS is_own_live
      FROM unit u JOIN application a ON a.id = u.application_id
      LEFT JOIN lease l ON l.id = u.lease_id
      LEFT JOIN lease mine ON mine.token = $2
     WHERE u.id = $1::text::uuid
"""
LEASE = """
    SELECT CAST(id AS text) AS id, engine, expires_at > clock_timestamp() AS is_live FROM lease WHERE token = $1
"""
_TAKE = "UPDATE unit SET lease_id = $2::text::uuid WHERE id = $1::text::uuid"


@dataclasses.dataclass(frozen=True, slots=True)
class FoundUnit:
    """A unit as it was a moment ago: whether it leads its application, and whether that, alive, lacks a leader."""

    application_id: str
    leads: bool
    lacks_leader: bool


@dataclasses.dataclass(frozen=True, slots=True)
class LockedUnit:
    """A unit that nobody else changes until the transaction ends, who holds it, and the caller's own lease, if any."""

    leads: bool
    hold: lease.Hold
    own: lease.Lease | None


async def find(fetch: Fetch, unit_id: str) -> FoundUnit | None:
    """Return a unit without a lock; None if there is none."""
    found = await fetch(FIND, unit_id)
    return FoundUnit(**dict(found[0])) if found else None


async def find_of_event(fetch: Fetch, event_id: str) -> str | None:
    """Return the id of the unit of an event; None if there is no such event."""
    found = await fetch(FIND_OF_EVENT, event_id)
    return found[0]["unit_id"] if found else None


async def find_lease(fetch: Fetch, token: int) -> lease.Lease | None:
    """Return the lease of a token; None where it is over for good."""
    found = await fetch(LEASE, token)
    return lease.Lease(**dict(found[0])) if found else None


async def lock_application(transaction: Transaction, application_id: str) -> bool:
    """Lock an application; False if there is none."""
    return bool(await transaction.fetch(_LOCK_APPLICATION, application_id))


async def lock_unit(transaction: Transaction, unit_id: str, *, lease_token: int) -> LockedUnit | None:
    """Lock a unit, whose application comes first if it is to be locked; None if there is none."""
    if not await transaction.fetch(_LOCK_UNIT, unit_id):
        return None
    found = (await transaction.fetch(HOLD, unit_id, lease_token))[0]
    held = own = None
    if found["held_id"] is not None:
        held = lease.Lease(id=found["held_id"], engine=found["engine"], is_live=found["is_live"])
    if found["own_id"] is not None:
        own = lease.Lease(id=found["own_id"], engine=found["own_engine"], is_live=found["is_own_live"])
    hold = lease.Hold(kind="unit", id=unit_id, lease_id=found["lease_id"] or "", lease=held)
    return LockedUnit(leads=found["leads"], hold=hold, own=own)


async def take(transaction: Transaction, unit_id: str, lease_id: str) -> None:
    """Let a unit be held under a lease."""
    await transaction.fetch(_TAKE, unit_id, lease_id)
