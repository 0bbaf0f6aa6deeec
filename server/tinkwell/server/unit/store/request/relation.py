"""Relations: created, ended, found, listed."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.unit.kinds import Life
from tinkwell.core.unit.record import Bag, End, Relation
from tinkwell.core.value import document
from tinkwell.server.database.database import Fetch, Transaction

_LISTED_ROWS = 500
_COLUMNS = """
    CAST(r.id AS text) AS id, r.version, r.namespace, r.number, r.interface, r.is_peer, r.life,
    CAST(r.ends AS text) AS ends, r.created_at, r.updated_at
"""
FIND = f"SELECT {_COLUMNS} FROM relation r WHERE r.namespace = $1 AND r.number = $2"  # noqa: S608
FIND_ALIVE = f"""
    SELECT {_COLUMNS} FROM relation r WHERE r.namespace = $1 AND r.ends = $2::text::jsonb AND r.life = 'ALIVE'
"""  # noqa: S608
BAGS = """
    SELECT b.owner, CAST(b.data AS text) AS data, b.version
      FROM relation_bag b WHERE b.relation_id = $1::text::uuid ORDER BY b.owner
"""
_LIST = sqlalchemy.text(f"""
    SELECT {_COLUMNS} FROM relation r
     WHERE (CAST(:namespace AS text) = '' OR r.namespace = :namespace)
       AND (CAST(:application AS text) = ''
            OR EXISTS (SELECT FROM relation_end e JOIN application a ON a.id = e.application_id
                        WHERE e.relation_id = r.id AND a.name = :application))
     ORDER BY r.namespace, r.number
""").execution_options(yield_per=_LISTED_ROWS)  # noqa: S608
_INSERT = """
    INSERT INTO relation (namespace, number, interface, is_peer, ends)
    VALUES ($1, $2, $3, $4, $5::text::jsonb) RETURNING CAST(id AS text) AS id
"""
_INSERT_END = (
    "INSERT INTO relation_end (relation_id, application_id, endpoint) VALUES ($1::text::uuid, $2::text::uuid, $3)"
)
# Peer relations end with their application.
_MARK_OF_APPLICATION = """
    UPDATE relation SET life = 'DYING', removal_actor = $2
     WHERE id IN (SELECT r.id FROM relation_end e JOIN relation r ON r.id = e.relation_id
                   WHERE e.application_id = $1::text::uuid AND NOT r.is_peer AND r.life = 'ALIVE'
                   ORDER BY r.id FOR NO KEY UPDATE OF r)
"""
_MARK = """
    UPDATE relation SET life = 'DYING', removal_actor = $2 WHERE id = $1::text::uuid AND life = 'ALIVE' RETURNING id
"""
_RELATED = """
    SELECT e.endpoint, r.life, count(*) AS relations
      FROM relation_end e JOIN relation r ON r.id = e.relation_id
     WHERE e.application_id = $1::text::uuid GROUP BY e.endpoint, r.life
"""
_LARGEST = """
    SELECT coalesce(max(f.units), 0) FROM (
        SELECT count(u.id) AS units
          FROM relation_end e
          JOIN relation_end o ON o.relation_id = e.relation_id
          JOIN unit u ON u.application_id = o.application_id AND u.life <> 'DEAD'
         WHERE e.application_id = $1::text::uuid GROUP BY e.relation_id
    ) f
"""


@dataclass(frozen=True, slots=True)
class NewEnd:
    """An end of a relation to create."""

    application_id: str
    application: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class Related:
    """The number of relations of an endpoint, and the number of those that are not ending."""

    all: int
    alive: int


async def insert(
    transaction: Transaction, *, namespace: str, number: int, interface: str, ends: Sequence[NewEnd]
) -> None:
    """Create a relation with two ends, the provider's first, or a peer relation with one."""
    values = namespace, number, interface, len(ends) == 1, dump_ends(ends)
    relation_id = (await transaction.fetch(_INSERT, *values))[0]["id"]
    for end in ends:
        await transaction.fetch(_INSERT_END, relation_id, end.application_id, end.endpoint)


async def mark_dying(transaction: Transaction, relation_id: str, *, actor: str) -> bool:
    """Begin the end of a relation. Return False if it has begun already."""
    return bool(await transaction.fetch(_MARK, relation_id, actor))


async def mark_all_dying(transaction: Transaction, application_id: str, *, actor: str) -> None:
    """Begin the end of all relations of an application with other applications."""
    await transaction.fetch(_MARK_OF_APPLICATION, application_id, actor)


async def related(transaction: Transaction, application_id: str) -> Mapping[str, Related]:
    """Return the numbers of relations of an application's endpoints that have any."""
    found: dict[str, Related] = {}
    for row in await transaction.fetch(_RELATED, application_id):
        before = found.get(row["endpoint"], Related(0, 0))
        alive = row["relations"] if row["life"] == Life.ALIVE else 0
        found[row["endpoint"]] = Related(before.all + row["relations"], before.alive + alive)
    return found


async def count_members(transaction: Transaction, application_id: str) -> int:
    """Return the number of units in the largest relation of an application, on both sides together."""
    return int((await transaction.fetch(_LARGEST, application_id))[0][0])


async def find(fetch: Fetch, namespace: str, number: int) -> Relation | None:
    """Return the relation with a number, or None if there is none."""
    found = await fetch(FIND, namespace, number)
    return _relation(found[0]) if found else None


async def find_alive(fetch: Fetch, namespace: str, ends: Sequence[NewEnd]) -> Relation | None:
    """Return the relation between two ends that is not ending, or None if there is none."""
    found = await fetch(FIND_ALIVE, namespace, dump_ends(ends))
    return _relation(found[0]) if found else None


async def list_bags(fetch: Fetch, relation_id: str) -> tuple[Bag, ...]:
    """Return the bags of a relation, by owner."""
    rows = await fetch(BAGS, relation_id)
    return tuple(Bag(owner=row["owner"], data=json.loads(row["data"]), version=row["version"]) for row in rows)


async def list_all(connection: AsyncConnection, namespace: str, application: str) -> AsyncGenerator[Relation, None]:
    """Yield the relations of a namespace and an application. An empty filter stands for all."""
    async with connection.stream(_LIST, {"namespace": namespace, "application": application}) as rows:
        async for found in rows.mappings():
            yield _relation(found)


def dump_ends(ends: Sequence[NewEnd]) -> str:
    """Write ends as JSON text."""
    return document.dump_json([{"application": end.application, "endpoint": end.endpoint} for end in ends])


def _relation(found: Mapping[Any, Any]) -> Relation:
    columns: dict[str, Any] = {
        **found,
        "life": Life(found["life"]),
        "ends": tuple(End(**end) for end in json.loads(found["ends"])),
    }
    return Relation(**columns)
