"""People's view of secrets: all are found and listed, and those of users are created and changed."""

import datetime
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.unit.kinds import Rotation
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.unit.store.delivery.look_again import look_again
from tinkwell.server.unit.store.secret.own import Granted, grants_of

_LISTED_ROWS = 100
_COLUMNS = """
    SELECT CAST(s.id AS text) AS id, s.name, s.namespace, s.owner, s.label, s.description, s.rotation, s.rotates_at,
           s.latest, s.version, s.created_at, s.updated_at,
           (SELECT CAST(json_agg(json_build_array(
                       v.revision, extract(epoch FROM v.expires_at), extract(epoch FROM v.created_at),
                       (SELECT json_agg(u.name ORDER BY u.name) FROM secret_reader k JOIN unit u ON u.id = k.unit_id
                         WHERE k.secret_id = s.id AND k.tracked = v.revision)) ORDER BY v.revision) AS text)
              FROM secret_revision v WHERE v.secret_id = s.id) AS revisions,
           (SELECT CAST(json_agg(json_build_array(coalesce(r.number, 0), a.name, coalesce(u.name, ''))
                                 ORDER BY g.id) AS text)
              FROM secret_grant g JOIN application a ON a.id = g.application_id
              LEFT JOIN relation r ON r.id = g.relation_id LEFT JOIN unit u ON u.id = g.unit_id
             WHERE g.secret_id = s.id) AS grants
      FROM secret s
"""
FIND_BY_ID = f"{_COLUMNS} WHERE s.id = $1::text::uuid"
# A user's secret may also be found by its label. An id, which charms get, comes first.
_NAMED = "s.namespace = $1 AND (s.name = $2 OR s.owner = '' AND s.label = $2 AND s.label <> '')"
FIND = f"{_COLUMNS} WHERE {_NAMED} ORDER BY s.name = $2 DESC LIMIT 1"
LOCK = f"""
    SELECT CAST(s.id AS text) AS id FROM secret s WHERE {_NAMED} ORDER BY s.name = $2 DESC LIMIT 1 FOR NO KEY UPDATE
"""  # noqa: S608
_LIST = sqlalchemy.text(f"""
    {_COLUMNS}
     WHERE (CAST(:namespace AS text) = '' OR s.namespace = :namespace)
       AND (CAST(:owner AS text) = '' OR s.owner = :owner)
     ORDER BY s.namespace, s.owner, s.name
""").execution_options(yield_per=_LISTED_ROWS)
_INSERT = """
    INSERT INTO secret (id, namespace, name, label, description)
    VALUES (coalesce($1::text::uuid, gen_random_uuid()), $2, $3, $4, $5) RETURNING CAST(id AS text) AS id
"""
LABELLED = "SELECT name FROM secret WHERE namespace = $1 AND owner = '' AND label = $2"
_UPDATE = """
    UPDATE secret SET label = coalesce($2, label), description = coalesce($3, description), latest = $4
     WHERE id = $1::text::uuid
"""
_GRANT = """
    INSERT INTO secret_grant (secret_id, application_id) VALUES ($1::text::uuid, $2::text::uuid)
        ON CONFLICT DO NOTHING RETURNING id
"""
_REVOKE = """
    DELETE FROM secret_grant
     WHERE secret_id = $1::text::uuid AND application_id = $2::text::uuid AND relation_id IS NULL
    RETURNING id
"""
COUNT = "SELECT count(*) AS n FROM secret WHERE namespace = $1 AND application_id IS NULL"
_TOUCH = "UPDATE secret SET latest = latest WHERE id = $1::text::uuid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """An existing revision. `readers` are the names of the units that read it."""

    revision: int
    expires_at: datetime.datetime | None
    created_at: datetime.datetime
    readers: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret without its content. `owner` is the name of a unit or of an application, empty for a user's."""

    id: str
    name: str
    namespace: str
    owner: str
    label: str
    description: str
    rotation: Rotation
    rotates_at: datetime.datetime | None
    latest: int
    version: int
    created_at: datetime.datetime
    updated_at: datetime.datetime
    revisions: Sequence[Revision]
    grants: Sequence[Granted]


async def find(fetch: Fetch, namespace: str, name: str) -> Secret | None:
    """Return the secret with a name, or the user's secret with a label, or None if there is none."""
    found = await fetch(FIND, namespace, name)
    return _secret(found[0]) if found else None


async def find_by_id(fetch: Fetch, secret_id: str) -> Secret | None:
    """Return the secret with an id, or None if there is none."""
    found = await fetch(FIND_BY_ID, secret_id)
    return _secret(found[0]) if found else None


async def lock(transaction: Transaction, namespace: str, name: str) -> Secret | None:
    """Lock a secret, named as for `find`, and return it as it is then, or None if there is none."""
    locked = await transaction.fetch(LOCK, namespace, name)
    return await find_by_id(transaction.fetch, locked[0]["id"]) if locked else None


async def labelled(transaction: Transaction, namespace: str, label: str) -> str:
    """Return the name of the user's secret with a label, or an empty text if there is none."""
    found = await transaction.fetch(LABELLED, namespace, label)
    return str(found[0]["name"]) if found else ""


async def insert(
    transaction: Transaction, *, secret_id: str, namespace: str, name: str, label: str, description: str
) -> str:
    """Create a user's secret without a revision, and return its id."""
    values = (secret_id or None, namespace, name, label, description)
    return str((await transaction.fetch(_INSERT, *values))[0]["id"])


async def update(
    transaction: Transaction, secret_id: str, *, label: str | None, description: str | None, latest: int
) -> None:
    """Change the metadata of a secret. A value that is None stays."""
    await transaction.fetch(_UPDATE, secret_id, label, description, latest)


async def count(transaction: Transaction, namespace: str) -> int:
    """Return the number of secrets of a namespace's users."""
    return int((await transaction.fetch(COUNT, namespace))[0]["n"])


async def grant(transaction: Transaction, secret_id: str, application_id: str) -> bool:
    """Let all units of an application read a secret. Return False if they may already."""
    with look_again():
        is_new = bool(await transaction.fetch(_GRANT, secret_id, application_id))
    if is_new:
        await transaction.fetch(_TOUCH, secret_id)
    return is_new


async def revoke(transaction: Transaction, secret_id: str, application_id: str) -> bool:
    """Revoke an application's grant. Return False if it has none."""
    was_there = bool(await transaction.fetch(_REVOKE, secret_id, application_id))
    if was_there:
        await transaction.fetch(_TOUCH, secret_id)
    return was_there


async def list_all(connection: AsyncConnection, namespace: str, owner: str) -> AsyncGenerator[Secret, None]:
    """Yield secrets by namespace, owner and name. An empty filter stands for all."""
    async with connection.stream(_LIST, {"namespace": namespace, "owner": owner}) as rows:
        async for found in rows.mappings():
            yield _secret(found)


def _secret(found: Mapping[Any, Any]) -> Secret:
    values = dict(found) | {
        "rotation": Rotation(found["rotation"]),
        "revisions": [_revision(each) for each in json.loads(found["revisions"] or "[]")],
        "grants": grants_of(found["grants"]),
    }
    return Secret(**values)


def _revision(found: list[Any]) -> Revision:
    revision, expires, created, readers = found
    return Revision(
        revision=revision,
        expires_at=_moment(expires) if expires is not None else None,
        created_at=_moment(created),
        readers=tuple(readers or ()),
    )


def _moment(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
