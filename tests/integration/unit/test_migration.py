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
        " AND relname ~ '^(namespace|charm|application|unit|relation|storage|port|deferred|secret|task)'"
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


async def test_a_downgrade_removes_secrets_tasks_and_charms_of_juju_and_keeps_all_other_units(
    database_url: str, sql: asyncpg.Connection, rows: Rows
) -> None:
    await rows.application("web")
    kept = await rows.unit("web")
    await sql.execute("""
        INSERT INTO charm (digest, name, kind, manifest, size)
        VALUES ('sha256:' || repeat('1', 64), 'postgres', 'OPS', '{}', 0);
        INSERT INTO application (namespace, name, charm, profile)
        VALUES ('default', 'pg', 'sha256:' || repeat('1', 64), 'JUJU');
    """)
    await rows.unit("pg")
    await rows.relate(("pg", "db"), ("web", "db"))
    await rows.relate(("web", "cluster"))
    await sql.execute("""
        INSERT INTO secret (namespace, name, application_id, unit_id, owner)
        SELECT namespace, repeat('a', 20), application_id, id, name FROM unit WHERE name = 'web/0';
        INSERT INTO secret_revision (secret_id, revision) SELECT id, 1 FROM secret;
        INSERT INTO sealed_value (owner_kind, owner_id, document, pointer, sealed)
        SELECT 'secret_revision', concat(id, '/1'), 'content', '', 'sealed' FROM secret;
        INSERT INTO task (namespace, application_id, unit_id, unit, kind, name, timeout_seconds)
        SELECT namespace, application_id, id, name, 'ACTION', 'backup', 60 FROM unit WHERE name = 'web/0';
        INSERT INTO unit_event (namespace, application_id, unit_id, unit, ordinal, kind, phase, secret)
        SELECT namespace, application_id, id, name, 1, 'secret-changed', 'OPERATION', repeat('a', 20)
          FROM unit WHERE name = 'web/0';
    """)
    await schema.downgrade(database_url, "0009")
    assert [row["id"] for row in await sql.fetch("SELECT id::text FROM unit")] == [kept]
    assert await sql.fetchval("SELECT count(*) FROM relation") == 1
    counts = "SELECT (SELECT count(*) FROM unit_event), (SELECT count(*) FROM sealed_value)"
    assert tuple(await sql.fetchrow(counts)) == (0, 0)
    told = await sql.fetch("SELECT DISTINCT resource_type FROM events ORDER BY 1")
    assert [row[0] for row in told] == ["APPLICATION", "CHARM", "NAMESPACE", "RELATION", "UNIT"]
    assert not await sql.fetchval("SELECT count(*) FROM events WHERE data::text LIKE '%OPS%'")
    for kind in ("'SECRET'::resource_type", "'TASK_STARTED'::event_type", "'OPS'::charm_kind"):
        with pytest.raises(asyncpg.CheckViolationError):
            await sql.execute(f"SELECT {kind}")
    await sql.execute(
        "INSERT INTO unit_event (namespace, application_id, unit_id, unit, ordinal, kind, phase)"
        " SELECT namespace, application_id, id, name, 1, 'install', 'SETUP' FROM unit"
    )
    await schema.upgrade(database_url)
    await readiness.wait(database_url, allow_unsafe=True)
    await sql.execute("UPDATE unit_event SET state = 'COMMITTED'")
    assert await sql.fetchval("SELECT data -> 'secret' IS NOT NULL FROM events ORDER BY revision DESC LIMIT 1")
