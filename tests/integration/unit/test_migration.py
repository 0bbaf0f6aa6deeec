"""What the revision of units adds, it takes away again, with events that a former release could not read."""

import asyncpg
import pytest

from support.unit_rows import Rows
from tinkwell.server.database import readiness, schema


async def test_a_downgrade_removes_units_with_their_events_and_leaves_all_others(
    database_url: str, sql: asyncpg.Connection, rows: Rows
) -> None:
    await sql.execute("INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), 'a', '')")
    await rows.application("web")
    unit = await rows.unit("web")
    await rows.storage(unit)
    await rows.relate(("web", "cluster"))
    await rows.settle(unit)
    await sql.execute("UPDATE template SET name = 'b'")
    await schema.downgrade(database_url, "0008")
    names = [row["name"] for row in await sql.fetch("SELECT name FROM events ORDER BY revision")]
    assert names == ["template.created", "template.updated"]
    left = await sql.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relname ~ '^(namespace|charm|application|unit|relation|storage|port|deferred)'"
    )
    assert left == []
    for kind in ("'UNIT'::resource_type", "'UNIT_EVENT_STARTED'::event_type"):
        with pytest.raises(asyncpg.CheckViolationError):
            await sql.execute(f"SELECT {kind}")
    with pytest.raises(asyncpg.FeatureNotSupportedError):
        await sql.execute("DELETE FROM events")
    await sql.execute("UPDATE template SET name = 'c'")
    await schema.upgrade(database_url)
    await readiness.wait(database_url, allow_unsafe=True)
    await sql.execute("INSERT INTO namespace (name) VALUES ('default')")
    assert await sql.fetchval("SELECT name FROM events ORDER BY revision DESC LIMIT 1") == "namespace.created"
