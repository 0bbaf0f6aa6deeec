"""The end of units: they are marked as dying, ended by force, and buried if they were never told of anything.

The caller has locked the application before its units. The bags of a DEAD unit stay until nothing refers to it.
"""

from collections.abc import Sequence

from tinkwell.core.unit.kinds import Reason
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.unit.store.task import running

_MARK = """
    UPDATE unit SET life = 'DYING', removal_reason = $2, removal_actor = $3, is_storage_kept = is_storage_kept OR $4,
                    force_at = clock_timestamp() + make_interval(secs => $5)
     WHERE id = ANY ($1::text[]::uuid[]) AND life = 'ALIVE' RETURNING id
"""
# A later request counts only if it asks for an earlier time.
_FORCE_LATER = """
    UPDATE unit SET force_at = least(force_at, clock_timestamp() + make_interval(secs => $2))
     WHERE id = ANY ($1::text[]::uuid[]) AND life = 'DYING'
"""
# The unit has been told of nothing whose end it would have to be told.
OWES_NOTHING = """
    SELECT CAST(u.id AS text) AS id FROM unit u
     WHERE u.id = ANY ($1::text[]::uuid[]) AND u.life = 'DYING' AND NOT u.is_installed
       AND NOT EXISTS (SELECT FROM storage s WHERE s.unit_id = u.id AND s.is_attached)
       AND NOT EXISTS (SELECT FROM unit_event e WHERE e.unit_id = u.id AND e.state IN ('RUNNING', 'ERROR'))
"""
DUE = """
    SELECT CAST(u.application_id AS text) AS application_id, CAST(u.id AS text) AS id
      FROM unit u WHERE u.force_at <= clock_timestamp() AND u.life <> 'DEAD' ORDER BY u.force_at LIMIT $1
"""
_ABANDON = """
    UPDATE unit_event SET state = 'ABANDONED', retry_at = NULL, finished_at = clock_timestamp()
     WHERE unit_id = ANY ($1::text[]::uuid[]) AND state IN ('RUNNING', 'ERROR')
"""
_LEAVE = """
    UPDATE relation_member SET membership = 'LEFT' WHERE unit_id = ANY ($1::text[]::uuid[]) AND membership = 'IN'
"""
_NEVER_ENTERED = """
    DELETE FROM relation_member WHERE unit_id = ANY ($1::text[]::uuid[]) AND membership = 'ENTERING'
"""
_RESIGN = """
    UPDATE application a SET leader = NULL, leader_until = NULL
      FROM unit u WHERE u.id = ANY ($1::text[]::uuid[]) AND a.id = u.application_id AND a.leader = u.number
"""
# The rows that it referred to may be deleted.
_FORGET = "DELETE FROM unit_relation WHERE unit_id = ANY ($1::text[]::uuid[])"
_LEAVE_STORAGE = """
    UPDATE storage SET unit_id = NULL, unit = '', is_attached = false, life = 'ALIVE', is_kept = false
     WHERE unit_id = ANY ($1::text[]::uuid[]) AND is_kept AND machine_id IS NOT NULL
"""
# Its own secrets are deleted, and its reads of others end. This is as at the regular end of a unit; see
# `delivery.change`.
_LOCK_SECRETS = "SELECT id FROM secret WHERE unit_id = ANY ($1::text[]::uuid[]) ORDER BY id FOR UPDATE"
_DROP_SECRETS = "DELETE FROM secret WHERE unit_id = ANY ($1::text[]::uuid[])"
_FORGET_SECRETS = "DELETE FROM secret_reader WHERE unit_id = ANY ($1::text[]::uuid[])"
_DROP_STORAGE = "DELETE FROM storage WHERE unit_id = ANY ($1::text[]::uuid[])"
_DIE = """
    UPDATE unit SET life = 'DEAD', phase = 'TEARDOWN', is_forced = $2, force_at = NULL, next_tick_at = NULL,
                    removal_reason = coalesce(nullif(removal_reason, ''), $3),
                    removal_actor = coalesce(nullif(removal_actor, ''), $4)
     WHERE id = ANY ($1::text[]::uuid[]) AND life <> 'DEAD'
"""
_LOCK_APPLICATION = "SELECT id FROM application WHERE id = $1::text::uuid FOR NO KEY UPDATE"
_LOCK_UNIT = "SELECT id FROM unit WHERE id = $1::text::uuid AND force_at <= clock_timestamp() FOR NO KEY UPDATE"


async def mark_dying(
    transaction: Transaction,
    unit_ids: Sequence[str],
    *,
    reason: Reason,
    actor: str,
    keeps_storage: bool,
    force_after_seconds: float | None,
) -> bool:
    """Begin the teardown of units. Return False if it has begun for all of them."""
    values = list(unit_ids), reason.value, actor, keeps_storage, force_after_seconds
    marked = await transaction.fetch(_MARK, *values)
    await transaction.fetch(running.END_PENDING, list(unit_ids))
    return bool(marked)


async def force_later(transaction: Transaction, unit_ids: Sequence[str], *, after_seconds: float) -> None:
    """Let units whose teardown has begun be ended by force after this time."""
    await transaction.fetch(_FORCE_LATER, list(unit_ids), after_seconds)


async def owing_nothing(transaction: Transaction, unit_ids: Sequence[str]) -> Sequence[str]:
    """Return the units that need no teardown."""
    return [row["id"] for row in await transaction.fetch(OWES_NOTHING, list(unit_ids))]


async def bury(
    transaction: Transaction, unit_ids: Sequence[str], *, is_forced: bool, reason: Reason, actor: str
) -> None:
    """Mark units as DEAD, whatever they owe. They leave their relations and lose the lead."""
    ids = list(unit_ids)
    for statement in (
        *(_ABANDON, _LEAVE, _NEVER_ENTERED, _RESIGN, _FORGET, _LEAVE_STORAGE, _DROP_STORAGE),
        *(_LOCK_SECRETS, _DROP_SECRETS, _FORGET_SECRETS, running.END_ALL),
    ):
        await transaction.fetch(statement, ids)
    await transaction.fetch(_DIE, ids, is_forced, reason.value, actor)


async def list_due(fetch: Fetch, *, limit: int) -> Sequence[tuple[str, str]]:
    """Return units that are due to be ended by force, and their applications."""
    return [(row["application_id"], row["id"]) for row in await fetch(DUE, limit)]


async def lock_due(transaction: Transaction, application_id: str, unit_id: str) -> bool:
    """Lock a unit that is due to be ended by force. Return False if it no longer is."""
    await transaction.fetch(_LOCK_APPLICATION, application_id)
    return bool(await transaction.fetch(_LOCK_UNIT, unit_id))
