"""Reading the table for a watcher that is behind: in pieces, bounded, and never from another log."""

import datetime
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tinkwell.core import errors
from tinkwell.core.event.page import Replay, event_of
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.store.log import PostgresLog

MAX_COUNT = 500
MAX_BYTES = 1 << 20


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


@pytest.fixture
async def opened(server_url: str) -> AsyncIterator[PostgresLog]:
    async with PostgresLog(server_url, table_readers=2).open() as opened:
        yield opened


@pytest.fixture
async def short(server_url: str) -> AsyncIterator[PostgresLog]:
    """Looks through four revisions at a time."""
    async with PostgresLog(server_url, table_readers=2, max_span=4).open() as opened:
        yield opened


async def publish(database: asyncpg.Connection, *names: str, data: str = "{}") -> None:
    for name in names:
        await database.execute("SELECT publish_event($1, NULL, $2, 'me')", name, data)


async def replay(
    opened: PostgresLog, *, first: int = 1, last: int, max_bytes: int = MAX_BYTES, **selection: frozenset[str]
) -> Replay:
    history = await opened.history()
    return await opened.replay(
        history_id=history.history_id,
        first=first,
        last=last,
        selection=Selection(**selection),  # type: ignore[arg-type]
        max_count=MAX_COUNT,
        max_bytes=max_bytes,
    )


def revisions(found: Replay) -> list[int]:
    return [row[0] for row in found.rows]


async def test_a_rare_event_is_looked_for_in_pieces(short: PostgresLog, database: asyncpg.Connection) -> None:
    await publish(database, *["often.seen"] * 9, "rarely.seen")
    pieces = [await replay(short, first=first, last=10, names=frozenset({"rarely.seen"})) for first in (1, 5, 9)]
    assert [(revisions(piece), piece.revision) for piece in pieces] == [([], 4), ([], 8), ([10], 10)]


async def test_a_long_run_of_dead_revisions_is_passed_in_one_piece(
    short: PostgresLog, database: asyncpg.Connection
) -> None:
    await database.execute("SELECT setval('events_revision', 1000000)")
    await publish(database, "a.b")
    found = await replay(short, last=1_000_001)
    assert (revisions(found), found.revision) == ([1_000_001], 1_000_001)
    assert (await replay(short, last=900_000)).revision == 900_000


async def test_a_piece_is_bounded_in_bytes_but_for_its_first_event(
    opened: PostgresLog, database: asyncpg.Connection
) -> None:
    await publish(database, *["a.b"] * 3, data='{"a": "' + "x" * 10_000 + '"}')
    found = await replay(opened, last=3, max_bytes=15_000)
    assert (revisions(found), found.revision) == ([1, 2], 2)
    found = await replay(opened, first=2, last=3, max_bytes=1)
    assert (revisions(found), found.revision) == ([2], 2)


async def test_a_piece_holds_the_very_events_that_the_reader_sees(
    opened: PostgresLog, database: asyncpg.Connection
) -> None:
    insert = """
        INSERT INTO events (
            resource_type, resource_id, parent_id, event_type, name, version, created_at, actor, data, size
        )
        VALUES (
            'ACTION', $1, $2, 'ACTION_STARTED', 'action.started', $3, $4, $5, $6::text::json, octet_length($6::text)
        )
    """
    one, another = uuid.uuid4(), uuid.uuid4()
    for resource, parent, version, moment, actor, data in (
        (one, another, 1, "2026-01-01 00:00:00", "me", "{}"),
        (None, another, 2**63 - 1, "2105-12-31 23:59:59.999999", "", '{"ü": "日\\u0001😀"}'),
        (one, None, 0, "2038-01-19 03:14:08.000001", "a\x1fb", "[" + "1, " * 20_000 + "1]"),
        (None, None, 1, "1969-12-31 23:59:59.999999", "ü", " {} "),
        *((one, None, 1, f"2091-07-0{day} 0{day}:11:5{day}.{day}0{day}{day}99", "me", "{}") for day in range(1, 10)),
    ):
        at = datetime.datetime.fromisoformat(moment).replace(tzinfo=datetime.UTC)
        await database.execute(insert, resource, parent, version, at, actor, data)
    found = await replay(opened, last=13)
    async with opened.session() as session:
        page = await session.page(gaps=[], tail=0)
    assert [event_of(row) for row in found.rows] == page.events
    assert [row[-1] for row in found.rows] == [len(row[-2]) for row in found.rows]


async def test_a_log_that_has_become_another_one_is_noticed(opened: PostgresLog, database: asyncpg.Connection) -> None:
    await publish(database, "a.b")
    before = await opened.history()
    await database.execute("UPDATE event_history SET identity = 'restored'")
    with pytest.raises(errors.OtherHistory) as noticed:
        await opened.replay(
            history_id=before.history_id,
            first=1,
            last=1,
            selection=Selection(),
            max_count=MAX_COUNT,
            max_bytes=MAX_BYTES,
        )
    assert noticed.value.history_id == (await opened.history()).history_id != before.history_id


async def test_another_log_is_not_read_in_the_name_of_the_former_one(
    opened: PostgresLog, database: asyncpg.Connection
) -> None:
    await publish(database, "a.b")
    with pytest.raises(errors.OtherHistory):
        await opened.replay(
            history_id=str(uuid.uuid4()),
            first=1,
            last=1,
            selection=Selection(),
            max_count=MAX_COUNT,
            max_bytes=MAX_BYTES,
        )


async def test_the_border_between_partitions_is_invisible(opened: PostgresLog, database: asyncpg.Connection) -> None:
    await database.execute("SELECT setval('events_revision', 2999997)")
    await publish(database, *["a.b"] * 5)
    expected = list(range(2_999_998, 3_000_003))
    assert revisions(await replay(opened, last=3_000_002)) == expected
    async with opened.session() as session:
        page = await session.page(gaps=[(1, 2_999_999)], tail=2_999_999)
        assert [event.revision for event in page.events] == expected
        assert await session.last_revision() == 3_000_002
    assert await opened.first_revision_since(3_600) <= 2_999_998
