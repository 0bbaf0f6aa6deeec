"""Applications: locked, created, changed, found, listed."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.unit.kinds import CharmKind, Life, Profile
from tinkwell.core.unit.record import Application, Status
from tinkwell.server.database.database import Fetch, Transaction

_LISTED_ROWS = 100
_COLUMNS = """
    CAST(a.id AS text) AS id, a.version, a.namespace, a.name, a.life, a.charm, a.profile,
    CAST(a.config AS text) AS config, a.config_version,
    coalesce(a.name || '/' || a.leader, '') AS leader, a.term, a.announced_term,
    c.name AS charm_name, c.kind, s.status_name, s.status_message,
    (SELECT count(*) FROM unit u WHERE u.application_id = a.id AND u.life <> 'DEAD') AS units, a.created_at,
    a.updated_at
"""
# An application whose leader has set no status has the most urgent status of its units.
_FROM = """
      FROM application a JOIN charm c ON c.digest = a.charm
      LEFT JOIN LATERAL (
            SELECT f.status_name, f.status_message FROM (
                SELECT 0 AS urgency, 0 AS number, a.status_name, a.status_message WHERE a.status_name <> ''
                 UNION ALL
                SELECT array_position('{error,blocked,maintenance,waiting,active,unknown}', u.status_name), u.number,
                       u.status_name, u.status_message
                  FROM unit u WHERE u.application_id = a.id AND u.life <> 'DEAD'
            ) f ORDER BY f.urgency, f.number LIMIT 1
      ) s ON true
"""
FIND = f"SELECT {_COLUMNS} {_FROM} WHERE a.namespace = $1 AND a.name = $2"
FIND_BY_ID = f"SELECT {_COLUMNS} {_FROM} WHERE a.id = $1::text::uuid"
LOCK = """
    SELECT CAST(id AS text) AS id FROM application WHERE namespace = $1 AND name = ANY ($2::text[])
     ORDER BY id FOR NO KEY UPDATE
"""
# A second statement, because it must see what was committed while the first one waited for the lock.
_LOCKED = """
    SELECT CAST(a.id AS text) AS id, a.name, a.life, a.charm, a.profile, CAST(a.config AS text) AS config,
           a.next_number,
           (SELECT count(*) FROM unit u WHERE u.application_id = a.id AND u.life <> 'DEAD') AS units
      FROM application a WHERE a.namespace = $1 AND a.name = ANY ($2::text[]) ORDER BY a.id
"""
_INSERT = """
    INSERT INTO application (id, namespace, name, charm, profile, config)
    VALUES (coalesce($1::text::uuid, gen_random_uuid()), $2, $3, $4, $5, $6::text::json)
    RETURNING CAST(id AS text) AS id
"""
_TAKE_NUMBERS = """
    UPDATE application SET next_number = next_number + $2 WHERE id = $1::text::uuid RETURNING next_number - $2
"""
_CONFIGURE = "UPDATE application SET config = $2::text::json WHERE id = $1::text::uuid"
_REFRESH = """
    UPDATE application SET charm = $2, charm_revision = charm_revision + 1, config = $3::text::json
     WHERE id = $1::text::uuid
"""
_MARK = """
    UPDATE application SET life = 'DYING', removal_actor = $2 WHERE id = $1::text::uuid AND life = 'ALIVE' RETURNING id
"""
_LIST = sqlalchemy.text(f"""
    SELECT {_COLUMNS} {_FROM} WHERE CAST(:namespace AS text) = '' OR a.namespace = :namespace
     ORDER BY a.namespace, a.name
""").execution_options(yield_per=_LISTED_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """An application that is locked until the transaction ends. `units` is the number of those that are not DEAD."""

    id: str
    name: str
    life: Life
    charm: str
    profile: Profile
    config: str
    next_number: int
    units: int


async def lock(transaction: Transaction, namespace: str, names: Sequence[str]) -> Mapping[str, Locked]:
    """Lock applications in the order of their ids, and return the existing ones by name."""
    if not await transaction.fetch(LOCK, namespace, list(names)):
        return {}
    return {row["name"]: _locked(row) for row in await transaction.fetch(_LOCKED, namespace, list(names))}


async def insert(
    transaction: Transaction,
    *,
    application_id: str,
    namespace: str,
    name: str,
    charm: str,
    profile: Profile,
    config: str,
) -> str:
    """Create an application without units, and return its id. An empty id is replaced by a new one."""
    values = (application_id or None, namespace, name, charm, profile.value, config)
    return str((await transaction.fetch(_INSERT, *values))[0]["id"])


async def take_numbers(transaction: Transaction, application_id: str, count: int) -> int:
    """Return the first of `count` consecutive numbers that no unit of the application ever had."""
    return int((await transaction.fetch(_TAKE_NUMBERS, application_id, count))[0][0])


async def configure(transaction: Transaction, application_id: str, config: str) -> None:
    """Give an application another configuration."""
    await transaction.fetch(_CONFIGURE, application_id, config)


async def refresh(transaction: Transaction, application_id: str, *, charm: str, config: str) -> None:
    """Give an application another charm and the configuration for it."""
    await transaction.fetch(_REFRESH, application_id, charm, config)


async def mark_dying(transaction: Transaction, application_id: str, *, actor: str) -> bool:
    """Begin the end of an application. Return False if it has begun already."""
    return bool(await transaction.fetch(_MARK, application_id, actor))


async def find(fetch: Fetch, namespace: str, name: str) -> Application | None:
    """Return the application with a name, or None if there is none."""
    found = await fetch(FIND, namespace, name)
    return _application(found[0]) if found else None


async def find_by_id(fetch: Fetch, application_id: str) -> Application | None:
    """Return the application with an id, or None if there is none."""
    found = await fetch(FIND_BY_ID, application_id)
    return _application(found[0]) if found else None


async def list_all(connection: AsyncConnection, namespace: str) -> AsyncGenerator[Application, None]:
    """Yield the applications of a namespace, or all, by namespace and name."""
    async with connection.stream(_LIST, {"namespace": namespace}) as rows:
        async for found in rows.mappings():
            yield _application(found)


def _locked(found: Mapping[Any, Any]) -> Locked:
    columns: dict[str, Any] = {**found, "life": Life(found["life"]), "profile": Profile(found["profile"])}
    return Locked(**columns)


def _application(found: Mapping[Any, Any]) -> Application:
    columns: dict[str, Any] = {
        **found,
        "life": Life(found["life"]),
        "profile": Profile(found["profile"]),
        "kind": CharmKind(found["kind"]),
        "status": Status(name=found["status_name"] or "", message=found["status_message"] or ""),
    }
    del columns["status_name"], columns["status_message"]
    return Application(**columns)
