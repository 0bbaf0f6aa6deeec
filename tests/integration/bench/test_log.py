"""The log that benchmarks read is written in bulk."""

import json

import asyncpg

from bench.replay import log


async def test_a_log_is_filled_also_when_machines_have_another_column(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("ALTER TABLE hardware ADD extra text")
    await log.fill(database_url, 3)
    data = [json.loads(row["data"]) for row in await connection.fetch("SELECT data FROM events ORDER BY revision")]
    await connection.close()
    assert [machine["metadata"]["number"] for machine in data] == [1, 2, 3]
    assert all(machine["version"] == 1 and machine["created_at"] for machine in data)
