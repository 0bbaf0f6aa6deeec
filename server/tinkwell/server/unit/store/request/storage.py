"""Storage instances: allotted to units, detached from them, found, listed."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.unit.kinds import Life
from tinkwell.core.unit.record import Storage
from tinkwell.server.database.database import Fetch, Transaction

_LISTED_ROWS = 500
_COLUMNS = """
    CAST(s.id AS text) AS id, s.version, coalesce(CAST(s.application_id AS text), '') AS application_id, s.namespace,
    s.name, s.life, s.unit, s.is_attached, coalesce(CAST(s.machine_id AS text), '') AS machine, s.created_at,
    s.updated_at
"""
FIND = f"SELECT {_COLUMNS} FROM storage s WHERE s.namespace = $1 AND s.name = $2"  # noqa: S608
_LOCK = "SELECT id FROM storage WHERE namespace = $1 AND name = $2 FOR NO KEY UPDATE"
_LIST = sqlalchemy.text(f"""
    SELECT {_COLUMNS} FROM storage s
     WHERE (CAST(:namespace AS text) = '' OR s.namespace = :namespace)
       AND (CAST(:application AS text) = ''
            OR s.application_id = (SELECT a.id FROM application a
                                    WHERE a.namespace = :namespace AND a.name = :application))
     ORDER BY s.namespace, s.kind, s.number
""").execution_options(yield_per=_LISTED_ROWS)  # noqa: S608
_INSERT = """
    INSERT INTO storage (namespace, name, kind, number, application_id, unit_id, unit, machine_id)
    SELECT u.namespace, n.kind || '/' || n.number, n.kind, n.number, u.application_id, u.id, u.name, u.machine_id
      FROM unnest($1::text[], $2::text[], $3::bigint[]) AS n (unit_id, kind, number)
      JOIN unit u ON u.id = n.unit_id::uuid
     ORDER BY n.number
"""
_KINDS_OF_APPLICATION = """
    SELECT DISTINCT s.kind FROM storage s
      JOIN unit u ON u.id = s.unit_id WHERE u.application_id = $1::text::uuid AND u.life <> 'DEAD'
"""
_COUNT_OF_UNIT = """
    SELECT count(*) FROM storage s
     WHERE s.unit_id = $1::text::uuid AND s.kind = $2 AND s.life = 'ALIVE'
"""
_GIVE = """
    UPDATE storage s SET unit_id = u.id, unit = u.name, application_id = u.application_id, life = 'ALIVE',
                         is_kept = false, removal_actor = ''
      FROM unit u WHERE s.id = $1::text::uuid AND u.id = $2::text::uuid
"""
# The instance stays for another unit, if it has a machine to stay on.
_TAKE_AWAY = """
    UPDATE storage SET life = 'DYING', is_kept = machine_id IS NOT NULL, removal_actor = $2 WHERE id = $1::text::uuid
"""
_FREE = """
    UPDATE storage SET unit_id = NULL, unit = '', is_attached = false, life = 'ALIVE', is_kept = false,
                       removal_actor = $2
     WHERE id = $1::text::uuid AND machine_id IS NOT NULL
    RETURNING id
"""
_DROP = "DELETE FROM storage WHERE id = $1::text::uuid"
_KEEP = "UPDATE storage SET is_kept = true WHERE unit_id = ANY ($1::text[]::uuid[]) AND machine_id IS NOT NULL"


@dataclass(frozen=True, slots=True)
class NewStorage:
    """A storage instance to create for a unit."""

    unit_id: str
    kind: str
    number: int


async def insert(transaction: Transaction, storages: Sequence[NewStorage]) -> None:
    """Allot new storage instances to units."""
    columns = (
        [storage.unit_id for storage in storages],
        [storage.kind for storage in storages],
        [storage.number for storage in storages],
    )
    await transaction.fetch(_INSERT, *columns)


async def lock(transaction: Transaction, namespace: str, name: str) -> Storage | None:
    """Lock a storage instance, and return it as it is then, or None if there is none."""
    if not await transaction.fetch(_LOCK, namespace, name):
        return None
    return await find(transaction.fetch, namespace, name)


async def kinds_of_application(transaction: Transaction, application_id: str) -> Sequence[str]:
    """Return the storages of a charm that the units of an application have."""
    return [row["kind"] for row in await transaction.fetch(_KINDS_OF_APPLICATION, application_id)]


async def count_of_unit(transaction: Transaction, unit_id: str, kind: str) -> int:
    """Return the number of living instances of a storage that a unit has."""
    return int((await transaction.fetch(_COUNT_OF_UNIT, unit_id, kind))[0][0])


async def give(transaction: Transaction, storage_id: str, unit_id: str) -> None:
    """Allot a storage instance that no unit has to a unit."""
    await transaction.fetch(_GIVE, storage_id, unit_id)


async def take_away(transaction: Transaction, storage_id: str, *, actor: str) -> None:
    """Begin to detach a storage instance from its unit, which is told first."""
    await transaction.fetch(_TAKE_AWAY, storage_id, actor)


async def free(transaction: Transaction, storage_id: str, *, actor: str) -> None:
    """Detach a storage instance from its unit, which was never told of it. Without a machine, delete it."""
    if not await transaction.fetch(_FREE, storage_id, actor):
        await drop(transaction, storage_id)


async def drop(transaction: Transaction, storage_id: str) -> None:
    """Delete a storage instance that no unit has."""
    await transaction.fetch(_DROP, storage_id)


async def keep(transaction: Transaction, unit_ids: Sequence[str]) -> None:
    """Let the storage instances of units stay on their machines when the units are gone."""
    await transaction.fetch(_KEEP, list(unit_ids))


async def find(fetch: Fetch, namespace: str, name: str) -> Storage | None:
    """Return the storage instance with a name, or None if there is none."""
    found = await fetch(FIND, namespace, name)
    return _storage(found[0]) if found else None


async def list_all(connection: AsyncConnection, namespace: str, application: str) -> AsyncGenerator[Storage, None]:
    """Yield the storage instances of a namespace and an application. An empty filter stands for all."""
    async with connection.stream(_LIST, {"namespace": namespace, "application": application}) as rows:
        async for found in rows.mappings():
            yield _storage(found)


def _storage(found: Mapping[Any, Any]) -> Storage:
    columns: dict[str, Any] = {**found, "life": Life(found["life"])}
    return Storage(**columns)
