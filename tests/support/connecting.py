"""All the ways in which a server connects to its database."""

import sqlalchemy

from tinkwell.server.database import engine, readiness
from tinkwell.server.database.election import PostgresElection
from tinkwell.server.log.store import partition
from tinkwell.server.log.store.log import PostgresLog


async def in_every_way(url: str) -> None:
    """Connect as each part of a server does."""
    await readiness.wait(url, allow_unsafe=True, patience_seconds=0)
    pool = engine.create(url, pool_size=1)
    try:
        async with pool.connect() as connection:
            assert (await connection.execute(sqlalchemy.text("SHOW application_name"))).scalar_one() == "tinkwell"
    finally:
        await pool.dispose()
    async with PostgresLog(url, table_readers=1).open() as log, log.session() as session:
        assert await log.last_drawn() == await session.last_drawn()
    async with partition.session(url) as partitions:
        assert await partitions.may_change()
    async with PostgresElection(url).stand() as leadership:
        assert leadership is not None
