"""The rules' table of states and the database's trigger are one and the same."""

import itertools
import uuid
from collections.abc import AsyncIterator, Mapping

import asyncpg
import pytest

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import lifecycle


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def insert(sql: asyncpg.Connection, state: State) -> None:
    template, workflow = uuid.uuid4(), uuid.uuid4()
    await sql.execute("INSERT INTO template (id, name, data) VALUES ($1, 't', '')", template)
    await sql.execute(
        "INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions, state)"
        " VALUES ($1, $2, 't', '{}', '', 1, $3)",
        workflow,
        template,
        state,
    )
    await sql.execute(
        "INSERT INTO action (id, workflow_id, action_index, task_name, name, image, worker_id, state)"
        " VALUES ($1, $1, 0, 't', 'a', 'i', $1, $2)",
        workflow,
        state,
    )


async def is_allowed(sql: asyncpg.Connection, table: str, before: State, after: State) -> bool:
    attempt = sql.transaction()
    await attempt.start()
    try:
        await insert(sql, before)
        await sql.execute(f"UPDATE {table} SET state = $1", after)
    except asyncpg.CheckViolationError:
        return False
    finally:
        await attempt.rollback()
    return True


async def test_the_trigger_allows_what_the_table_allows(sql: asyncpg.Connection) -> None:
    tables: Mapping[str, Mapping[State, frozenset[State]]] = {
        "workflow": lifecycle.targets(lifecycle.WORKFLOW_RULES),
        "action": lifecycle.targets(lifecycle.ACTION_RULES),
    }
    for table, transitions in tables.items():
        for before, after in itertools.product(State, repeat=2):
            expected = before is after or after in transitions[before]
            assert (table, before, after, await is_allowed(sql, table, before, after)) == (
                table,
                before,
                after,
                expected,
            )


async def test_each_step_becomes_the_event_that_the_table_names(sql: asyncpg.Connection) -> None:
    for table, rules in (("workflow", lifecycle.WORKFLOW_RULES), ("action", lifecycle.ACTION_RULES)):
        for rule in rules:
            attempt = sql.transaction()
            await attempt.start()
            await insert(sql, rule.source)
            await sql.execute("SET CONSTRAINTS ALL IMMEDIATE")
            await sql.execute(f"UPDATE {table} SET state = $1", rule.target)
            last = await sql.fetchval(
                "SELECT event_type FROM events WHERE resource_type = $1 ORDER BY revision DESC LIMIT 1", table.upper()
            )
            await attempt.rollback()
            assert (table, rule.source, rule.target, last) == (table, rule.source, rule.target, rule.event_type)
