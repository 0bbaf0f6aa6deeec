"""Leases, and the holds of machines that follow them.

A lease is one row, which its owner alone writes. Holds are written under the row lock of their workflow; see the
revision of the schema that brought them. Time is the database's.
"""

import dataclasses
from collections.abc import Sequence

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

# The token is drawn once the row is locked, so that of two that come at once the later one has the greater.
_ACQUIRE = sqlalchemy.text("""
    INSERT INTO lease AS former (owner, engine, expires_at)
    VALUES (:owner, :engine, clock_timestamp() + make_interval(secs => :seconds))
        ON CONFLICT (owner) DO UPDATE
       SET token = DEFAULT,
           id = CASE WHEN former.engine = excluded.engine THEN former.id ELSE excluded.id END,
           engine = excluded.engine, acquired_at = clock_timestamp(),
           expires_at = clock_timestamp() + make_interval(secs => :seconds)
    RETURNING token, CAST(id AS text) AS id
""")
_INHERITED = sqlalchemy.text("""
    SELECT DISTINCT CAST(workflow_id AS text) FROM machine_hold WHERE lease_id = CAST(:id AS uuid) LIMIT :limit
""")
# What another one is just acquiring again is skipped, so that nobody waits here.
_FORGET = sqlalchemy.text("""
    DELETE FROM lease
     WHERE token IN (SELECT token FROM lease WHERE expires_at < clock_timestamp() - make_interval(secs => :age_seconds)
                        FOR UPDATE SKIP LOCKED)
""")
_RENEW = sqlalchemy.text("""
    UPDATE lease SET expires_at = clock_timestamp() + make_interval(secs => :seconds) WHERE token = :token
    RETURNING token
""")
# A statement of its own, since it must see the lease that has just been renewed as alive.
LOST = sqlalchemy.text("""
    SELECT DISTINCT CAST(h.workflow_id AS text)
      FROM machine_hold h JOIN workflow w ON w.id = h.workflow_id LEFT JOIN lease l ON l.id = h.lease_id
     WHERE h.action_id IS NOT NULL AND h.lease_id IS NOT NULL
       AND (l.id IS NULL OR l.expires_at <= clock_timestamp())
       -- Only what ExpireWorkflow does something about, or it would be named again and again. What reboots its machine
       -- is bounded by its timeout alone.
       AND (w.state <> 'RUNNING' OR w.deleted_at IS NOT NULL
            OR EXISTS (SELECT FROM action a WHERE a.id = h.action_id AND a.state = 'RUNNING' AND NOT a.reboots))
     LIMIT :limit
""")
# The row stays for as long as those of others that have died, since it says on which engine the runs are.
_END = sqlalchemy.text("UPDATE lease SET token = DEFAULT, expires_at = clock_timestamp() WHERE token = :token")

# Deleted workflows, too: what they have left on machines outlives them.
_LOCK = sqlalchemy.text("""
    SELECT state = 'RUNNING' AND deleted_at IS NULL AS is_running
      FROM workflow WHERE id = CAST(:workflow_id AS uuid) FOR NO KEY UPDATE
""")
_RELEASED = """
     WHERE h.workflow_id = CAST(:workflow_id AS uuid)
       AND (CAST(:worker_id AS text) = '' OR h.worker_id = CAST(nullif(CAST(:worker_id AS text), '') AS uuid))
       AND h.lease_id = (SELECT l.id FROM lease l WHERE l.token = :token)
"""
_LET_GO = sqlalchemy.text(f"DELETE FROM machine_hold h {_RELEASED}")  # noqa: S608
# What runs by the server's account is lost when its owner dies, so it must not look as if nothing were there.
_KEEP = sqlalchemy.text(f"""
    UPDATE machine_hold h SET action_id = NULL {_RELEASED}
       AND NOT EXISTS (SELECT FROM action a WHERE a.id = h.action_id AND a.state = 'RUNNING')
""")  # noqa: S608
_CLEAR_DEAD = sqlalchemy.text("""
    DELETE FROM machine_hold h
     WHERE h.workflow_id = CAST(:workflow_id AS uuid)
       AND NOT EXISTS (SELECT FROM lease l WHERE l.id = h.lease_id AND l.expires_at > clock_timestamp())
""")


@dataclasses.dataclass(frozen=True, slots=True)
class Acquired:
    """A lease that has begun, and the workflows that are held under it already."""

    token: int
    workflow_ids: Sequence[str]


async def acquire(
    connection: AsyncConnection, *, owner: str, engine: str, seconds: float, limit: int, forget_seconds: float
) -> Acquired:
    """Begin a lease for an owner, whose former one is over by that; forget leases that have been dead for long."""
    values = {"owner": owner, "engine": engine, "seconds": seconds}
    row = (await connection.execute(_ACQUIRE, values)).one()
    inherited = await connection.execute(_INHERITED, {"id": row.id, "limit": limit})
    workflow_ids = list(inherited.scalars())
    await connection.execute(_FORGET, {"age_seconds": forget_seconds})
    return Acquired(row.token, workflow_ids)


async def renew(connection: AsyncConnection, token: int, *, seconds: float) -> bool:
    """Extend a lease, also one that has expired; False if it is none any more."""
    return (await connection.execute(_RENEW, {"token": token, "seconds": seconds})).first() is not None


async def lost(connection: AsyncConnection, *, limit: int) -> Sequence[str]:
    """Return workflows of which something may run on a machine that nobody alive holds."""
    return list((await connection.execute(LOST, {"limit": limit})).scalars())


async def end(connection: AsyncConnection, token: int) -> None:
    """End a lease, if it is one."""
    await connection.execute(_END, {"token": token})


async def release(connection: AsyncConnection, token: int, *, workflow_id: str, worker_id: str) -> None:
    """Write that nothing of a workflow runs on a machine, or on any of its machines, that is held under a lease."""
    is_running = (await connection.execute(_LOCK, {"workflow_id": workflow_id})).scalar()
    if is_running is not None:
        values = {"token": token, "workflow_id": workflow_id, "worker_id": worker_id}
        await connection.execute(_KEEP if is_running else _LET_GO, values)


async def clear_dead(connection: AsyncConnection, workflow_id: str) -> int:
    """Let go the machines that an ended or deleted workflow holds, though nobody alive does; return how many."""
    if (await connection.execute(_LOCK, {"workflow_id": workflow_id})).scalar() is not False:
        return 0
    return (await connection.execute(_CLEAR_DEAD, {"workflow_id": workflow_id})).rowcount
