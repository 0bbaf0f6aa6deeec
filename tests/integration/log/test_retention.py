"""Events are forgotten by whole partitions: without a wait for anybody, and never as if they had not been there."""

import asyncio
import contextlib
import dataclasses
import datetime
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

import tinkwell.client
from support import process, role
from support import server as servers
from support.partitions import attached, caretaker, partitions, publish, revisions
from support.waiting import eventually
from tinkwell.client import errors as client_errors
from tinkwell.core import errors
from tinkwell.core.event.retention import Partition, Policy, StillUsed
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.retention import Retention
from tinkwell.server.log.store import partition
from tinkwell.server.log.store.log import PostgresLog
from tinkwell.server.log.store.partition import PartitionSession

WIDTH = 100
POLICY = Policy(age=datetime.timedelta(days=1), count=0, width=WIDTH, ready=3 * WIDTH)
# Closes and forgets whatever it finds.
AT_ONCE = dataclasses.replace(POLICY, age=datetime.timedelta(microseconds=1))
FAR = 1_000_000
# How wide partitions are where no test says otherwise.
MILLION = 1_000_000


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a log whose partitions hold a hundred revisions each."""
    connection = await asyncpg.connect(database_url)
    for (name,) in await connection.fetch(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'events'::regclass"
    ):
        await connection.execute(f"DROP TABLE {name}")
    for number in range(4):
        await connection.execute(
            f"CREATE TABLE events_{number * WIDTH:012} PARTITION OF events"
            f" FOR VALUES FROM ({number * WIDTH}) TO ({(number + 1) * WIDTH})"
        )
    yield connection
    await connection.close(timeout=5)


def retention(database_url: str, policy: Policy = POLICY, *, patience_seconds: float = 20) -> Retention:
    return caretaker(database_url, policy, patience_seconds=patience_seconds)


async def age(connection: asyncpg.Connection, *, hours: int, below: int) -> None:
    await connection.execute(
        "UPDATE events SET created_at = created_at - make_interval(mins => $1) WHERE revision < $2", hours * 60, below
    )


def numbered(first: int, end: int, *, width: int = WIDTH) -> list[str]:
    return [f"events_{number * width:012}" for number in range(first, end)]


async def test_partitions_that_are_past_are_dropped_and_as_many_are_added(
    database_url: str, database: asyncpg.Connection
) -> None:
    await publish(database, 250)
    await age(database, hours=25, below=200)
    kept = retention(database_url)
    assert await kept.run_once() == "done"
    assert await revisions(database) == list(range(200, 251))
    assert await partitions(database) == numbered(2, 6)
    assert await database.fetchval("SELECT oldest_revision FROM event_history") == 200
    seen = kept.status
    assert (seen.partitions_added, seen.partitions_dropped, seen.partitions_closed) == (2, 2, 0)
    assert (seen.partitions, seen.partitions_ahead, seen.revisions_ahead, seen.oldest_revision) == (4, 3, 349, 200)
    assert (seen.runs, seen.failures, seen.last_result) == (1, 0, "done")
    assert 0 < seen.oldest_event_seconds < 3_600 < seen.last_run_at
    added = await database.fetch("SELECT indexrelid FROM pg_index WHERE indrelid = 'events_000000000500'::regclass")
    assert len(added) == 1
    assert await kept.run_once() == "done"
    assert (kept.status.partitions_added, kept.status.partitions_dropped) == (2, 2)


async def test_the_newest_events_are_kept_whatever_their_age(database_url: str, database: asyncpg.Connection) -> None:
    await publish(database, 250)
    await age(database, hours=25, below=FAR)
    await retention(database_url, dataclasses.replace(POLICY, count=52)).run_once()
    assert await revisions(database) == list(range(100, 251))


async def test_events_are_kept_for_their_age_however_many_they_are(
    database_url: str, database: asyncpg.Connection
) -> None:
    await publish(database, 250)
    await age(database, hours=25, below=150)
    await retention(database_url).run_once()
    assert await revisions(database) == list(range(100, 251))


async def test_a_site_that_writes_little_forgets_too_and_its_watchers_notice_nothing(
    database_url: str, database: asyncpg.Connection
) -> None:
    kept = retention(database_url)
    async with (
        quiet_server(database_url) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(from_revision=1) as live,
    ):
        await publish(database, 10)
        assert [(await anext(live)).revision for _ in range(10)] == list(range(1, 11))
        await age(database, hours=4, below=FAR)
        for _ in range(2):
            await kept.run_once()
            assert kept.status.partitions_closed == 1
        await publish(database, 1)
        assert (await anext(live)).revision == 100
        assert await revisions(database) == [*range(1, 11), 100]
        await age(database, hours=24, below=100)
        await kept.run_once()
        assert await revisions(database) == [100]
        await publish(database, 1)
        assert (await anext(live)).revision == 101
        await resume_exactly_where_events_were_forgotten(client)


async def resume_exactly_where_events_were_forgotten(client: tinkwell.client.Client) -> None:
    """Whoever had all ten events has missed nothing; whoever had nine has."""
    async with client.events.watch(from_revision=11) as resumed:
        assert [(await anext(resumed)).revision for _ in range(2)] == [100, 101]
    with pytest.raises(client_errors.Compacted) as raised:
        async with client.events.watch(from_revision=10) as refused:
            await anext(refused)
    assert raised.value.oldest_revision == 11


async def test_a_restarted_server_begins_where_all_was_forgotten(
    database_url: str, database: asyncpg.Connection
) -> None:
    await publish(database, 10)
    for _ in range(2):
        await retention(database_url, AT_ONCE).run_once()
    assert await revisions(database) == []
    async with (
        quiet_server(database_url) as server,
        tinkwell.client.connect(server.address) as client,
        client.events.watch(from_revision=11) as watch,
    ):
        await publish(database, 1)
        assert (await anext(watch)).revision == 100


Stage = Callable[[PartitionSession, str], Awaitable[None]]


async def forgotten(session: PartitionSession, database_url: str) -> None:
    """Nothing else was done."""


async def detaching(session: PartitionSession, database_url: str) -> None:
    """Somebody used the log for longer than the session cared to wait."""
    user = await asyncpg.connect(database_url)
    try:
        async with user.transaction():
            await user.fetch("SELECT 1 FROM events")
            with pytest.raises(StillUsed):
                await session.discard("events_000000000000")
    finally:
        await user.close(timeout=5)


async def detached(session: PartitionSession, database_url: str) -> None:
    other = await asyncpg.connect(database_url)
    await other.execute("ALTER TABLE events DETACH PARTITION events_000000000000 CONCURRENTLY")
    await other.close(timeout=5)


@pytest.mark.parametrize("stage", [forgotten, detaching, detached])
async def test_what_was_interrupted_is_taken_up_by_the_next_run(
    database_url: str, database: asyncpg.Connection, stage: Stage
) -> None:
    await publish(database, 120)
    await age(database, hours=25, below=100)
    async with partition.session(database_url, patience_seconds=0.2) as session:
        (first, *_) = (await session.look(POLICY)).partitions
        assert await session.settle() == 120
        await session.forget(first)
        await stage(session, database_url)
    assert "events_000000000000" in await partitions(database)
    kept = retention(database_url)
    assert await kept.run_once() == "done"
    assert await partitions(database) == numbered(1, 5)
    assert await attached(database) == 4
    assert await database.fetchval("SELECT count(*) FROM event_discard") == 0
    assert await revisions(database) == list(range(100, 121))
    assert kept.status.partitions_dropped == 1


async def test_a_session_that_ends_while_it_waits_leaves_nothing_that_the_next_cannot_finish(
    database_url: str, database: asyncpg.Connection
) -> None:
    await publish(database, 120)
    await age(database, hours=25, below=100)
    user = await asyncpg.connect(database_url)
    transaction = user.transaction()
    await transaction.start()
    await user.fetch("SELECT 1 FROM events")
    running = asyncio.create_task(retention(database_url).run_once())
    await eventually(lambda: is_waiting(database))
    await database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"
        " AND datname = current_database()",
        "tinkwell retention",
    )
    with pytest.raises(Exception, match="terminating connection"):
        await running
    await transaction.rollback()
    await user.close(timeout=5)
    await retention(database_url).run_once()
    assert await partitions(database) == numbered(1, 5)


async def is_waiting(connection: asyncpg.Connection) -> bool:
    return bool(
        await connection.fetchval(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'tinkwell retention'"
            " AND datname = current_database() AND wait_event_type = 'Lock')"
        )
    )


async def test_nobody_waits_behind_a_long_transaction_while_a_partition_is_dropped(
    database_url: str, database: asyncpg.Connection
) -> None:
    await publish(database, 120)
    await age(database, hours=25, below=100)
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(partition.session(database_url))
        (first, *_) = (await session.look(POLICY)).partitions
        await session.settle()
        await session.forget(first)
        writer = await asyncpg.connect(database_url)
        stack.push_async_callback(writer.close, timeout=5)
        transaction = writer.transaction()
        await transaction.start()
        await publish(writer, 1)
        discarding = asyncio.create_task(session.discard(first.name))
        await eventually(lambda: is_waiting(database))
        await others_go_on(database_url, database)
        assert not discarding.done()
        await transaction.commit()
        await discarding
    assert await partitions(database) == numbered(1, 5)


async def others_go_on(database_url: str, watching: asyncpg.Connection) -> None:
    """Write, read, and attach one more partition, each complete although one transaction does not end."""
    other = await asyncpg.connect(database_url, command_timeout=10)
    try:
        await publish(other, 20)
        await other.execute("INSERT INTO hardware (id) VALUES ($1)", uuid.uuid4())
        assert len(await revisions(other)) == 21 + 20 + 1
    finally:
        await other.close(timeout=5)
    async with partition.session(database_url) as session:
        await session.add(Partition("events_000000000400", 4 * WIDTH, 5 * WIDTH))
    query = "SELECT relation::regclass::text, mode FROM pg_locks WHERE NOT granted AND relation IS NOT NULL"
    assert await watching.fetch(query) == []


async def test_an_old_event_that_is_not_committed_yet_is_waited_for(
    database_url: str, database: asyncpg.Connection
) -> None:
    await publish(database, 98)
    writer = await asyncpg.connect(database_url)
    transaction = writer.transaction()
    await transaction.start()
    await publish(writer, 1)
    await publish(database, 10)
    await age(database, hours=25, below=100)
    kept = retention(database_url, patience_seconds=0.1)
    with pytest.raises(StillUsed, match="may still write old events"):
        await kept.run_once()
    assert (kept.status.last_result, kept.status.failures) == ("failed", 1)
    assert await database.fetchval("SELECT oldest_revision FROM event_history") == 1
    await transaction.commit()
    await writer.close(timeout=5)
    # It is younger than the others.
    await kept.run_once()
    assert await database.fetchval("SELECT oldest_revision FROM event_history") == 1
    await age(database, hours=25, below=100)
    await kept.run_once()
    assert await database.fetchval("SELECT oldest_revision FROM event_history") == 100


async def test_only_one_server_acts_at_a_time(database_url: str, database: asyncpg.Connection) -> None:
    await publish(database, 120)
    await age(database, hours=25, below=100)
    kept = retention(database_url)
    async with partition.session(database_url) as other:
        assert await other.lock()
        assert await kept.run_once() == "watched"
        assert kept.status.revisions_ahead == 279
        assert await partitions(database) == numbered(0, 4)
    await eventually(lambda: acts(kept))
    assert await partitions(database) == numbered(1, 5)


async def acts(kept: Retention) -> bool:
    return await kept.run_once() == "done"


async def test_a_replay_across_the_drop_is_whole_or_refused(database_url: str, database: asyncpg.Connection) -> None:
    await publish(database, 350)
    await age(database, hours=25, below=300)
    outcomes: set[str] = set()
    async with PostgresLog(role.url_of_server(database_url), table_readers=2).open() as log:
        history_id = (await log.history()).history_id

        async def replay() -> None:
            while "refused" not in outcomes:
                try:
                    found = await log.replay(
                        history_id=history_id,
                        first=1,
                        last=350,
                        selection=Selection(),
                        max_count=FAR,
                        max_bytes=FAR,
                    )
                except errors.Compacted:
                    outcomes.add("refused")
                else:
                    assert [row[0] for row in found.rows] == list(range(1, 351))
                    outcomes.add("whole")

        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            for _ in range(2):
                tasks.create_task(replay())
            await eventually(lambda: "whole" in outcomes)
            await retention(database_url).run_once()
    assert outcomes == {"whole", "refused"}


async def test_live_watchers_receive_everything_while_partitions_come_and_go(
    database_url: str, database: asyncpg.Connection
) -> None:
    policy = dataclasses.replace(AT_ONCE, count=150, ready=20 * WIDTH)
    kept = retention(database_url, policy)
    await kept.run_once()
    written: list[int] = []
    received: list[int] = []
    allowed = 0
    is_done = False

    async def write() -> None:
        connection = await asyncpg.connect(database_url)
        while not is_done:
            # A reader that is further behind than what is kept would rightly say so; a run makes room for so many.
            await eventually(
                lambda: is_done or (len(written) - len(received) < 40 and len(written) < allowed), deadline_seconds=30
            )
            await connection.execute("INSERT INTO hardware (id) VALUES ($1)", uuid.uuid4())
            written.append(await connection.fetchval("SELECT currval('events_revision')"))
        await connection.close(timeout=5)

    async def watch(client: tinkwell.client.Client) -> None:
        async for event in client.events.watch(from_revision=1):
            received.append(event.revision)  # noqa: PERF401 looked at as they come

    async with (
        asyncio.timeout(60),
        quiet_server(database_url) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        watching = asyncio.create_task(watch(client))
        async with asyncio.TaskGroup() as tasks:
            for _ in range(4):
                tasks.create_task(write())
            while kept.status.partitions_dropped < 8:
                allowed = len(written) + 5 * WIDTH
                await kept.run_once()
            is_done = True
        await eventually(lambda: len(received) >= len(written))
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert kept.status.partitions_closed > 0
    assert received == sorted(written)


async def test_a_role_that_does_not_own_the_log_says_so_once(
    database_url: str, database: asyncpg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    await publish(database, 120)
    await age(database, hours=25, below=100)
    name = f"server_{uuid.uuid4().hex}"
    here = await database.fetchval("SELECT current_database()")
    await database.execute(f"CREATE ROLE {name}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
    await database.execute(f"GRANT SELECT ON SEQUENCE events_revision TO {name}")
    await database.execute(f"ALTER DATABASE {here} SET role = {name}")
    kept = retention(database_url)
    try:
        with caplog.at_level(logging.WARNING):
            assert [await kept.run_once() for _ in range(2)] == ["watched", "watched"]
    finally:
        await database.execute(f"ALTER DATABASE {here} RESET role")
        await database.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")
    assert [record.message for record in caplog.records if "does not own the event log" in record.message] != []
    assert len(caplog.records) == 1
    assert kept.status.oldest_revision == 1
    assert await partitions(database) == numbered(0, 4)


@pytest.fixture
async def past(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A log of the real width, whose first partition is complete and past its time."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("SELECT setval('events_revision', 999990)")
    await publish(connection, 20)
    await age(connection, hours=25, below=1_000_000)
    yield connection
    await connection.close(timeout=5)


async def is_looked_after(connection: asyncpg.Connection) -> bool:
    return await partitions(connection) == numbered(1, 22, width=MILLION)


async def test_a_server_caretaker_the_log_by_itself(database_url: str, past: asyncpg.Connection) -> None:
    async with servers.running_as(database_url, retention_count=10):
        await eventually(lambda: is_looked_after(past))
    assert await revisions(past) == list(range(1_000_000, 1_000_011))


async def test_an_owner_caretaker_the_log_by_a_command(
    database_url: str, past: asyncpg.Connection, tmp_path: Path
) -> None:
    environment = {
        "TINKWELL_DATABASE_URL": database_url,
        "TINKWELL_THROWAWAY_DATABASE": "true",
        "TINKWELL_RETENTION_COUNT": "10",
    }
    async with process.running("db", "maintain", log=tmp_path / "log", environment=environment) as command:
        assert (await command.wait(deadline_seconds=60), "was dropped" in command.output) == (0, True)
    assert await is_looked_after(past)
    await past.execute(f"BEGIN; {partition.LOCK}")
    async with process.running("db", "maintain", log=tmp_path / "log", environment=environment) as command:
        assert await command.wait(deadline_seconds=60) == 1
        assert "Error: nothing was done: another process is doing it" in command.output


def quiet_server(database_url: str) -> contextlib.AbstractAsyncContextManager[servers.Server]:
    """A server that leaves retention to the test."""
    return servers.running(database_url, retention_interval_seconds=0)
