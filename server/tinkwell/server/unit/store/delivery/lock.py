"""Locks, in the order in which all take them: applications, units, relations, each by id.

A commit or grant of a leader, or one with an application's bag, locks the application before the unit. The commit of
`relation-created` locks the relation after it, so that units enter one after the other. All locks leave the rows' keys
alone, so that whatever refers to a row need not wait.
"""

from tinkwell.server.database.database import Transaction

APPLICATION = "SELECT id FROM application WHERE id = $1::text::uuid FOR NO KEY UPDATE"
UNIT = "SELECT id FROM unit WHERE id = $1::text::uuid FOR NO KEY UPDATE"
RELATION = "SELECT id FROM relation WHERE namespace = $1 AND number = $2 FOR NO KEY UPDATE"


async def lock_application(transaction: Transaction, application_id: str) -> bool:
    """Lock an application; False if there is none."""
    return bool(await transaction.fetch(APPLICATION, application_id))


async def lock_unit(transaction: Transaction, unit_id: str) -> bool:
    """Lock a unit; False if there is none."""
    return bool(await transaction.fetch(UNIT, unit_id))


async def lock_relation(transaction: Transaction, namespace: str, number: int) -> bool:
    """Lock a relation; False if there is none."""
    return bool(await transaction.fetch(RELATION, namespace, number))
