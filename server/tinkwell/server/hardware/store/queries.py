"""Machines: stored, found by their addresses, listed, deleted."""

from collections.abc import AsyncGenerator
from typing import Any, Literal, TypeAlias

import sqlalchemy
from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.hardware import network
from tinkwell.core.hardware.record import Hardware
from tinkwell.server.database import column as database_column
from tinkwell.server.database.database import Database
from tinkwell.server.hardware.store import table

# A machine may have a megabyte, so few rows are in memory at a time.
_CURSOR_ROWS = 50

_HARDWARE = table.hardware.c
_ADDRESS = table.hardware_address.c
_LIVE = _HARDWARE.deleted_at.is_(None)
_COLUMNS = (
    _HARDWARE.id,
    _HARDWARE.version,
    database_column.to_text(_HARDWARE.metadata),
    database_column.to_text(_HARDWARE.network),
    _HARDWARE.created_at,
    _HARDWARE.updated_at,
)

Key: TypeAlias = Literal["id", "mac", "ip"]

_PHONE_HOME = {
    key: sqlalchemy.text(
        f"SELECT revision FROM phone_home({machine}, CAST(:call AS jsonb), :actor)"  # noqa: S608  # only what is here
    )
    for key, machine in (
        ("id", "CAST(:address AS uuid)"),
        ("mac", "(SELECT hardware_id FROM hardware_address WHERE mac = CAST(:address AS macaddr))"),
        ("ip", "(SELECT hardware_id FROM hardware_address WHERE ip = CAST(:address AS inet))"),
    )
}


async def push(
    connection: AsyncConnection, hardware_id: str, metadata: str, network_text: str, *, expected_version: int | None
) -> int | None:
    """Store a machine and return its new version, which is 1 where there was none of this id.

    Nothing is written, and None returned, if the live machine is the same already, or its version is not the expected
    one (0 means that it must not be live). Either way the row is locked until the transaction ends.
    """
    pushed = postgresql.insert(table.hardware).values(
        id=hardware_id, metadata=database_column.to_jsonb(metadata), network=database_column.to_jsonb(network_text)
    )
    statement = replace(pushed, _is_expected(expected_version)).returning(_HARDWARE.version)
    version: int | None = (await connection.execute(statement)).scalar_one_or_none()
    return version


def replace(pushed: postgresql.Insert, condition: sqlalchemy.ColumnElement[bool]) -> postgresql.Insert:
    """Let an insert of machines replace those that are there, if they differ or are deleted and the condition holds."""
    new = pushed.excluded
    was_deleted = _HARDWARE.deleted_at.is_not(None)
    # As text, because jsonb compares numbers by their value, and 1.10 is not written like 1.1.
    differs = sqlalchemy.or_(
        was_deleted,
        database_column.to_text(_HARDWARE.metadata) != database_column.to_text(new.metadata),
        database_column.to_text(_HARDWARE.network) != database_column.to_text(new.network),
    )
    return pushed.on_conflict_do_update(
        index_elements=[_HARDWARE.id],
        set_={
            "metadata": new.metadata,
            "network": new.network,
            "created_at": sqlalchemy.case((was_deleted, func.clock_timestamp()), else_=_HARDWARE.created_at),
            "deleted_at": None,
        },
        where=sqlalchemy.and_(differs, condition),
    )


async def stored_sizes(connection: AsyncConnection, metadata: str, network_text: str) -> tuple[int, int]:
    """Return how many bytes both take as the database writes them, which is what its limit is about."""
    sizes = select(
        *(
            func.octet_length(database_column.to_text(database_column.to_jsonb(text)))
            for text in (metadata, network_text)
        )
    )
    row = (await connection.execute(sizes)).one()
    return int(row[0]), int(row[1])


async def live_version(connection: AsyncConnection, hardware_id: str) -> int | None:
    """Return the version of a live machine."""
    query = select(_HARDWARE.version).where(_HARDWARE.id == hardware_id, _LIVE)
    return (await connection.execute(query)).scalar_one_or_none()


async def find(connection: AsyncConnection, key: Key, address: str) -> Hardware | None:
    """Return the live machine of an id, or the one that has an interface with the address."""
    row = (await connection.execute(_where(select(*_COLUMNS), key, address))).one_or_none()
    return _record(row) if row is not None else None


async def find_id(connection: AsyncConnection, key: Key, address: str) -> str | None:
    """Return only the id of what `find` returns."""
    found: str | None = (await connection.execute(_where(select(_HARDWARE.id), key, address))).scalar_one_or_none()
    return found


async def list_live(connection: AsyncConnection) -> AsyncGenerator[Hardware, None]:
    """Yield every live machine, oldest first."""
    query = select(*_COLUMNS).where(_LIVE).order_by(_HARDWARE.created_at, _HARDWARE.id)
    async with connection.stream(query.execution_options(yield_per=_CURSOR_ROWS)) as rows:
        async for row in rows:
            yield _record(row)


async def mark_deleted(connection: AsyncConnection, hardware_id: str) -> bool:
    """Delete a machine; False if there is none."""
    statement = (
        sqlalchemy.update(table.hardware)
        .where(_HARDWARE.id == hardware_id, _LIVE)
        .values(deleted_at=func.clock_timestamp())
        .returning(_HARDWARE.id)
    )
    return (await connection.execute(statement)).first() is not None


async def phone_home(database: Database, key: Key, address: str, call: str, *, actor: str) -> int | None:
    """Record that a machine called, and return the event's revision; None if there is no such machine."""
    rows = await database.execute(_PHONE_HOME[key], {"address": address, "call": call, "actor": actor})
    return int(rows[0][0]) if rows else None


def _is_expected(version: int | None) -> sqlalchemy.ColumnElement[bool]:
    if version is None:
        return sqlalchemy.true()
    return sqlalchemy.not_(_LIVE) if version == 0 else sqlalchemy.and_(_LIVE, _HARDWARE.version == version)


def _where(query: sqlalchemy.Select[Any], key: Key, address: str) -> sqlalchemy.Select[Any]:
    if key == "id":
        return query.where(_HARDWARE.id == address, _LIVE)
    # Only live machines have addresses here.
    column = _ADDRESS.mac if key == "mac" else _ADDRESS.ip
    return query.join(table.hardware_address, _ADDRESS.hardware_id == _HARDWARE.id).where(column == address)


def _record(row: sqlalchemy.Row[Any]) -> Hardware:
    hardware_id, version, metadata, network_text, created_at, updated_at = tuple(row)
    return Hardware(hardware_id, version, metadata, network.load(network_text), created_at, updated_at)
