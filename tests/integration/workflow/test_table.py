"""The rules' table of states and the database's trigger are one and the same."""

import itertools
import uuid
from collections.abc import AsyncIterator, Mapping

import asyncpg
import pytest

from tinkwell.core import transition
from tinkwell.core.kind import State


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
        "workflow": transition.WORKFLOW_TRANSITIONS,
        "action": transition.ACTION_TRANSITIONS,
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
