"""The tables of states of units and the like, the database's triggers, and the manual are one and the same."""

import itertools
from collections.abc import Mapping
from typing import Any

import asyncpg
import pytest

from support.reference import state
from support.unit_rows import Rows
from tinkwell.core.unit import lifecycle
from tinkwell.core.unit.kinds import EventState, TaskState

INSERT_EVENT = """
    INSERT INTO unit_event (namespace, application_id, unit_id, unit, ordinal, kind, phase, state)
    SELECT namespace, application_id, id, name, 1, 'start', 'SETUP', 'RUNNING' FROM unit
"""
INSERT_TASK = """
    INSERT INTO task (namespace, application_id, unit_id, unit, kind, name, timeout_seconds)
    SELECT namespace, application_id, id, name, 'ACTION', 'act', 60 FROM unit
"""


async def move(sql: asyncpg.Connection, table: str, states: tuple[str, ...], *, again: str = "") -> str:
    """Take a row through states, which is undone; return its last event, empty if it was refused."""
    attempt = sql.transaction()
    await attempt.start()
    try:
        await sql.execute(INSERT_EVENT if table == "unit_event" else INSERT_TASK)
        for before, after in itertools.pairwise(states):
            more = again if (before, after) == ("RUNNING", "RUNNING") or (before, after) == ("ERROR", "RUNNING") else ""
            await sql.execute(f"UPDATE {table} SET state = $1{more}", after)
        await sql.execute("SET CONSTRAINTS ALL IMMEDIATE")
        found: str = await sql.fetchval("SELECT event_type FROM events ORDER BY revision DESC LIMIT 1")
    except asyncpg.CheckViolationError:
        return ""
    else:
        return found
    finally:
        await attempt.rollback()


def told(name: str) -> Mapping[tuple[str, str], str]:
    """Return the events of the manual's table by the move."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in state.blocks()[name].splitlines()[2:]]
    return {(before, after): event for before, after, event in rows}


@pytest.mark.parametrize(("column", "moves"), [("life", lifecycle.LIFE), ("phase", lifecycle.PHASE)])
async def test_lives_and_phases_go_where_the_tables_allow(
    rows: Rows, sql: asyncpg.Connection, column: str, moves: Mapping[Any, frozenset[Any]]
) -> None:
    await rows.application("web")
    await rows.unit("web")
    for before, after in itertools.permutations(moves, 2):
        await sql.execute("ALTER TABLE unit DISABLE TRIGGER unit_transition")
        await sql.execute(f"UPDATE unit SET {column} = $1", before)
        await sql.execute("ALTER TABLE unit ENABLE TRIGGER unit_transition")
        try:
            await sql.execute(f"UPDATE unit SET {column} = $1", after)
            is_allowed = True
        except asyncpg.CheckViolationError:
            is_allowed = False
        assert (before, after, is_allowed) == (before, after, after in moves[before])


async def test_events_of_units_go_where_the_table_allows_and_are_told_so(rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("web")
    await rows.unit("web")
    events = told("unit event")
    for before, after in itertools.product(EventState, repeat=2):
        first = ("RUNNING",) if before is EventState.RUNNING else ("RUNNING", before)
        found = await move(sql, "unit_event", (*first, after), again=", attempt = attempt + 1")
        is_move = before is not after or before is EventState.RUNNING
        assert not is_move or (before, after, found) == (before, after, events.get((before, after), ""))
        assert not is_move or bool(found) == (after in lifecycle.EVENT[before])


async def test_tasks_go_where_the_table_allows_and_are_told_so(rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("web")
    await rows.unit("web")
    ways = {"PENDING": (), "CANCELLED": ("PENDING",)}
    events = told("task")
    for before, after in itertools.permutations(TaskState, 2):
        way = (*ways.get(before, ("PENDING", "RUNNING") if before is not TaskState.RUNNING else ("PENDING",)), before)
        found = await move(sql, "task", (*way, after))
        assert (before, after, found) == (before, after, events.get((before, after), ""))
        assert bool(found) == (after in lifecycle.TASK[before])
