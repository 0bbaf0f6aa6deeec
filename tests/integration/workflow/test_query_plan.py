"""The queries that every report, look and line of output runs find their rows by an index."""

import datetime
import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.event.kinds import State
from tinkwell.server.database import engine
from tinkwell.server.workflow.store import action_status, output, progress, pruning, queries, step, table

WORKFLOWS = 1_500
WORKER = uuid.UUID(int=7)

# A few workflows of many are unfinished, and a few actions of many are a worker's, as on a site in use.
_FILL = f"""
    ALTER TABLE hardware DISABLE TRIGGER ALL;
    ALTER TABLE template DISABLE TRIGGER ALL;
    ALTER TABLE workflow DISABLE TRIGGER ALL;
    ALTER TABLE action DISABLE TRIGGER ALL;
    INSERT INTO hardware (id, deleted_at)
    SELECT gen_random_uuid(), CASE WHEN n % 10 = 0 THEN now() - make_interval(days => n) END
      FROM generate_series(1, {WORKFLOWS}) n;
    INSERT INTO template (id, name, data, deleted_at)
    SELECT gen_random_uuid(), 't' || n, '', now() - make_interval(days => n) FROM generate_series(1, {WORKFLOWS}) n;
    INSERT INTO template (id, name, data) VALUES ('{uuid.UUID(int=1)}', 't', '');
    INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions, completed_actions, state,
                          finished_at)
    SELECT gen_random_uuid(), '{uuid.UUID(int=1)}', 't', '{{}}', repeat('x', 100), 4,
           CASE WHEN n % 50 = 0 THEN 1 ELSE 4 END, CASE WHEN n % 50 = 0 THEN 'RUNNING' ELSE 'SUCCEEDED' END,
           CASE WHEN n % 50 <> 0 THEN now() - make_interval(days => n) END
      FROM generate_series(1, {WORKFLOWS}) n;
    INSERT INTO action (id, workflow_id, action_index, task_name, name, image, worker_id, state)
    SELECT gen_random_uuid(), w.id, n, 't', 'a' || n, 'image',
           CASE WHEN random() < 0.05 THEN CAST('{WORKER}' AS uuid) ELSE gen_random_uuid() END,
           CASE WHEN n < w.completed_actions THEN 'SUCCEEDED' ELSE 'PENDING' END
      FROM workflow w, generate_series(0, 3) n;
    INSERT INTO machine_hold (worker_id, workflow_id)
    SELECT DISTINCT ON (a.worker_id) a.worker_id, w.id
      FROM workflow w JOIN action a ON a.workflow_id = w.id WHERE w.state = 'RUNNING';
    INSERT INTO machine_hold (worker_id, workflow_id)
    SELECT gen_random_uuid(), w.id FROM workflow w, generate_series(1, 3) n;
    INSERT INTO lease (owner, engine, expires_at)
    SELECT 'owner ' || n, 'engine', clock_timestamp() FROM generate_series(1, {WORKFLOWS}) n;
    UPDATE machine_hold SET lease_id = (SELECT id FROM lease LIMIT 1);
    INSERT INTO action_status
           (workflow_id, action_id, task_name, action_name, worker_id, state, attempt, seconds, message)
    SELECT workflow_id, id, task_name, name, worker_id, state, 1, 0, '' FROM action;
    INSERT INTO log_line (action_id, attempt, number, stream, line)
    SELECT id, 1, n, 'STDOUT', 'a line' FROM action, generate_series(1, 10) n;
"""


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


async def plan(
    connection: AsyncConnection, query: sqlalchemy.Executable | str, values: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    """Return the steps of a query's plan; none may read a table from end to end.

    Of one in the driver's own words the values are numbered, so only their order counts.
    """
    if isinstance(query, str):
        raw = (await connection.get_raw_connection()).driver_connection
        assert raw is not None
        return _steps(await raw.fetchval(f"EXPLAIN (FORMAT JSON) {query}", *(values or {}).values()))
    compiled = query.compile(connection.sync_connection, compile_kwargs={"literal_binds": values is None})  # type: ignore[attr-defined] # every query has it
    explain = sqlalchemy.text(f"EXPLAIN (FORMAT JSON) {query if values is not None else compiled}")
    return _steps((await connection.execute(explain, values or {})).scalar_one())


def _steps(explained: Any) -> list[dict[str, Any]]:
    (found,) = json.loads(explained) if isinstance(explained, str) else explained
    nodes = list(_nodes(found["Plan"]))
    assert [node for node in nodes if node["Node Type"] == "Seq Scan"] == []
    return nodes


def indexes(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from _nodes(below)


async def one(connection: AsyncConnection) -> tuple[str, str]:
    """Return an unfinished workflow and its first action."""
    row = (
        await connection.execute(
            sqlalchemy.select(table.action.c.workflow_id, table.action.c.id)
            .join(table.workflow, table.workflow.c.id == table.action.c.workflow_id)
            .where(table.workflow.c.state == State.RUNNING, table.action.c.action_index == 0)
            .limit(1)
        )
    ).one()
    return row[0], row[1]


async def test_queries_go_by_their_indexes(connection: AsyncConnection) -> None:
    workflow_id, action_id = await one(connection)
    place = progress.BEGINNING
    due = {"worker_id": str(WORKER), "created_at": place.created_at, "id": place.workflow_id, "limit": 500}
    assert indexes(await plan(connection, step.LOCK, {"id": workflow_id})) == {"workflow_pkey"}
    assert "workflow_pkey" in indexes(await plan(connection, step.STATES, {"lease_token": 1, "id": workflow_id}))
    some = {"action_ids": [action_id]}
    assert {"action_pkey", "workflow_pkey"} <= indexes(await plan(connection, step.LOCK_FREE, some))
    many = {"lease_token": 1, "workflow_ids": [workflow_id], "action_ids": [action_id]}
    assert {"action_pkey", "workflow_pkey", "machine_hold_pkey"} <= indexes(
        await plan(connection, step.STATES_OF_ACTIONS, many)
    )
    told = {"after": 1, "until": 100, "ids": [workflow_id]}
    assert all("pkey" in index for index in indexes(await plan(connection, step.REVISIONS, told)))
    assert "action_place" in indexes(await plan(connection, progress.DUE, due))
    for look in (progress.OF_WORKFLOW, progress.WITH_ACTIONS):
        assert {"action_place", "machine_hold_pkey"} <= indexes(await plan(connection, look, {"id": workflow_id}))
    assert "workflow_pkey" in indexes(await plan(connection, queries.ACTIONS, {"id": workflow_id}))
    journal = action_status.PAGE.params(workflow_id=workflow_id, after=0, limit=100)
    assert indexes(await plan(connection, journal)) == {"action_status_workflow"}
    unfinished = queries.select_live([State.PENDING, State.RUNNING])
    assert indexes(await plan(connection, unfinished)) == {"workflow_unfinished"}
    page = {"created_at": place.created_at, "id": place.workflow_id, "limit": 5000}
    assert indexes(await plan(connection, progress.UNFINISHED, page)) == {"workflow_unfinished"}
    beyond = {"workflow_id": workflow_id, "action_index": 0, "limit": 100}
    assert indexes(await plan(connection, output.BEYOND, beyond)) == {"action_place", "log_line_pkey"}
    within = await plan(connection, output.WITHIN, {"action_id": action_id, "attempt": 1, "number": 5, "limit": 100})
    assert indexes(within) == {"log_line_pkey"}
    # The lines before the page are not even looked at.
    assert not [node for node in within if "Filter" in node or node["Node Type"] == "Sort"]


async def test_what_is_past_its_time_is_found_by_an_index(connection: AsyncConnection) -> None:
    workflow_id, _ = await one(connection)
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=100)
    start = pruning.beginning(before)
    page = await plan(
        connection, pruning.PAGE, {"before": before, "after": start.ended_at, "id": start.id, "limit": 10}
    )
    held = {"machine_hold_workflow", "lease_id", "workflow_recovers"}
    assert indexes(page) == {"workflow_ended", *held}
    # The index has the order, too.
    assert [node.get("Index Name") for node in page[:2]] == [None, "workflow_ended"]
    some = {"ids": [workflow_id], "limit": 100}
    assert indexes(await plan(connection, pruning.LOCKED, {"ids": [workflow_id]})) == {"workflow_pkey", *held}
    # Either index of actions begins with their workflow.
    assert "log_line_pkey" in indexes(await plan(connection, pruning.FORGET_LINES, some))
    assert "action_status_workflow" in indexes(await plan(connection, pruning.FORGET_STATUSES, some))
    strays = await plan(connection, pruning.FORGET_STRAYS, {"before": before, "after": 0, "limit": 100})
    assert {"action_status_pkey", "workflow_pkey"} <= indexes(strays)
    unused = {"before": before, "limit": 200}
    assert {"hardware_deleted", "action_worker"} <= indexes(await plan(connection, pruning.FORGET_HARDWARE, unused))
    assert {"template_deleted", "workflow_template"} <= indexes(
        await plan(connection, pruning.FORGET_TEMPLATES, unused)
    )
