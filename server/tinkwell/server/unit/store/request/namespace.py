"""Namespaces: created, changed, found, listed; and the numbers that each namespace assigns."""

from collections.abc import AsyncGenerator

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.unit.record import Namespace
from tinkwell.server.database.database import Fetch, Transaction

_LISTED_ROWS = 500
_COLUMNS = """
    CAST(n.id AS text) AS id, n.version, n.name, n.update_status_seconds, n.event_timeout_seconds,
    n.is_retrying, n.created_at, n.updated_at
"""
FIND = f"SELECT {_COLUMNS} FROM namespace n WHERE n.name = $1"  # noqa: S608
_ENSURE = "INSERT INTO namespace (name) VALUES ($1) ON CONFLICT (name) DO NOTHING RETURNING id"
_SET = """
    UPDATE namespace SET update_status_seconds = coalesce($2, update_status_seconds),
                         event_timeout_seconds = coalesce($3, event_timeout_seconds),
                         is_retrying = coalesce($4, is_retrying)
     WHERE name = $1
       AND (update_status_seconds, event_timeout_seconds, is_retrying)
           IS DISTINCT FROM (coalesce($2, update_status_seconds), coalesce($3, event_timeout_seconds),
                             coalesce($4, is_retrying))
    RETURNING id
"""
_LIST = sqlalchemy.text(f"SELECT {_COLUMNS} FROM namespace n ORDER BY n.name").execution_options(  # noqa: S608
    yield_per=_LISTED_ROWS
)
# These statements lock the namespace, which is the last lock that a transaction takes.
_TAKE_RELATIONS = "UPDATE namespace SET next_relation = next_relation + $2 WHERE name = $1 RETURNING next_relation - $2"
_TAKE_STORAGES = "UPDATE namespace SET next_storage = next_storage + $2 WHERE name = $1 RETURNING next_storage - $2"


async def ensure(transaction: Transaction, name: str) -> bool:
    """Create a namespace. Return False if it exists."""
    return bool(await transaction.fetch(_ENSURE, name))


async def change(
    transaction: Transaction,
    name: str,
    *,
    update_status_seconds: int | None,
    event_timeout_seconds: int | None,
    is_retrying: bool | None,
) -> bool:
    """Change the settings that are not None. Return False if nothing changes."""
    return bool(await transaction.fetch(_SET, name, update_status_seconds, event_timeout_seconds, is_retrying))


async def take_relations(transaction: Transaction, name: str, count: int) -> int:
    """Return the first of `count` numbers for relations that nothing else gets."""
    return int((await transaction.fetch(_TAKE_RELATIONS, name, count))[0][0])


async def take_storages(transaction: Transaction, name: str, count: int) -> int:
    """Return the first of `count` numbers for storages that nothing else gets."""
    return int((await transaction.fetch(_TAKE_STORAGES, name, count))[0][0])


async def find(fetch: Fetch, name: str) -> Namespace | None:
    """Return a namespace, or None if there is none."""
    found = await fetch(FIND, name)
    return Namespace(**dict(found[0])) if found else None


async def list_all(connection: AsyncConnection) -> AsyncGenerator[Namespace, None]:
    """Yield all namespaces by name."""
    async with connection.stream(_LIST) as rows:
        async for found in rows.mappings():
            yield Namespace(**dict(found))
