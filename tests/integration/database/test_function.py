"""What holds for every function of the schema: it can be replaced, and takes nothing from where its caller says."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tinkwell.migrations import repeatable
from tinkwell.server.database import schema

DEFAULTS = """
    SELECT DISTINCT p.proname
      FROM pg_attrdef a JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid
      JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
     WHERE p.pronamespace = 'public'::regnamespace
"""


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


@pytest.fixture
async def functions(connection: asyncpg.Connection) -> dict[str, Any]:
    found = await connection.fetch(
        """
        SELECT proname, prosecdef, prosqlbody IS NOT NULL AS is_bound,
               coalesce(array_to_string(proconfig, ','), '') AS set
          FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        """
    )
    return {row["proname"]: row for row in found}


def replaced() -> set[str]:
    """The functions that an upgrade replaces when their text has changed."""
    files = repeatable.files(schema.this_release().location)
    return {name for file in files for name in repeatable.FUNCTION.findall(file.text)}


async def test_functions_that_are_replaced_have_string_bodies(functions: dict[str, Any]) -> None:
    assert len(replaced()) > 20
    assert {name for name in replaced() if functions[name]["is_bound"]} == set()


async def test_what_a_default_calls_is_not_replaced(connection: asyncpg.Connection) -> None:
    called = {row["proname"] for row in await connection.fetch(DEFAULTS)}
    assert called == {"current_actor", "new_event_id"}
    assert called.isdisjoint(replaced())


async def test_a_search_path_is_set_where_a_function_runs_as_the_owner_and_nowhere_else(
    functions: dict[str, Any],
) -> None:
    path = "search_path=pg_catalog, public, pg_temp"
    as_owner = {name for name, row in functions.items() if row["prosecdef"]}
    assert {name for name, row in functions.items() if path in row["set"]} == as_owner
    assert {name for name, row in functions.items() if "search_path" in row["set"]} == as_owner


async def test_every_function_is_defined_by_a_file(functions: dict[str, Any]) -> None:
    assert functions.keys() == set(repeatable.functions(schema.this_release().location))
