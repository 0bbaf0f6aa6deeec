"""What would make the log silently wrong is found before a server relies on it, and said with what to do about it."""

import re
from collections.abc import AsyncIterator

import asyncpg
import pytest

from support import role
from tinkwell.server.database import guard, readiness

# What somebody has done, and a part of what is said.
SAID = {
    "ALTER SEQUENCE events_revision CACHE 50": "has CACHE 50",
    "ALTER SEQUENCE events_revision INCREMENT 2": "has INCREMENT 2",
    "ALTER SEQUENCE events_revision CYCLE": "has CYCLE",
    "ALTER SEQUENCE events_revision AS integer": "is no bigint",
    "ALTER SEQUENCE events_revision OWNED BY NONE": "belongs to another table",
    "ALTER SEQUENCE events_revision OWNED BY hardware.version": "belongs to another table",
    "SELECT setval('events_revision', 1)": "is at 1, and there are events up to 3",
    "ALTER SEQUENCE events_revision RESTART": "is at 0, and there are events up to 3",
    "CREATE SEQUENCE other; ALTER TABLE events ALTER revision SET DEFAULT nextval('other')": "do not come from",
    "ALTER TABLE events ALTER revision DROP DEFAULT": "do not come from",
    "ALTER TABLE hardware DISABLE TRIGGER hardware_event": "trigger hardware_event of hardware is disabled",
    "ALTER TABLE hardware DISABLE TRIGGER ALL": "trigger hardware_version of hardware is disabled",
    "ALTER TABLE step ENABLE REPLICA TRIGGER step_event": "trigger step_event of step is disabled",
    "DROP TRIGGER node_event ON node": "node has no trigger node_event",
    "CREATE RULE nothing AS ON DELETE TO template DO INSTEAD NOTHING": "rule nothing of template",
    "ALTER TABLE events_000000000000 SET UNLOGGED": "events_000000000000 is UNLOGGED",
    "ALTER TABLE event_history SET UNLOGGED": "event_history is UNLOGGED",
}
REMEDY = re.compile(r"run `([^`]+)`")


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    for _ in range(3):
        await connection.execute("SELECT publish_event('a.b', NULL, '{}', 'me')")
    yield connection
    await connection.close(timeout=5)


@pytest.mark.parametrize("done", SAID)
async def test_a_server_does_not_start_until_what_it_says_has_been_done(
    database_url: str, owner: asyncpg.Connection, done: str
) -> None:
    await owner.execute(done)
    with pytest.raises(readiness.NotUsable, match=SAID[done]) as refused:
        await readiness.wait(role.url_of_server(database_url), allow_unsafe=True)
    if "DROP TRIGGER" in done:
        return
    for remedy in REMEDY.findall(str(refused.value)):
        await owner.execute(remedy)
    await readiness.wait(role.url_of_server(database_url), allow_unsafe=True)


async def test_row_security_that_keeps_events_from_a_server_is_found(
    database_url: str, owner: asyncpg.Connection
) -> None:
    await role.create(database_url, role.SERVER)
    await owner.execute(
        f"GRANT SELECT ON events, event_history, alembic_version, schema_file, schema_release, events_revision"
        f" TO {role.quoted(role.SERVER)}; ALTER TABLE events ENABLE ROW LEVEL SECURITY"
    )
    with pytest.raises(readiness.NotUsable, match="row security keeps rows of events from this role"):
        await readiness.wait(role.url_of(database_url, role.SERVER), allow_unsafe=True)
    await owner.execute(f"DROP OWNED BY {role.quoted(role.SERVER)}")


async def test_each_trigger_of_events_and_versions_is_looked_for(owner: asyncpg.Connection) -> None:
    rows = await owner.fetch(
        r"""
        SELECT c.relname, array_agg(t.tgname::text ORDER BY t.tgname)
          FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_class c ON c.oid = t.tgrelid
         WHERE NOT t.tgisinternal AND NOT c.relispartition
           AND p.proname ~ '^(write_\w+_event|count_version|refuse_\w+)$'
         GROUP BY 1
        """
    )
    assert {row[0]: tuple(row[1]) for row in rows} == guard.TRIGGERS


async def test_what_is_sound_has_no_fault(owner: asyncpg.Connection) -> None:
    assert await guard.faults(owner.fetch) == []
    assert await guard.faults_of_sequence(owner.fetch) == []
