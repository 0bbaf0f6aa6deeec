"""The rules' tables of states, the database's triggers and the manual are one and the same."""

import itertools
import uuid
from collections.abc import Mapping
from typing import Any

import asyncpg
import pytest

from support.reference import state
from tinkwell.core.release import lifecycle

TABLES: Mapping[str, Mapping[Any, frozenset[Any]]] = {
    "release": lifecycle.RELEASE,
    "release_revision": lifecycle.REVISION,
    "operation": lifecycle.OPERATION,
    "node": lifecycle.NODE,
    "step": lifecycle.STEP,
}
ONE = uuid.UUID(int=1)


async def insert(sql: asyncpg.Connection, table: str, state: str) -> None:
    """Insert a release with one of everything, of which one is in a state; nothing of it hangs together."""
    states = dict.fromkeys(TABLES, "PENDING") | {"release": "PENDING_INSTALL", table: state}
    await sql.execute(
        "INSERT INTO release (id, namespace, name, operation_id, state) VALUES ($1, 'n', 'a', $1, $2)",
        ONE,
        states["release"],
    )
    await sql.execute(
        "INSERT INTO release_revision (release_id, revision, source, manifest, late, plan, operation_id, state)"
        " VALUES ($1, 1, '{}', '{}', '{}', '{}', $1, $2)",
        ONE,
        states["release_revision"],
    )
    await sql.execute(
        "INSERT INTO operation (id, release_id, kind, request, options, former_state, deadline_at, state, plan)"
        " VALUES ($1, $1, 'INSTALL', '{}', '{}', 'FAILED', now(), $2, '{}')",
        ONE,
        states["operation"],
    )
    await sql.execute(
        "INSERT INTO node (id, operation_id, release_id, path, task, ordinal, batch, state)"
        " VALUES ($1, $1, $1, 'db', 'INSTALL', 0, 1, $2)",
        ONE,
        states["node"],
    )
    await sql.execute(
        "INSERT INTO step (id, node_id, operation_id, release_id, path, ordinal, kind, state)"
        " VALUES ($1, $1, $1, $1, 'db', 1, 'ACTION', $2)",
        ONE,
        states["step"],
    )


async def is_allowed(sql: asyncpg.Connection, table: str, before: str, after: str) -> bool:
    attempt = sql.transaction()
    await attempt.start()
    try:
        await insert(sql, table, before)
        await sql.execute(f"UPDATE {table} SET state = $1", after)
    except asyncpg.CheckViolationError as error:
        return str(error.constraint_name) != f"{table}_transition"
    finally:
        await attempt.rollback()
    return True


async def test_the_triggers_allow_what_the_tables_allow(sql: asyncpg.Connection) -> None:
    for table, targets in TABLES.items():
        for before, after in itertools.product(targets, repeat=2):
            expected = lifecycle.may_follow(targets, before, after)
            assert (table, before, after, await is_allowed(sql, table, before, after)) == (
                table,
                before,
                after,
                expected,
            )


def shown(table: str) -> list[tuple[str, ...]]:
    """Return the rows of the manual's table."""
    rows = [line.strip("|").split("|") for line in state.blocks()[table].splitlines()[2:]]
    return [tuple(cell.strip() for cell in row) for row in rows]


@pytest.mark.parametrize("table", [name for name in TABLES if name != "release_revision"])
async def test_each_move_becomes_the_event_that_the_manual_names(sql: asyncpg.Connection, table: str) -> None:
    for before, after, event in shown(table):
        attempt = sql.transaction()
        await attempt.start()
        await insert(sql, table, before)
        await sql.execute("SET CONSTRAINTS ALL IMMEDIATE")
        if (before, after) == ("PENDING_INSTALL", "DEPLOYED") or event == "RELEASE_DEPLOYED":
            await sql.execute("UPDATE operation SET state = 'RUNNING'; UPDATE operation SET state = 'SUCCEEDED'")
        await sql.execute(f"UPDATE {table} SET state = $1", after)
        last = await sql.fetchrow("SELECT resource_type, event_type FROM events ORDER BY revision DESC LIMIT 1")
        await attempt.rollback()
        assert (before, after, *last) == (before, after, table.upper(), event)
