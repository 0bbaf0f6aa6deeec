"""The image for SQL that runs under a condition, on a real PostgreSQL."""

import contextlib
import json
import subprocess
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from support import release_stack
from support.author import EXAMPLES
from support.release_stack import Stack
from tinkwell.client import State


@dataclass(frozen=True)
class Database:
    """A schema of its own in the database, with a table of two rows; `server` is how images reach it."""

    server: dict[str, Any]
    schema: str
    sql: asyncpg.Connection


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    name = f"shop_{uuid.uuid4().hex[:12]}"
    sql = await asyncpg.connect(database_url)
    try:
        await sql.execute(f"CREATE SCHEMA {name}; CREATE TABLE {name}.item AS SELECT generate_series(1, 2) AS number")
        yield Database(release_stack.postgres(database_url), name, sql)
    finally:
        with contextlib.suppress(asyncpg.PostgresError):
            await sql.execute(f"DROP SCHEMA {name} CASCADE")
        await sql.close()


def status(config: dict[str, Any]) -> str:
    """Ask for the state; STALE means that the condition holds."""
    done = subprocess.run(
        [EXAMPLES / "sql-script" / "run", "state"],
        input=json.dumps({"config": config}),
        stdout=subprocess.PIPE,
        env={"PATH": release_stack.path()},
        text=True,
        check=True,
        timeout=60,
    )
    found: str = json.loads(done.stdout)["status"]
    return found


# What each condition comes to; SHOP is a schema with the table `item` of two rows.
COUNT = {"expected_row_count": {"table": "SHOP.item", "rows": 2}}
OTHER = {"expected_row_count": {"table": "SHOP.item", "rows": 3}}
CONDITIONS: list[tuple[dict[str, Any], bool]] = [
    ({"any_schema_missing": ["SHOP"]}, False),
    ({"any_schema_missing": ["SHOP", "nowhere"]}, True),
    ({"no_schema_missing": ["SHOP"]}, True),
    ({"no_schema_missing": ["SHOP", "nowhere"]}, False),
    ({"any_table_missing": ["SHOP.item"]}, False),
    ({"any_table_missing": ["SHOP.item", "SHOP.order"]}, True),
    ({"no_table_missing": ["SHOP.item"]}, True),
    ({"no_table_missing": ["SHOP.item", "SHOP.order"]}, False),
    (COUNT, True),
    (OTHER, False),
    ({"all": [COUNT, {"no_schema_missing": ["SHOP"]}]}, True),
    ({"all": [COUNT, OTHER]}, False),
    ({"any": [OTHER, OTHER]}, False),
    ({"any": [OTHER, COUNT]}, True),
    # The second one could not be looked at.
    ({"any": [{"any_table_missing": ["SHOP.none"]}, {"expected_row_count": {"table": "SHOP.none", "rows": 0}}]}, True),
]


async def test_a_condition_says_whether_the_script_is_to_run(database: Database) -> None:
    for condition, holds in CONDITIONS:
        when = json.loads(json.dumps(condition).replace("SHOP", database.schema))
        found = status({"server": database.server, "script": "SELECT 1", "when": when})
        assert found == ("STALE" if holds else "VALID"), condition


def manifest(database: Database, script: str) -> dict[str, Any]:
    when = {"any_table_missing": [f"{database.schema}.order"]}
    config = {"server": database.server, "script": script, "when": when}
    return {"resources": {"tables": {"type": "tinkwell-resource/sql-script:v1", "config": config}}}


async def test_a_script_runs_once_and_as_a_whole(stack: Stack, database: Database) -> None:
    table = f'CREATE TABLE {database.schema}."order" (id int);'
    broken = await stack.apply("s", manifest(database, f"{table} SELECT nothing_there;"))
    assert broken.broken("tables").name == "execute-script"
    assert "nothing_there" in "".join(await stack.printed(broken.operation, "tables"))
    assert await database.sql.fetchval("SELECT to_regclass($1)", f"{database.schema}.order") is None

    done = await stack.apply("s", manifest(database, table))
    assert (done.operation.state, done.actions("tables")) == (State.SUCCEEDED, ["execute-script"])
    assert await database.sql.fetchval("SELECT to_regclass($1)::text", f"{database.schema}.order") is not None
    assert (await stack.apply("s", manifest(database, table))).became == {"tables": "unchanged"}
    assert (await stack.uninstall("s")).became == {"tables": "left"}


async def test_a_script_may_be_one_of_the_chart_s_files(stack: Stack, database: Database, tmp_path: Path) -> None:
    chart = tmp_path / "tables"
    (chart / "templates").mkdir(parents=True)
    (chart / "files").mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: tables\nversion: 1.0.0\n")
    (chart / "files" / "order.sql").write_text(f'CREATE TABLE {database.schema}."order" (id int);\n')
    asked = manifest(database, "")
    config = asked["resources"]["tables"]["config"]
    del config["script"]
    (chart / "templates" / "all.yaml").write_text(json.dumps(asked))
    missing = await stack.install("c", chart)
    assert missing.operation.state is State.FAILED
    config["file"] = "files/order.sql"
    (chart / "templates" / "all.yaml").write_text(json.dumps(asked))
    done = await stack.install("c", chart)
    assert done.actions("tables:tables") == ["execute-script"]


async def test_a_config_has_one_script_and_one_condition(stack: Stack, database: Database) -> None:
    changes: list[dict[str, Any]] = [{"file": "a.sql"}, {"when": {}}, {"when": {"none": []}}, {"when": {"all": []}}]
    for change in changes:
        asked = manifest(database, "SELECT 1")
        asked["resources"]["tables"]["config"].update(change)
        refused = await stack.apply("s", asked)
        assert refused.operation.state is State.FAILED
        assert refused.actions("tables") == []
