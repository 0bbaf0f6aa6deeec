"""Locks in the global order: applications, units, relations, each by id.

A grant or commit of a leader, or one with an application's bag, locks the application before the unit. The commit of
`relation-created` locks the relation after it, so that units enter one after the other. The locks leave the rows' keys
alone, so that rows which refer to them need not wait.
"""

from tinkwell.server.database.database import Transaction

APPLICATION = "SELECT id FROM application WHERE id = $1::text::uuid FOR NO KEY UPDATE"
UNIT = "SELECT id FROM unit WHERE id = $1::text::uuid FOR NO KEY UPDATE"
RELATION = "SELECT id FROM relation WHERE namespace = $1 AND number = $2 FOR NO KEY UPDATE"


async def lock_application(transaction: Transaction, application_id: str) -> bool:
    """Lock an application. Return False if there is none."""
    return bool(await transaction.fetch(APPLICATION, application_id))


async def lock_unit(transaction: Transaction, unit_id: str) -> bool:
    """Lock a unit. Return False if there is none."""
    return bool(await transaction.fetch(UNIT, unit_id))


async def lock_relation(transaction: Transaction, namespace: str, number: int) -> bool:
    """Lock a relation. Return False if there is none."""
    return bool(await transaction.fetch(RELATION, namespace, number))
