"""Small changes that accompany a unit's events: the time of `update-status`, and the status of a unit in error."""

from tinkwell.server.database.database import Transaction

_SET_NEXT = """
    UPDATE unit SET next_tick_at = clock_timestamp() + make_interval(secs => $2)
     WHERE id = $1::text::uuid AND life = 'ALIVE'
"""
# The status that the charm sets, also during the error, is kept until the error is over.
_SET_ERROR = """
    UPDATE unit SET said_name = CASE status_name WHEN 'error' THEN said_name ELSE status_name END,
                    said_message = CASE status_name WHEN 'error' THEN said_message ELSE status_message END,
                    status_name = 'error', status_message = left($2, 1000)
     WHERE id = $1::text::uuid
"""
_CLEAR_ERROR = """
    UPDATE unit SET status_name = coalesce(nullif(said_name, ''), 'maintenance'), status_message = said_message,
                    said_name = '', said_message = ''
     WHERE id = $1::text::uuid AND status_name = 'error'
"""
_REMOVAL_ACTOR = "SELECT removal_actor FROM unit WHERE namespace = $1 AND name = $2"


async def set_next(transaction: Transaction, unit_id: str, seconds: float) -> None:
    """Set the time of the next `update-status`. Missed ones are not made up for."""
    await transaction.fetch(_SET_NEXT, unit_id, seconds)


async def set_error(transaction: Transaction, unit_id: str, message: str) -> None:
    """Set a unit's status to show that an event of it has failed."""
    await transaction.fetch(_SET_ERROR, unit_id, message)


async def clear_error(transaction: Transaction, unit_id: str) -> None:
    """Restore the status that a unit had before an event of it failed."""
    await transaction.fetch(_CLEAR_ERROR, unit_id)


async def removal_actor(transaction: Transaction, namespace: str, unit: str) -> str:
    """Return who has requested the removal of a unit, or an empty text if nobody has, or if the unit is gone."""
    found = await transaction.fetch(_REMOVAL_ACTOR, namespace, unit)
    return str(found[0]["removal_actor"]) if found else ""
