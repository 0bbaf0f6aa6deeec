"""Units: created, locked, found, listed."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.unit.kinds import Life, Phase
from tinkwell.core.unit.record import Port, Status, Unit
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.unit.store.request import event as events
from tinkwell.server.unit.store.request import place

_LISTED_ROWS = 100
_UNIT = f"""
    SELECT CAST(u.id AS text) AS id, u.version, CAST(u.application_id AS text) AS application_id, u.namespace, u.name,
           u.number, u.life, u.phase, coalesce(CAST(u.machine_id AS text), '') AS machine, u.is_anywhere,
           u.number IS NOT DISTINCT FROM a.leader AS is_leader, u.status_name, u.status_message, u.workload_version,
           coalesce(u.charm, '') AS charm,
           ARRAY(SELECT s.name FROM storage s WHERE s.unit_id = u.id ORDER BY s.kind, s.number) AS storages,
           ARRAY(SELECT p.protocol || '/' || p.number FROM port p WHERE p.unit_id = u.id
                  ORDER BY p.protocol, p.number) AS ports,
           coalesce((SELECT l.expires_at > clock_timestamp() FROM lease l WHERE l.id = u.lease_id), {place.SERVES})
               AS is_agent_alive,
           u.last_ordinal, u.created_at, u.updated_at, {events.COLUMNS}
      FROM unit u JOIN application a ON a.id = u.application_id
      LEFT JOIN unit_event e ON e.unit_id = u.id AND e.state IN ('RUNNING', 'ERROR')
"""  # noqa: S608
FIND = f"{_UNIT} WHERE u.namespace = $1 AND u.name = $2"
FIND_BY_ID = f"{_UNIT} WHERE u.id = $1::text::uuid"
FIND_ALL = f"{_UNIT} WHERE u.id = ANY ($1::text[]::uuid[]) ORDER BY u.application_id, u.number"
_LIST = sqlalchemy.text(f"""
    {_UNIT}
     WHERE (CAST(:namespace AS text) = '' OR u.namespace = :namespace)
       AND (CAST(:application AS text) = '' OR a.name = :application)
     ORDER BY u.namespace, a.name, u.number
""").execution_options(yield_per=_LISTED_ROWS)
_INSERT = """
    INSERT INTO unit (id, namespace, application_id, number, name, machine_id, is_anywhere)
    SELECT n.id::uuid, $1, $2::text::uuid, n.number, $3 || '/' || n.number, n.machine::uuid, $4
      FROM unnest($5::text[], $6::integer[], $7::text[]) AS n (id, number, machine)
     ORDER BY n.number
"""
LOCK = """
    SELECT CAST(u.id AS text) AS id FROM unit u
     WHERE u.namespace = $1 AND u.name = $2 FOR NO KEY UPDATE
"""
LOCK_ALL = """
    SELECT CAST(u.id AS text) AS id FROM unit u
     WHERE u.application_id = $1::text::uuid ORDER BY u.id FOR NO KEY UPDATE
"""
LOCK_ALIVE = """
    SELECT CAST(u.id AS text) AS id FROM unit u
     WHERE u.application_id = $1::text::uuid AND u.life = 'ALIVE' ORDER BY u.id FOR NO KEY UPDATE
"""
LOCK_BY_ID = "SELECT CAST(u.id AS text) AS id FROM unit u WHERE u.id = $1::text::uuid FOR NO KEY UPDATE"
_CODE = """
    SELECT coalesce(u.charm, a.charm) AS charm FROM unit u JOIN application a ON a.id = u.application_id
     WHERE u.id = $1::text::uuid
"""
_EXISTS = "SELECT CAST(u.id AS text) AS id FROM unit u WHERE u.id = $1::text::uuid"
_IDS = "SELECT CAST(u.id AS text) AS id FROM unit u WHERE u.application_id = $1::text::uuid ORDER BY u.number"


COUNTS = """
    SELECT prepare_requested AS prepared, finish_requested AS finished, metrics_requested AS metrics,
           finish_seen AS finished_seen, metrics_seen FROM unit WHERE id = $1::text::uuid
"""
_REQUEST = """
    UPDATE unit SET prepare_requested = prepare_requested + CAST($2 = 'PREPARE_UPGRADE' AS integer),
                    finish_requested = finish_requested + CAST($2 = 'FINISH_UPGRADE' AS integer),
                    metrics_requested = metrics_requested + CAST($2 = 'COLLECT_METRICS' AS integer)
     WHERE id = $1::text::uuid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often something was requested of a unit, and how often the unit was told of it."""

    prepared: int
    finished: int
    metrics: int
    finished_seen: int
    metrics_seen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUnit:
    """A unit to create. `machine` is None if it has none yet, or never will."""

    id: str
    number: int
    machine: str | None


async def insert(
    transaction: Transaction,
    units: Sequence[NewUnit],
    *,
    namespace: str,
    application_id: str,
    application: str,
    is_anywhere: bool,
) -> None:
    """Create units of an application."""
    columns = [unit.id for unit in units], [unit.number for unit in units], [unit.machine for unit in units]
    await transaction.fetch(_INSERT, namespace, application_id, application, is_anywhere, *columns)


async def lock(transaction: Transaction, namespace: str, name: str) -> Unit | None:
    """Lock a unit, and return it as it is then, or None if there is none."""
    if not await transaction.fetch(LOCK, namespace, name):
        return None
    return await find(transaction.fetch, namespace, name)


async def lock_by_id(transaction: Transaction, unit_id: str) -> bool:
    """Lock a unit by its id. Return False if there is none."""
    return bool(await transaction.fetch(LOCK_BY_ID, unit_id))


async def code(transaction: Transaction, unit_id: str) -> str:
    """Return the digest of the charm that a unit runs, or of the one that it will run first."""
    return str((await transaction.fetch(_CODE, unit_id))[0]["charm"])


async def lock_all(transaction: Transaction, application_id: str) -> Sequence[str]:
    """Lock all units of an application, and return their ids."""
    return [row["id"] for row in await transaction.fetch(LOCK_ALL, application_id)]


async def lock_alive(transaction: Transaction, application_id: str) -> Sequence[str]:
    """Lock the units of an application that are not being removed, and return their ids."""
    return [row["id"] for row in await transaction.fetch(LOCK_ALIVE, application_id)]


async def requests(transaction: Transaction, unit_id: str) -> Counts:
    """Return what was requested of a locked unit."""
    return Counts(**dict((await transaction.fetch(COUNTS, unit_id))[0]))


async def request(transaction: Transaction, unit_id: str, asked: str) -> None:
    """Record a request to a unit: PREPARE_UPGRADE, FINISH_UPGRADE or COLLECT_METRICS."""
    await transaction.fetch(_REQUEST, unit_id, asked)


async def exists(fetch: Fetch, unit_id: str) -> Sequence[str]:
    """Return the id of a unit in a list, which is empty if there is no such unit."""
    return [row["id"] for row in await fetch(_EXISTS, unit_id)]


async def list_ids(fetch: Fetch, application_id: str) -> Sequence[str]:
    """Return the ids of all units of an application, by number."""
    return [row["id"] for row in await fetch(_IDS, application_id)]


async def find(fetch: Fetch, namespace: str, name: str) -> Unit | None:
    """Return the unit with a name, or None if there is none."""
    found = await fetch(FIND, namespace, name)
    return _unit(found[0]) if found else None


async def find_by_id(fetch: Fetch, unit_id: str) -> Unit | None:
    """Return the unit with an id, or None if there is none."""
    found = await fetch(FIND_BY_ID, unit_id)
    return _unit(found[0]) if found else None


async def find_all(fetch: Fetch, unit_ids: Sequence[str]) -> Sequence[Unit]:
    """Return the existing units among these, by application and number."""
    return [_unit(row) for row in await fetch(FIND_ALL, list(unit_ids))]


async def list_all(connection: AsyncConnection, namespace: str, application: str) -> AsyncGenerator[Unit, None]:
    """Yield the units of a namespace and an application. An empty filter stands for all."""
    async with connection.stream(_LIST, {"namespace": namespace, "application": application}) as rows:
        async for found in rows.mappings():
            yield _unit(found)


def _unit(found: Mapping[Any, Any]) -> Unit:
    return Unit(
        life=Life(found["life"]),
        phase=Phase(found["phase"]),
        status=Status(name=found["status_name"], message=found["status_message"]),
        event=events.read(found) if found["event_id"] is not None else None,
        storages=tuple(found["storages"]),
        ports=tuple(_port(text) for text in found["ports"]),
        **{name: found[name] for name in _SAME},
    )


def _port(text: str) -> Port:
    protocol, _, number = text.partition("/")
    return Port(protocol=protocol, number=int(number))


_SAME = (
    *("id", "version", "application_id", "namespace", "name", "number", "machine", "is_anywhere", "is_leader"),
    *("workload_version", "charm", "is_agent_alive", "last_ordinal", "created_at", "updated_at"),
)
