"""What is sealed is found by an index, however much of it there is."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.database import engine
from tinkwell.server.secret.store import queries

_FILL = """
    INSERT INTO sealed_value (owner_kind, owner_id, document, pointer, sealed)
    SELECT 'operation', 'o' || n / 10, 'state', '/' || n,
           decode(lpad(to_hex(n % 3), 18, '0') || repeat('00', 50), 'hex')
      FROM generate_series(1, 5000) n
"""
_OWNER = {"kind": "operation", "id": "o7"}
_KEY = {"key": bytes(7) + b"\1"}


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[AsyncConnection]:
    pool = engine.create(database_url, pool_size=1)
    async with pool.connect() as connected:
        async with connected.begin():
            await connected.execute(sqlalchemy.text(_FILL))
        async with connected.begin():
            await connected.execute(sqlalchemy.text("ANALYZE sealed_value"))
        yield connected
    await pool.dispose()


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


@pytest.mark.parametrize(
    ("query", "values", "index"),
    [
        (queries._OF_OWNER, _OWNER, "sealed_value_place"),
        (queries._FORGET, {**_OWNER, "documents": ["state"]}, "sealed_value_place"),
        (queries._TEXTS, {"kinds": ["operation"] * 2, "ids": ["o1", "o2"], "pointer": "#"}, "sealed_value_place"),
        (queries._FORGET_KEY, _KEY, "sealed_value_key"),
        (queries._OF_KEY, {**_KEY, "texts": "#"}, "sealed_value_key"),
        (
            queries._MARK,
            {**_KEY, "texts": "#", "mark": "#forgotten", "kinds": ["release_revision"]},
            "sealed_value_key",
        ),
        (queries._KEYS, {}, "sealed_value_key"),
        (queries._COUNT, _KEY, "sealed_value_key"),
        (queries._BATCH, {**_KEY, "after": 7, "rows": 5, "bytes": 100}, "sealed_value_key"),
        (queries._REPLACE, {"ids": [1], "sealed": [b""]}, "sealed_value_pkey"),
    ],
)
async def test_a_query_goes_by_its_index(
    connection: AsyncConnection, query: sqlalchemy.TextClause, values: Mapping[str, object], index: str
) -> None:
    explain = sqlalchemy.text(f"EXPLAIN (FORMAT JSON) {query.text}")
    explained = (await connection.execute(explain, dict(values))).scalar_one()
    (found,) = json.loads(explained) if isinstance(explained, str) else explained
    nodes = list(_nodes(found["Plan"]))
    assert [node for node in nodes if node["Node Type"] == "Seq Scan"] == []
    assert index in {node.get("Index Name") for node in nodes}


async def test_the_keys_in_use_are_found(connection: AsyncConnection) -> None:
    assert await queries.keys(connection) == [bytes(7) + bytes([number]) for number in range(3)]
    assert await queries.count(connection, bytes(7) + b"\1") == 1_667
