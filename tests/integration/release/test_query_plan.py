"""The queries that every report, look and line of output runs find their rows by an index."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.database import engine
from tinkwell.server.release.store import (
    change,
    chart,
    document,
    explanation,
    history,
    lifecycle,
    lock,
    output,
    queries,
    request,
    submission,
    work,
)

RELEASES = 1_000

# A few operations of many are unfinished, as on a site in use.
_FILL = f"""
    ALTER TABLE release DISABLE TRIGGER ALL;
    ALTER TABLE release_revision DISABLE TRIGGER ALL;
    ALTER TABLE operation DISABLE TRIGGER ALL;
    ALTER TABLE node DISABLE TRIGGER ALL;
    ALTER TABLE step DISABLE TRIGGER ALL;
    ALTER TABLE lifecycle DISABLE TRIGGER ALL;
    ALTER TABLE chart DISABLE TRIGGER ALL;
    INSERT INTO release (id, namespace, name, state, operation_id, revision, latest_revision)
    SELECT gen_random_uuid(), 'n' || n % 7, 'shop-' || n, 'DEPLOYED', gen_random_uuid(), 2, 2
      FROM generate_series(1, {RELEASES}) n;
    INSERT INTO release_revision (release_id, revision, state, source, manifest, late, plan, operation_id)
    SELECT r.id, n, CASE n WHEN 2 THEN 'DEPLOYED' ELSE 'SUPERSEDED' END, '{{}}', '{{}}', '{{}}', '{{}}', r.operation_id
      FROM release r, generate_series(1, 2) n;
    INSERT INTO operation (id, release_id, kind, state, request, options, former_state, deadline_at, plan)
    SELECT gen_random_uuid(), r.id, 'UPGRADE', CASE WHEN random() < 0.02 AND n = 1 THEN 'RUNNING' ELSE 'SUCCEEDED' END,
           '{{}}', '{{}}', 'FAILED', now(), '{{}}'
      FROM release r, generate_series(1, 3) n;
    INSERT INTO node (operation_id, release_id, path, task, ordinal, batch)
    SELECT o.id, o.release_id, 'node-' || n, 'INSTALL', n, 1 FROM operation o, generate_series(1, 3) n;
    INSERT INTO step (id, node_id, operation_id, release_id, path, ordinal, kind)
    SELECT gen_random_uuid(), n.id, n.operation_id, n.release_id, n.path, s, 'STATE'
      FROM node n, generate_series(1, 2) s;
    INSERT INTO lifecycle (operation_id, release_id, ordinal, event, outcome)
    SELECT o.id, o.release_id, n, 'event-' || n, 'SUCCEEDED' FROM operation o, generate_series(1, 3) n;
    INSERT INTO step_log (operation_id, step_id, attempt, number, stream, line)
    SELECT operation_id, id, 1, n, 'STDOUT', 'a line' FROM step, generate_series(1, 2) n;
    INSERT INTO release_resource (release_id, path, type, revision)
    SELECT r.id, 'node-' || n, 't', 2 FROM release r, generate_series(1, 3) n;
    INSERT INTO sealed_value (owner_kind, owner_id, document, pointer, sealed)
    SELECT 'operation', id, 'source', '/', '' FROM operation;
    INSERT INTO chart (digest, name, chart_version, metadata, archive, size)
    SELECT 'sha256:' || repeat(md5(n::text), 2), 'shop-' || n % 7, '1.0.' || n, '{{}}', '', 0
      FROM generate_series(1, {RELEASES}) n;
    UPDATE release_revision v SET chart_id = c.id FROM chart c WHERE c.chart_version = '1.0.' || v.revision;
    INSERT INTO lease (owner, engine, expires_at)
    SELECT 'owner ' || n, 'engine', clock_timestamp() FROM generate_series(1, {RELEASES}) n
"""
ID = str(uuid.UUID(int=1))
# The values of each hot query, in their order.
HOT: dict[str, tuple[str, tuple[object, ...], set[str]]] = {
    "lock": (lock.LOCK, (ID,), {"operation_pkey"}),
    "state": (lock.STATE, (ID, 1), {"operation_pkey", "release_pkey", "lease_id", "lease_pkey", "sealed_value_place"}),
    "release": (lock.RELEASE, (ID,), {"release_pkey"}),
    "named": (lock.RELEASE_BY_NAME, ("n1", "shop-1"), {"release_name"}),
    "revision": (lock.REVISION, (ID, 1), {"release_revision_pkey"}),
    "former": (lock.FORMER_REVISION, (ID,), {"release_pkey", "release_revision_pkey"}),
    "planned": (lock.PLANNED, (ID,), {"operation_release"}),
    "nodes": (lock.NODES, (ID, ["node-1"]), {"node_path", "step_place"}),
    "unfinished nodes": (lock.UNFINISHED_NODES, (ID,), {"node_place"}),
    "unfinished steps": (lock.UNFINISHED_STEPS, (ID,), {"node_place", "step_place"}),
    "find": (request.FIND, (ID, "n", "a", "{}", "{}", ""), {"operation_pkey", "release_pkey"}),
    "source": (document.SOURCE, (ID,), {"operation_pkey"}),
    "documents of a revision": (document.REVISION, (ID, 1), {"release_revision_pkey"}),
    "documents of resources": (document.RESOURCES, (ID,), {"release_resource_pkey"}),
    "declared": (document.DECLARED, (ID,), {"release_resource_pkey"}),
    "arguments": (document.ARGS, (ID,), {"step_place"}),
    "source of a revision": (document.REVISION_SOURCE, (ID, 1), {"release_revision_pkey"}),
    "chart": (chart.FIND, ("a",), {"chart_digest"}),
    "archive of a chart": (chart.ARCHIVE, ("a",), {"chart_digest"}),
    "use of a chart": (chart.USE, ("a", 1.0), {"chart_digest"}),
    "forget charts": (chart.FORGET, (1.0, 10), {"chart_used", "chart_pkey"}),
    "begun on": (request.FIND_FORMER, (ID,), {"operation_pkey"}),
    "operation": (queries.OPERATION, (ID,), {"operation_pkey", "release_pkey", "lease_id"}),
    "by id": (queries.BY_ID, (ID,), {"release_pkey"}),
    "by name": (queries.BY_NAME, ("n1", "shop-1"), {"release_name"}),
    "due of release": (queries.DUE_OF_RELEASE, ("n1", "shop-1"), {"release_name", "operation_active", "lease_id"}),
    "due": (queries.DUE, (100,), {"operation_unfinished", "lease_id"}),
    "stored revision": (queries.REVISION, ("n1", "shop-1", 0), {"release_name", "release_revision_pkey"}),
    "unfinished": (
        queries.UNFINISHED,
        (*queries.BEGINNING, [], 100),
        {"operation_unfinished", "release_pkey", "lease_id"},
    ),
    "output": (output.PAGE, (ID, 0, "", 256), {"step_log_operation", "step_pkey"}),
    "state of output": (output.STATE, (ID,), {"operation_pkey", "lease_id"}),
    "move a node": (change.MOVE_NODE, (ID, "a", "READY", False, "", False, True), {"node_path"}),
    "emitted": (lifecycle.LIST, (ID,), {"lifecycle_place"}),
    "emit": (lifecycle.STORE, (ID, "ready", "", "[]", "SUCCEEDED", "", 0.1), {"operation_pkey", "lifecycle_place"}),
    "situation": (explanation.SITUATION, (ID,), {"operation_pkey", "release_pkey", "lease_id"}),
    "limits": (explanation.LIMITS, (ID, ["a"]), {"operation_pkey", "release_resource_pkey", "release_revision_pkey"}),
    "move a step": (change.MOVE_STEP, (ID, "FAILED", 1, 1, "", False, True), {"step_pkey"}),
    "forget revisions": (
        history.FORGET_REVISIONS,
        (ID, 10),
        {"release_pkey", "release_revision_pkey", "release_resource_pkey"},
    ),
    "forget operations": (history.FORGET_OPERATIONS, (ID, 10), {"operation_release", "release_revision_pkey"}),
    "forget tests and plans": (history.FORGET_LOOKS, (ID, 10), {"operation_release"}),
    "forget what was planned": (history.FORGET_PLANNED, (1.0, 10), {"release_planned", "release_pkey"}),
    "active": (lock.ACTIVE, (ID,), {"operation_active"}),
    "plan to be applied": (lock.PLAN, (ID,), {"operation_pkey", "operation_release"}),
    "what a plan was made of": (request.FIND_PLAN, (ID,), {"operation_pkey", "release_pkey", "chart_pkey"}),
    "due by id": (queries.DUE_BY_ID, (ID,), {"operation_active", "lease_id"}),
    "result": (queries.RESULT, (ID,), {"operation_pkey"}),
    "forget releases": (history.FORGET_RELEASES, (1.0, 10), {"release_deleted", "release_pkey"}),
    "deployed": (submission.IS_DEPLOYED, (ID, "{}", "{}"), {"operation_pkey", "release_revision_pkey"}),
}


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[AsyncConnection]:
    pool = engine.create(database_url, pool_size=1)
    async with pool.connect() as connected:
        async with connected.begin():
            for statement in _FILL.split(";\n"):
                await connected.execute(sqlalchemy.text(statement))
        async with connected.begin():
            await connected.execute(sqlalchemy.text("ANALYZE"))
        yield connected
    await pool.dispose()


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from _nodes(below)


def indexes(explained: Any) -> set[str]:
    """Return the indexes that a plan uses; it may read no table from end to end."""
    found = json.loads(explained) if isinstance(explained, str) else explained
    nodes = list(_nodes(found[0]["Plan"]))
    assert [node for node in nodes if node["Node Type"] == "Seq Scan"] == []
    return {node["Index Name"] for node in nodes if "Index Name" in node}


async def test_queries_go_by_their_indexes(connection: AsyncConnection) -> None:
    raw = (await connection.get_raw_connection()).driver_connection
    assert raw is not None
    for name, (query, values, wanted) in HOT.items():
        found = indexes(await raw.fetchval(f"EXPLAIN (FORMAT JSON) {query}", *values))
        assert (name, wanted - found) == (name, set())
    for text, chosen in (
        (queries.INHERITED, {"id": ID, "limit": 10}),
        (queries.LOST, {"limit": 10}),
        (work.OWN, {"operation_id": ID}),
        (work.REMOVED, {"operation_id": ID}),
        (chart.ARCHIVE_OF_OPERATION, {"operation_id": ID}),
        (chart.ARCHIVE_OF_REVISION, {"release_id": ID, "revision": 1}),
    ):
        explained = await connection.execute(sqlalchemy.text(f"EXPLAIN (FORMAT JSON) {text}"), chosen)
        assert indexes(explained.scalar_one())
