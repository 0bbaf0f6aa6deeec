"""Sealed values: stored, read and deleted by owner, and replaced by key."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.secret.seal import Owner, Place, Sealed

_FORGET = sqlalchemy.text("""
    DELETE FROM sealed_value
     WHERE owner_kind = :kind AND owner_id = :id AND document = ANY (CAST(:documents AS text[]))
""")
_INSERT = sqlalchemy.text("""
    INSERT INTO sealed_value (owner_kind, owner_id, document, pointer, sealed)
    SELECT CAST(:kind AS text), CAST(:id AS text), *
      FROM unnest(CAST(:documents AS text[]), CAST(:pointers AS text[]), CAST(:sealed AS bytea[]))
""")
_OF_OWNER = sqlalchemy.text("""
    SELECT id, owner_kind, owner_id, document, pointer, sealed FROM sealed_value
     WHERE owner_kind = :kind AND owner_id = :id
     ORDER BY id
""")
_TEXTS = sqlalchemy.text("""
    SELECT v.id, v.owner_kind, v.owner_id, v.document, v.pointer, v.sealed
      FROM unnest(CAST(:kinds AS text[]), CAST(:ids AS text[])) AS wanted (kind, id)
      JOIN sealed_value v ON v.owner_kind = wanted.kind AND v.owner_id = wanted.id
     WHERE v.pointer = :pointer
""")
# One step in the index for each key. The marks of deleted values have no key.
_KEYS = sqlalchemy.text("""
    WITH RECURSIVE found (key) AS (
        SELECT (SELECT substring(sealed FROM 2 FOR 8) FROM sealed_value WHERE substring(sealed FROM 2 FOR 8) > ''
                 ORDER BY substring(sealed FROM 2 FOR 8) LIMIT 1)
         UNION ALL
        SELECT (SELECT substring(v.sealed FROM 2 FOR 8) FROM sealed_value v
                 WHERE substring(v.sealed FROM 2 FOR 8) > found.key
                 ORDER BY substring(v.sealed FROM 2 FOR 8) LIMIT 1)
          FROM found WHERE found.key IS NOT NULL
    )
    SELECT key FROM found WHERE key IS NOT NULL
""")
_COUNT = sqlalchemy.text("SELECT count(*) FROM sealed_value WHERE substring(sealed FROM 2 FOR 8) = :key")
# At least one row, and further ones while they are not too large together. The order is that of the index by key, which
# the planner would not use for an order by number alone: a key may have few of very many rows.
_BATCH = sqlalchemy.text("""
    SELECT id, owner_kind, owner_id, document, pointer, sealed
      FROM (SELECT *, sum(octet_length(sealed)) OVER (ORDER BY id) AS bytes, row_number() OVER (ORDER BY id) AS number
              FROM (SELECT * FROM sealed_value
                     WHERE (substring(sealed FROM 2 FOR 8), id) > (CAST(:key AS bytea), CAST(:after AS bigint))
                     ORDER BY substring(sealed FROM 2 FOR 8), id LIMIT :rows) AS following
             WHERE substring(sealed FROM 2 FOR 8) = :key) AS summed
     WHERE bytes <= CAST(:bytes AS bigint) OR number = 1
     ORDER BY id
""")
# The secret texts of a document are stored beside its sealed values.
_OF_KEY = sqlalchemy.text("""
    SELECT owner_kind, owner_id, document, count(*) FILTER (WHERE pointer <> :texts) AS values
      FROM sealed_value WHERE substring(sealed FROM 2 FOR 8) = :key
     GROUP BY owner_kind, owner_id, document ORDER BY owner_kind, owner_id, document
""")
_MARK = sqlalchemy.text("""
    WITH found AS MATERIALIZED (
        SELECT owner_kind, owner_id, document, pointer FROM sealed_value WHERE substring(sealed FROM 2 FOR 8) = :key
    )
    INSERT INTO sealed_value (owner_kind, owner_id, document, pointer, sealed)
    SELECT DISTINCT owner_kind, owner_id, document, CAST(:mark AS text), CAST('' AS bytea)
      FROM found WHERE pointer <> :texts AND owner_kind = ANY (CAST(:kinds AS text[]))
    ON CONFLICT (owner_kind, owner_id, document, pointer) DO NOTHING
""")
_FORGET_KEY = sqlalchemy.text("DELETE FROM sealed_value WHERE substring(sealed FROM 2 FOR 8) = :key")
# A new value has a row of its own: only this statement ever changes a row.
_REPLACE = sqlalchemy.text("""
    UPDATE sealed_value AS v SET sealed = changed.sealed
      FROM unnest(CAST(:ids AS bigint[]), CAST(:sealed AS bytea[])) AS changed (id, sealed)
     WHERE v.id = changed.id
""")


@dataclass(frozen=True, slots=True)
class Row:
    """One sealed value and the number of its row."""

    id: int
    place: Place
    sealed: bytes


async def put(
    connection: AsyncConnection, owner: Owner, documents: Sequence[str], sealed: Sequence[tuple[Place, bytes]]
) -> None:
    """Store the sealed values of some documents of an owner, in place of the former ones."""
    of_owner = {"kind": owner.kind, "id": owner.id}
    await connection.execute(_FORGET, {**of_owner, "documents": list(documents)})
    if sealed:
        values = {
            "documents": [place.document for place, _ in sealed],
            "pointers": [place.pointer for place, _ in sealed],
            "sealed": [value for _, value in sealed],
        }
        await connection.execute(_INSERT, {**of_owner, **values})


async def of_owner(connection: AsyncConnection, owner: Owner) -> list[Row]:
    """Return all sealed values of an owner, in the order in which they were stored."""
    return _rows(await connection.execute(_OF_OWNER, {"kind": owner.kind, "id": owner.id}))


async def texts_of(connection: AsyncConnection, owners: Sequence[Owner], pointer: str) -> list[Row]:
    """Return the values at one pointer of all documents of some owners."""
    values = {"kinds": [owner.kind for owner in owners], "ids": [owner.id for owner in owners], "pointer": pointer}
    return _rows(await connection.execute(_TEXTS, values))


async def keys(connection: AsyncConnection) -> list[bytes]:
    """Return the ids of all keys that have sealed values."""
    return [bytes(key) for key in (await connection.execute(_KEYS)).scalars()]


async def count(connection: AsyncConnection, key: bytes) -> int:
    """Return the number of values that a key has sealed."""
    found: int = (await connection.execute(_COUNT, {"key": key})).scalar_one()
    return found


async def of_key(connection: AsyncConnection, key: bytes, *, texts: str) -> list[Sealed]:
    """Return the documents with values that a key has sealed.

    The rows at the pointer `texts` do not count as values.
    """
    found = await connection.execute(_OF_KEY, {"key": key, "texts": texts})
    return [Sealed(Owner(row.owner_kind, row.owner_id), row.document, row.values) for row in found]


async def mark(connection: AsyncConnection, key: bytes, *, pointer: str, texts: str, kinds: Sequence[str]) -> None:
    """Add a row without content at a pointer of the documents with values of a key, for owners of some kinds."""
    await connection.execute(_MARK, {"key": key, "mark": pointer, "texts": texts, "kinds": list(kinds)})


async def forget(connection: AsyncConnection, key: bytes) -> int:
    """Delete the values that a key has sealed, and return the number of rows."""
    return (await connection.execute(_FORGET_KEY, {"key": key})).rowcount


async def batch(connection: AsyncConnection, key: bytes, *, after: int, max_rows: int, max_bytes: int) -> list[Row]:
    """Return the next values that a key has sealed, by row number, or none at the end."""
    limits = {"rows": max_rows, "bytes": max_bytes}
    return _rows(await connection.execute(_BATCH, {"key": key, "after": after, **limits}))


async def replace(connection: AsyncConnection, changed: Sequence[tuple[Row, bytes]]) -> int:
    """Replace the values of those rows that still exist, and return their number."""
    values = {"ids": [row.id for row, _ in changed], "sealed": [sealed for _, sealed in changed]}
    return (await connection.execute(_REPLACE, values)).rowcount


def _rows(found: sqlalchemy.CursorResult[tuple[object, ...]]) -> list[Row]:
    return [
        Row(row.id, Place(Owner(row.owner_kind, row.owner_id), row.document, row.pointer), bytes(row.sealed))
        for row in found
    ]
