"""What the tests of retention do to the event log's partitions, and see of them."""

import asyncpg

from tinkwell.core.event.retention import Policy
from tinkwell.server.log.retention import Retention
from tinkwell.server.log.store import partition


def caretaker(database_url: str, policy: Policy, *, patience_seconds: float = 20) -> Retention:
    return Retention(
        lambda: partition.session(database_url, patience_seconds=patience_seconds), policy, interval_seconds=60
    )


async def publish(connection: asyncpg.Connection, count: int) -> None:
    for _ in range(count):
        await connection.execute("SELECT publish_event('a.b', NULL, '{}', 'me')")


async def revisions(connection: asyncpg.Connection) -> list[int]:
    return [row[0] for row in await connection.fetch("SELECT revision FROM events ORDER BY revision")]


async def partitions(connection: asyncpg.Connection) -> list[str]:
    """The tables that are named like partitions, attached or not."""
    query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^events_[0-9]+$' ORDER BY relname"
    return [row[0] for row in await connection.fetch(query)]


async def attached(connection: asyncpg.Connection) -> int:
    return int(await connection.fetchval("SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass"))
