"""Small things that go with a unit's events: when it is told to look after itself, and the status of one in error."""

from tinkwell.server.database.database import Transaction

_SET_NEXT = """
    UPDATE unit SET next_tick_at = clock_timestamp() + make_interval(secs => $2)
     WHERE id = $1::text::uuid AND life = 'ALIVE'
"""
# What the charm has said of itself, also meanwhile, is kept until the error is over.
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
    """Let `update-status` be due in so many seconds, whatever was missed before."""
    await transaction.fetch(_SET_NEXT, unit_id, seconds)


async def set_error(transaction: Transaction, unit_id: str, message: str) -> None:
    """Let a unit's status say that an event of it has failed."""
    await transaction.fetch(_SET_ERROR, unit_id, message)


async def clear_error(transaction: Transaction, unit_id: str) -> None:
    """Let a unit's status say no more that an event of it has failed."""
    await transaction.fetch(_CLEAR_ERROR, unit_id)


async def removal_actor(transaction: Transaction, namespace: str, unit: str) -> str:
    """Return who has asked for the removal of a unit; empty for nobody, and where it is gone."""
    found = await transaction.fetch(_REMOVAL_ACTOR, namespace, unit)
    return str(found[0]["removal_actor"]) if found else ""
