"""Machines: stored, found by their addresses, listed, deleted."""

import dataclasses
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.hardware import network
from tinkwell.core.hardware.record import Hardware
from tinkwell.server.database.database import Database, Fetch

# A machine may have a megabyte, so few rows are in memory at a time.
_CURSOR_ROWS = 50

Key: TypeAlias = Literal["id", "mac", "ip"]

# The id of the machine that `$1` names. Only live machines have addresses.
_ID: Mapping[Key, str] = {
    "id": "$1::text::uuid",
    "mac": "(SELECT hardware_id FROM hardware_address WHERE mac = $1::text::macaddr)",
    "ip": "(SELECT hardware_id FROM hardware_address WHERE ip = $1::text::inet)",
}
_COLUMNS = "id::text, version, metadata::text, network::text, created_at, updated_at"
_FIND = {
    key: f"SELECT {_COLUMNS} FROM hardware WHERE id = {machine} AND deleted_at IS NULL"  # noqa: S608
    for key, machine in _ID.items()
}
_FIND_ID = {
    key: f"SELECT id::text FROM hardware WHERE id = {machine} AND deleted_at IS NULL"  # noqa: S608
    for key, machine in _ID.items()
}
_PHONE_HOME = {
    key: f"SELECT revision FROM phone_home({machine}, $2::text::jsonb, $3)"  # noqa: S608
    for key, machine in _ID.items()
}

# The end of an INSERT of machines `AS former`: it replaces existing rows if they differ or are deleted. JSON is
# compared as text, because jsonb compares numbers by value: 1.10 equals 1.1, but is written differently.
REPLACE = """
    ON CONFLICT (id) DO UPDATE
       SET metadata = excluded.metadata, network = excluded.network, deleted_at = NULL,
           created_at = CASE WHEN former.deleted_at IS NULL THEN former.created_at ELSE clock_timestamp() END
     WHERE (former.deleted_at IS NOT NULL OR former.metadata::text <> excluded.metadata::text
            OR former.network::text <> excluded.network::text)
"""
# The row is locked before it is compared. `stored` cannot see a row that was created after the statement began; a
# conditional push leaves such a row unchanged.
_PUSH = f"""
    WITH stored AS MATERIALIZED (
        SELECT CASE WHEN deleted_at IS NULL THEN version ELSE 0 END AS version
          FROM hardware WHERE id = $1::text::uuid FOR NO KEY UPDATE
    ), pushed AS (
        INSERT INTO hardware AS former (id, metadata, network)
        SELECT $1::text::uuid, $2::text::jsonb, $3::text::jsonb
         WHERE coalesce(coalesce((SELECT version FROM stored), 0) = $4::bigint, true)
        {REPLACE} AND ($4 IS NULL OR EXISTS (SELECT FROM stored))
        RETURNING version
    )
    SELECT (SELECT version FROM pushed) AS pushed, (SELECT version FROM stored) AS stored,
           set_config('tinkwell.actor', coalesce($5, current_setting('tinkwell.actor', true)), true)
"""  # noqa: S608
_STORED_SIZES = "SELECT octet_length($1::text::jsonb::text), octet_length($2::text::jsonb::text)"
_LIST = sqlalchemy.text(
    f"SELECT {_COLUMNS} FROM hardware WHERE deleted_at IS NULL ORDER BY created_at, hardware.id"  # noqa: S608
).execution_options(yield_per=_CURSOR_ROWS)
_DELETE = """
    UPDATE hardware SET deleted_at = clock_timestamp() WHERE id = $1::text::uuid AND deleted_at IS NULL RETURNING id
"""
# The machine is locked. A transaction that adds units to it waits for that lock.
_UNITS = "SELECT name FROM unit WHERE machine_id = $1::text::uuid AND life <> 'DEAD' ORDER BY name"


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """A machine as it is stored: its id in lower case, and two JSON texts.

    `expected_version` makes the push conditional; 0 means that the machine must not exist.
    """

    id: str
    metadata: str
    network: str
    expected_version: int | None

    @property
    def characters(self) -> int:
        """The length of the texts, in characters."""
        return len(self.metadata) + len(self.network)


@dataclasses.dataclass(frozen=True, slots=True)
class Pushed:
    """A machine's version after a push, 0 if it does not exist, and whether the push changed it."""

    version: int
    is_changed: bool


async def push(fetch: Fetch, machine: Machine, *, actor: str | None) -> Pushed | None:
    """Store a machine, unless the live one is the same or has another version than expected.

    The row is locked until the transaction ends. Returns None if another transaction creates the machine at this
    moment: only another statement can see its row. The event names `actor`, or the transaction's actor if it is None.
    """
    expected = machine.expected_version
    [row] = await fetch(_PUSH, machine.id, machine.metadata, machine.network, expected, actor)
    if row["pushed"] is not None:
        return Pushed(row["pushed"], is_changed=True)
    if row["stored"] is not None or expected:
        return Pushed(row["stored"] or 0, is_changed=False)
    return None


async def stored_sizes(fetch: Fetch, machine: Machine) -> tuple[int, int]:
    """Return the sizes of metadata and network in the database's own format, in bytes.

    The size limit applies to these.
    """
    [row] = await fetch(_STORED_SIZES, machine.metadata, machine.network)
    return int(row[0]), int(row[1])


async def find(fetch: Fetch, key: Key, address: str) -> Hardware | None:
    """Return the live machine with an id, or the one with an interface that has the address."""
    rows = await fetch(_FIND[key], address)
    return _record(rows[0]) if rows else None


async def find_id(fetch: Fetch, key: Key, address: str) -> str | None:
    """Return only the id of the machine that `find` returns."""
    rows = await fetch(_FIND_ID[key], address)
    return str(rows[0][0]) if rows else None


async def list_live(connection: AsyncConnection) -> AsyncGenerator[Hardware, None]:
    """Yield every live machine, oldest first."""
    async with connection.stream(_LIST) as rows:
        async for row in rows:
            yield _record(row)


async def mark_deleted(fetch: Fetch, hardware_id: str) -> bool:
    """Mark a machine as deleted. Return False if there is none."""
    return bool(await fetch(_DELETE, hardware_id))


async def list_units(fetch: Fetch, hardware_id: str) -> Sequence[str]:
    """Return the names of the units on a machine, which is locked."""
    return [row["name"] for row in await fetch(_UNITS, hardware_id)]


async def phone_home(database: Database, key: Key, address: str, call: str, *, actor: str) -> int | None:
    """Record that a machine called, and return the event's revision, or None if there is no such machine."""
    rows = await database.fetch(_PHONE_HOME[key], address, call, actor)
    return int(rows[0][0]) if rows else None


def _record(row: Sequence[Any]) -> Hardware:
    hardware_id, version, metadata, network_text, created_at, updated_at = row
    return Hardware(hardware_id, version, metadata, network.load(network_text), created_at, updated_at)
