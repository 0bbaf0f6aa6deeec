"""What the reader asks again and again finds its rows by the index of each partition, with a plan made once."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tinkwell.server.log.store import statement
from tinkwell.server.log.store.log import PostgresLog, PostgresSession

_FILL = """
    INSERT INTO events (resource_type, event_type, name, version, data, size)
    SELECT 'CUSTOM', 'CUSTOM', 'rack.door_opened', 1, '{}', 2 FROM generate_series(1, 2000);
    ANALYZE events;
"""


@pytest.fixture
async def session(database_url: str) -> AsyncIterator[PostgresSession]:
    """A reader's session over a log whose partitions but the first are empty, which PostgreSQL knows."""
    log = PostgresLog(database_url, table_readers=1)
    async with log.open(), log.session() as session:
        await session._connection.execute(_FILL)
        yield session


async def plan(session: PostgresSession, query: str, types: str, values: str) -> list[dict[str, Any]]:
    """Return the steps of the plan that the reader's session runs a query by, with what they met."""
    connection = session._connection
    await connection.execute(f"PREPARE hot ({types}) AS {query}")
    explained = await connection.fetchval(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE hot ({values})")
    await connection.execute("DEALLOCATE hot")
    return list(_nodes(json.loads(explained)[0]["Plan"]))


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from _nodes(below)


def rows_read(nodes: list[dict[str, Any]]) -> float:
    return float(sum(node["Actual Rows"] * node["Actual Loops"] for node in nodes if "Relation Name" in node))


async def plans(session: PostgresSession) -> list[tuple[int, int]]:
    """Return how often each of the reader's pages was read by a plan made once, and by one of its own."""
    rows = await session._connection.fetch(
        "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement = ANY ($1)",
        [statement.TAIL, statement.PAGE],
    )
    return [tuple(row) for row in rows]


async def test_a_poll_reads_what_is_above_the_tail_and_nothing_else(session: PostgresSession) -> None:
    nodes = await plan(session, statement.TAIL, "bigint, bigint, bigint, bigint", "1990, 1000, 8388608, 100000")
    # One partition alone is looked at.
    assert [node["Node Type"] for node in nodes if "Relation Name" in node] == ["Index Scan"]
    # The partitions are in order, so nothing has to be sorted.
    assert not [node for node in nodes if node["Node Type"] == "Sort"]
    assert rows_read(nodes) == 10


async def test_a_poll_over_gaps_reads_them_and_what_is_above_the_tail_alone(session: PostgresSession) -> None:
    types, values = "bigint[], bigint[], bigint, bigint, bigint", "'{5,900}', '{6,901}', 1990, 1000, 8388608"
    nodes = await plan(session, statement.PAGE, types, values)
    assert {node["Node Type"] for node in nodes if "Relation Name" in node} == {"Index Scan"}
    assert rows_read(nodes) == 14


async def test_a_poll_over_gaps_that_have_filled_reads_what_its_page_holds_and_not_all_of_them(
    session: PostgresSession,
) -> None:
    # As after a large transaction beside which others wrote: here every hundredth event is theirs.
    firsts, lasts = list(range(1, 1_901, 100)), list(range(99, 2_000, 100))
    types, page = "bigint[], bigint[], bigint, bigint, bigint", 100
    nodes = await plan(session, statement.PAGE, types, f"ARRAY{firsts}, ARRAY{lasts}, 1900, {page}, 8388608")
    # A page of the gaps, the gap that it ends in, and a page above the tail.
    assert rows_read(nodes) <= 3 * page
    assert max(node["Actual Rows"] for node in nodes if "Sort" in node["Node Type"]) <= 2 * page


async def test_a_page_over_gaps_is_in_order_and_cut_where_it_is_full(session: PostgresSession) -> None:
    page = await session.page(gaps=[(1, 600), (700, 1_500), (1_600, 1_700)], tail=1_990)
    assert [event.revision for event in page.events] == [*range(1, 601), *range(700, 1_100)]
    assert page.is_cut
    page = await session.page(gaps=[(1_000, 1_001), (1_600, 1_601)], tail=1_998)
    assert [event.revision for event in page.events] == [1_000, 1_001, 1_600, 1_601, 1_999, 2_000]
    assert not page.is_cut


async def test_a_poll_is_not_planned_anew_each_time(session: PostgresSession) -> None:
    for _ in range(20):
        await session.page(gaps=[], tail=1_990)
        await session.page(gaps=[(5, 6)], tail=1_990)
    # Each was planned once more, before the first poll.
    assert await plans(session) == [(21, 0)] * 2


async def test_what_a_poll_asks_has_been_planned_before_the_first_gap_is_met(session: PostgresSession) -> None:
    assert await plans(session) == [(1, 0)] * 2


async def test_an_event_beyond_millions_of_dead_numbers_is_read(session: PostgresSession) -> None:
    await session._connection.execute("SELECT max(nextval('events_revision')) FROM generate_series(1, 3000000)")
    await session._connection.execute(_FILL)
    page = await session.page(gaps=[], tail=2000)
    assert [event.revision for event in page.events[:2]] == [3_002_001, 3_002_002]
