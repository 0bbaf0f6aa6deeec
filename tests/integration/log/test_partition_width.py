"""Partitions of a million revisions, also behind ones of another width."""

import datetime

import asyncpg

from support.partitions import attached, caretaker, partitions, publish, revisions
from tinkwell.core.event.retention import Policy
from tinkwell.server.database import schema

WIDE = """
    DO $$
    DECLARE
        partition regclass;
    BEGIN
        FOR partition IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'events'::regclass LOOP
            EXECUTE format('DROP TABLE %s', partition);
        END LOOP;
        FOR i IN 0..10 LOOP
            EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%s) TO (%s)',
                           lpad(i::text, 6, '0'), i * 2000000, (i + 1) * 2000000);
        END LOOP;
    END $$
"""


async def test_a_new_log_has_partitions_of_a_million(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    narrow = [f"events_{number * 1_000_000:012}" for number in range(21)]
    assert await partitions(connection) == narrow
    await schema.downgrade(database_url, "base")
    await schema.upgrade(database_url)
    assert (await partitions(connection), await attached(connection)) == (narrow, 21)
    await connection.close(timeout=5)


async def test_wide_partitions_stay_and_narrow_ones_follow(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute(WIDE)
    wide = [f"events_{number:06}" for number in range(11)]
    assert await partitions(connection) == wide
    await connection.execute("SELECT setval('events_revision', 1999990)")
    await publish(connection, 20)
    policy = Policy(age=datetime.timedelta(days=1), count=0)
    assert await caretaker(database_url, policy).run_once() == "done"
    assert await partitions(connection) == sorted([*wide, "events_000022000000"])
    await connection.execute("SELECT setval('events_revision', 21999999)")
    await publish(connection, 2)
    assert (await revisions(connection))[-3:] == [2_000_010, 22_000_000, 22_000_001]
    await connection.close(timeout=5)
