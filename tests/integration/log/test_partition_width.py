"""Partitions of a million revisions, also behind the wider ones that earlier releases made."""

import datetime

import asyncpg

from support.partitions import attached, caretaker, partitions, publish, revisions
from tinkwell.core.event.retention import Policy
from tinkwell.server.database import schema


async def test_a_log_that_was_never_written_to_gets_partitions_of_a_million(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    narrow = [f"events_{number * 1_000_000:012}" for number in range(21)]
    assert await partitions(connection) == narrow
    for revision in ("0001", "base"):
        await schema.downgrade(database_url, revision)
        await schema.upgrade(database_url)
        assert (await partitions(connection), await attached(connection)) == (narrow, 21)
    await connection.close(timeout=5)


async def test_wide_partitions_of_an_earlier_release_stay_and_narrow_ones_follow(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await schema.downgrade(database_url, "base")
    await schema.upgrade(database_url, "0006")
    wide = [f"events_{number:06}" for number in range(11)]
    assert await partitions(connection) == wide
    await connection.execute("SELECT setval('events_revision', 1999990)")
    await publish(connection, 20)
    await schema.upgrade(database_url)
    assert await partitions(connection) == wide
    policy = Policy(age=datetime.timedelta(days=1), count=0)
    assert await caretaker(database_url, policy).run_once() == "done"
    both = sorted([*wide, "events_000022000000"])
    assert await partitions(connection) == both
    await schema.downgrade(database_url, "0001")
    await schema.upgrade(database_url)
    assert await partitions(connection) == both
    await connection.execute("SELECT setval('events_revision', 21999999)")
    await publish(connection, 2)
    assert (await revisions(connection))[-3:] == [2_000_010, 22_000_000, 22_000_001]
    await connection.close(timeout=5)
