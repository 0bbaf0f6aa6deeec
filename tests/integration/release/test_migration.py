"""What the revision of releases adds, it takes away again, with events that a former release could not read."""

import asyncpg
import pytest

from support.release_site import Site
from tinkwell.server.database import readiness, schema


async def test_a_downgrade_removes_releases_with_their_events_and_leaves_all_others(
    site: Site, sql: asyncpg.Connection
) -> None:
    await sql.execute("INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), 'a', '')")
    await site.install("db")
    await sql.execute("UPDATE template SET name = 'b'")
    await schema.downgrade(site.database_url, "0001")
    names = [row["name"] for row in await sql.fetch("SELECT name FROM events ORDER BY revision")]
    assert names == ["template.created", "template.updated"]
    left = await sql.fetch("SELECT relname FROM pg_class WHERE relname ~ '^(release|operation|node|step)'")
    assert left == []
    for kind in ("'RELEASE'::resource_type", "'NODE_READY'::event_type"):
        with pytest.raises(asyncpg.CheckViolationError):
            await sql.execute(f"SELECT {kind}")
    await sql.execute("UPDATE template SET name = 'c'")
    await schema.upgrade(site.database_url)
    await readiness.wait(site.database_url, allow_unsafe=True)
    await sql.execute("SELECT 'RELEASE'::resource_type, 'NODE_READY'::event_type")
