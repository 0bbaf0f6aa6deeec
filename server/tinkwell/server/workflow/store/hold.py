"""The machines that workflows hold: which of them are lost, and how they are released.

Holds are written under the row lock of their workflow. `sql/workflow/function.sql` of the schema says which other
functions write them, and why no deadlock is possible. All times are the database's.
"""

from collections.abc import Sequence

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

_INHERITED = sqlalchemy.text("""
    SELECT DISTINCT CAST(workflow_id AS text) FROM machine_hold WHERE lease_id = CAST(:id AS uuid) LIMIT :limit
""")
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

# Deleted workflows are included, because their holds on machines outlive them.
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
# An attempt that runs according to the server is lost when its owner dies, so its hold must stay visible.
_KEEP = sqlalchemy.text(f"""
    UPDATE machine_hold h SET action_id = NULL {_RELEASED}
       AND NOT EXISTS (SELECT FROM action a WHERE a.id = h.action_id AND a.state = 'RUNNING')
""")  # noqa: S608
_CLEAR_DEAD = sqlalchemy.text("""
    DELETE FROM machine_hold h
     WHERE h.workflow_id = CAST(:workflow_id AS uuid)
       AND NOT EXISTS (SELECT FROM lease l WHERE l.id = h.lease_id AND l.expires_at > clock_timestamp())
""")


async def inherited(connection: AsyncConnection, lease_id: str, *, limit: int) -> Sequence[str]:
    """Return the ids of workflows that hold machines under a lease."""
    return list((await connection.execute(_INHERITED, {"id": lease_id, "limit": limit})).scalars())


async def lost(connection: AsyncConnection, *, limit: int) -> Sequence[str]:
    """Return the ids of workflows that may still run on a machine whose lease is over."""
    return list((await connection.execute(LOST, {"limit": limit})).scalars())


async def release(connection: AsyncConnection, token: int, *, workflow_id: str, worker_id: str) -> None:
    """Release a machine of a workflow, or all of its machines if `worker_id` is empty, held under a lease."""
    is_running = (await connection.execute(_LOCK, {"workflow_id": workflow_id})).scalar()
    if is_running is not None:
        values = {"token": token, "workflow_id": workflow_id, "worker_id": worker_id}
        await connection.execute(_KEEP if is_running else _LET_GO, values)


async def clear_dead(connection: AsyncConnection, workflow_id: str) -> int:
    """Release the machines that an ended or deleted workflow holds under dead leases. Return their number."""
    if (await connection.execute(_LOCK, {"workflow_id": workflow_id})).scalar() is not False:
        return 0
    return (await connection.execute(_CLEAR_DEAD, {"workflow_id": workflow_id})).rowcount
