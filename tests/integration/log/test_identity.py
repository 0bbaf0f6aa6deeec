"""What a row is known by never changes: who watches it would hear nothing of that, or of what comes after."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

# One row of each kind, none of which another one refers to by a foreign key where that can be.
FILL = """
    INSERT INTO hardware (id) VALUES (gen_random_uuid());
    INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), 't', 'x');
    INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions)
    SELECT gen_random_uuid(), id, name, '{}', data, 0 FROM template;
    INSERT INTO action (id, workflow_id, action_index, task_name, name, image, worker_id)
    SELECT gen_random_uuid(), id, 0, 't', 'a', 'i', gen_random_uuid() FROM workflow;
    INSERT INTO chart (digest, name, chart_version, metadata, archive, size)
    VALUES ('sha256:' || repeat('0', 64), 'c', '1', '{}', '', 0);
    INSERT INTO release (id, namespace, name, operation_id) VALUES (gen_random_uuid(), 'n', 'r', gen_random_uuid());
    INSERT INTO release_revision (release_id, revision, source, manifest, late, plan, operation_id)
    SELECT id, 1, '{}', '{}', '{}', '{}', operation_id FROM release;
    INSERT INTO operation (id, release_id, kind, state, request, options, former_state, deadline_at)
    SELECT operation_id, id, 'INSTALL', 'RUNNING', '{}', '{}', 'FAILED', now() FROM release;
    INSERT INTO node (operation_id, release_id, path, task, ordinal, batch)
    SELECT id, release_id, 'p', 'INSTALL', 0, 1 FROM operation;
    INSERT INTO step (id, node_id, operation_id, release_id, path, ordinal, kind)
    SELECT gen_random_uuid(), id, operation_id, release_id, 'p', 0, 'ACTION' FROM node;
    INSERT INTO lifecycle (operation_id, release_id, ordinal, event, outcome)
    SELECT id, release_id, 0, 'e', 'SUCCEEDED' FROM operation;
    INSERT INTO namespace (name) VALUES ('apps');
    INSERT INTO charm (digest, name, kind, manifest, size)
    VALUES ('sha256:' || repeat('0', 64), 'c', 'NATIVE', '{}', 0);
    INSERT INTO application (namespace, name, charm) SELECT 'apps', 'a', digest FROM charm;
    INSERT INTO unit (namespace, application_id, number, name) SELECT namespace, id, 0, 'a/0' FROM application;
    INSERT INTO unit_event (namespace, application_id, unit_id, unit, ordinal, kind, phase)
    SELECT namespace, application_id, id, name, 1, 'install', 'SETUP' FROM unit;
    INSERT INTO relation (namespace, number, interface, is_peer, ends)
    VALUES ('apps', 1, 'i', true, '[{"application": "a", "endpoint": "e"}]');
    INSERT INTO relation_bag (relation_id, owner) SELECT id, 'a/0' FROM relation;
    INSERT INTO storage (namespace, name, kind, number) VALUES ('apps', 'data/0', 'data', 0);
    INSERT INTO secret (namespace, name) VALUES ('apps', repeat('0', 20));
    INSERT INTO task (namespace, application_id, unit_id, unit, kind, name, timeout_seconds)
    SELECT namespace, application_id, id, name, 'ACTION', 'backup', 60 FROM unit;
"""
# The columns that an event names its subject by, and those that say what a row belongs to.
IDENTITY = {
    "hardware": ("id",),
    "template": ("id",),
    "workflow": ("id",),
    "action": ("id", "workflow_id"),
    "chart": ("id", "digest", "name", "chart_version", "metadata", "archive", "size"),
    "release": ("id",),
    "release_revision": ("release_id", "revision"),
    "operation": ("id", "release_id"),
    "node": ("id", "operation_id", "release_id"),
    "step": ("id", "node_id", "operation_id", "release_id"),
    "lifecycle": ("id", "operation_id", "release_id"),
    "namespace": ("id", "name"),
    "charm": ("id", "digest"),
    "application": ("id", "namespace", "name"),
    "unit": ("id", "application_id", "namespace", "number", "name"),
    "unit_event": ("id", "unit_id", "application_id", "ordinal", "kind"),
    "relation": ("id", "namespace", "number", "ends"),
    "relation_bag": ("relation_id", "owner"),
    "secret": ("id", "namespace", "name", "application_id", "unit_id", "owner"),
    "task": ("id", "unit_id", "application_id", "kind", "name"),
    "storage": ("id", "namespace", "name"),
}
OTHER = {
    "digest": "'sha256:' || repeat('1', 64)",
    "name": "'other'",
    "chart_version": "'2'",
    "metadata": "'{\"other\": 1}'",
    "archive": "'x'",
    "size": "1",
    "revision": "2",
    "namespace": "'others'",
    "number": "2",
    "ordinal": "2",
    "kind": "'start'",
    "ends": '\'[{"application": "b", "endpoint": "e"}]\'',
    "owner": "'b/0'",
}
# Those whose changes become events by a trigger of theirs.
TOLD = """
    SELECT DISTINCT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE NOT t.tgisinternal AND t.tgname LIKE '%\\_event' AND c.relnamespace = 'public'::regnamespace
"""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    await connection.execute(FILL)
    yield connection
    await connection.close(timeout=5)


def change(table: str, column: str) -> str:
    if (table, column) in (("unit", "name"), ("storage", "name")):
        return f"UPDATE {table} SET name = 'other/0'"
    return f"UPDATE {table} SET {column} = {OTHER.get(column, 'gen_random_uuid()')}"


async def test_no_table_with_events_is_left_out(database: asyncpg.Connection) -> None:
    assert {row[0] for row in await database.fetch(TOLD)} == IDENTITY.keys() - {"release_revision"}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, columns in IDENTITY.items() for column in columns]
)
async def test_another_identity_is_refused_and_makes_no_event(
    database: asyncpg.Connection, table: str, column: str
) -> None:
    before = await database.fetchval("SELECT count(*) FROM events")
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await database.execute(change(table, column))
    assert refused.value.constraint_name in (f"{table}_identity", f"{table}_legal")
    assert await database.fetchval("SELECT count(*) FROM events") == before


async def test_a_machine_that_is_stored_again_under_its_id_changes_otherwise(database: asyncpg.Connection) -> None:
    await database.execute("UPDATE hardware SET id = id, metadata = '{\"again\": 1}'")
    assert await database.fetchval("SELECT name FROM events ORDER BY revision DESC LIMIT 1") == "hardware.updated"


async def test_a_chart_is_used_again(database: asyncpg.Connection) -> None:
    await database.execute("UPDATE chart SET used_at = now(), digest = digest")
    assert await database.fetchval("SELECT version FROM chart") == 2


async def test_who_may_change_machines_with_a_search_path_of_its_own_is_refused_all_the_same(
    database: asyncpg.Connection,
) -> None:
    await database.execute(
        "CREATE SCHEMA lure; CREATE FUNCTION lure.concat(name, text) RETURNS text LANGUAGE sql AS $$ SELECT 'lured' $$;"
        "SET search_path = lure, public, pg_catalog"
    )
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await database.execute("UPDATE hardware SET id = gen_random_uuid()")
    assert refused.value.constraint_name == "hardware_identity"
