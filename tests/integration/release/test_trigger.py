"""What holds for releases whoever writes, and which changes are told; see `test_table` for the states."""

import json
import uuid
from typing import Any

import asyncpg
import pytest

RELEASE, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
OPERATION = uuid.UUID(int=3)


async def add_release(sql: asyncpg.Connection, release_id: uuid.UUID = RELEASE, name: str = "shop") -> None:
    await sql.execute(
        "INSERT INTO release (id, namespace, name, operation_id) VALUES ($1, 'default', $2, $3)",
        release_id,
        name,
        OPERATION,
    )


async def add_operation(
    sql: asyncpg.Connection, *, operation_id: uuid.UUID = OPERATION, former: str = "FAILED", plan: str | None = None
) -> None:
    await sql.execute(
        "INSERT INTO operation (id, release_id, kind, request, options, former_state, deadline_at, plan, reason)"
        " VALUES ($1, $2, 'INSTALL', '{}', '{}', $3, now(), $4, 'why')",
        operation_id,
        RELEASE,
        former,
        plan,
    )


async def add_node(sql: asyncpg.Connection, *, kind: str = "ACTION", state: str = "PENDING") -> None:
    await sql.execute(
        "INSERT INTO node (id, operation_id, release_id, path, task, ordinal, batch)"
        " VALUES ($1, $1, $2, 'db', 'INSTALL', 0, 1)",
        OPERATION,
        RELEASE,
    )
    await sql.execute(
        "INSERT INTO step (id, node_id, operation_id, release_id, path, ordinal, kind, state, args, image)"
        " VALUES ($1, $1, $1, $2, 'db', 1, $3, $4, '{--secret,x}', 'alpine')",
        OPERATION,
        RELEASE,
        kind,
        state,
    )


async def add_revision(sql: asyncpg.Connection, revision: int, state: str = "PENDING") -> None:
    await sql.execute(
        "INSERT INTO release_revision (release_id, revision, source, manifest, late, plan, operation_id, state)"
        " VALUES ($1, $2, '{}', '{}', '{}', '{}', $3, $4)",
        RELEASE,
        revision,
        OPERATION,
        state,
    )


async def told(sql: asyncpg.Connection, after: int = 0) -> list[str]:
    rows = await sql.fetch("SELECT name FROM events WHERE revision > $1 ORDER BY revision", after)
    return [row["name"] for row in rows]


async def last(sql: asyncpg.Connection) -> int:
    return int(await sql.fetchval("SELECT coalesce(max(revision), 0) FROM events"))


async def refused(sql: asyncpg.Connection, statement: str, *values: Any) -> str:
    """Return the constraint that a statement violates."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as error:
        await sql.execute(statement, *values)
    return str(error.value.constraint_name)


async def test_a_name_is_taken_in_its_namespace_until_its_release_is_deleted(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    with pytest.raises(asyncpg.UniqueViolationError):
        await add_release(sql, OTHER)
    await sql.execute("UPDATE release SET namespace = 'other'")
    await add_release(sql, OTHER)
    await sql.execute("UPDATE release SET state = 'FAILED'")
    await sql.execute("UPDATE release SET state = 'UNINSTALLING'")
    assert await refused(sql, "UPDATE release SET deleted_at = now()") == "release_deletion"
    await sql.execute("UPDATE release SET state = 'UNINSTALLED', deleted_at = now()")
    await add_release(sql, uuid.uuid4())


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a" * 54, "a\n"])
async def test_a_name_that_is_no_label_is_refused(sql: asyncpg.Connection, name: str) -> None:
    insert = "INSERT INTO release (id, operation_id, namespace, name) VALUES ($1, $1, $2, $3)"
    assert await refused(sql, insert, RELEASE, "default", name) == "release_name_form"
    assert await refused(sql, insert, RELEASE, name, "a") == "release_namespace_form"


async def test_a_release_has_one_operation_that_has_not_ended(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    await add_operation(sql)
    with pytest.raises(asyncpg.UniqueViolationError, match="operation_active"):
        await add_operation(sql, operation_id=OTHER)
    await sql.execute("UPDATE operation SET state = 'CANCELLED'")
    await add_operation(sql, operation_id=OTHER)


async def test_a_release_has_one_revision_that_is_deployed(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    await add_revision(sql, 1, "DEPLOYED")
    await add_revision(sql, 2)
    with pytest.raises(asyncpg.UniqueViolationError, match="release_revision_deployed"):
        await sql.execute("UPDATE release_revision SET state = 'DEPLOYED' WHERE revision = 2")
    assert await refused(sql, "UPDATE release_revision SET state = 'SUPERSEDED' WHERE revision = 1") == (
        "release_revision_transition"
    )
    async with sql.transaction():
        await sql.execute("UPDATE release_revision SET state = 'SUPERSEDED' WHERE revision = 1")
        await sql.execute("UPDATE release_revision SET state = 'DEPLOYED' WHERE revision = 2")
    states = await sql.fetch("SELECT state FROM release_revision ORDER BY revision")
    assert [row["state"] for row in states] == ["SUPERSEDED", "DEPLOYED"]
    # What is gone needs none to follow it.
    async with sql.transaction():
        await sql.execute("UPDATE release_revision SET state = 'SUPERSEDED' WHERE revision = 2")
        await sql.execute("DELETE FROM release_revision WHERE revision = 2")


@pytest.mark.parametrize("state", ["PENDING", "DEPLOYED", "UNINSTALLED"])
async def test_a_superseded_revision_stays_what_it_is(sql: asyncpg.Connection, state: str) -> None:
    await add_release(sql)
    await add_revision(sql, 1, "SUPERSEDED")
    told = await refused(sql, f"UPDATE release_revision SET state = '{state}'")
    assert told == "release_revision_transition"


async def test_documents_have_limits(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    large = json.dumps("x" * (8 << 20))
    insert = "INSERT INTO release_resource (release_id, path, type, revision, {0}) VALUES ($1, 'p', 't', 1, $2)"
    assert await refused(sql, insert.format("state"), RELEASE, large[: 1 << 20] + '"') == "resource_answer_size"
    assert await refused(sql, insert.format("init"), RELEASE, large[: 1 << 20] + '"') == "resource_answer_size"
    assert await refused(sql, insert.format("config"), RELEASE, large[: 3 << 20] + '"') == "resource_config_size"
    await add_revision(sql, 1)
    assert await refused(sql, "UPDATE release_revision SET manifest = $1", large) == "release_document_size"
    await sql.execute("UPDATE release_revision SET manifest = $1", '{"b": 1.10, "a": 1}')
    assert await sql.fetchval("SELECT manifest::text FROM release_revision") == '{"b": 1.10, "a": 1}'


async def test_nothing_with_events_is_truncated(sql: asyncpg.Connection) -> None:
    for table in ("release", "operation", "node", "step"):
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="would lose events"):
            await sql.execute(f"TRUNCATE {table} CASCADE")


async def test_an_event_has_the_row_without_documents_and_the_release_as_its_parent(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    await add_operation(sql, plan='{"nodes": []}')
    await add_node(sql, state="RUNNING")
    await sql.execute("UPDATE node SET state = 'INSTALLING', started_at = now()")
    rows = await sql.fetch("SELECT name, resource_id, parent_id, version, data FROM events ORDER BY revision")
    release, operation, step, node = [json.loads(row["data"]) for row in rows]
    assert [row["name"] for row in rows] == ["release.created", "operation.created", "step.started", "node.started"]
    assert [row["parent_id"] for row in rows] == [None, RELEASE, RELEASE, RELEASE]
    assert [row["version"] for row in rows] == [1, 1, 1, 2]
    assert (release["name"], release["namespace"], release["operation_id"]) == ("shop", "default", str(OPERATION))
    assert (operation["release_name"], operation["reason"], operation["cancel_requested"]) == ("shop", "why", False)
    assert (node["path"], node["state"], node["changed"]) == ("db", "INSTALLING", False)
    assert (step["path"], step["image"], step["attempt"]) == ("db", "alpine", 0)
    assert not {"engine", "description", "deleted_at"} & release.keys()
    assert not {"plan", "source", "options", "request", "cause", "follows", "lease_id"} & operation.keys()
    assert not {"args", "exit_code", "description", "entrypoint"} & step.keys()


async def test_phases_counters_leases_and_steps_without_effects_are_not_told(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    await add_operation(sql)
    await add_node(sql, kind="STATE")
    before = await last(sql)
    await sql.execute("UPDATE operation SET phase = 'APPLY', total_nodes = 3, lease_id = gen_random_uuid()")
    await sql.execute("UPDATE operation SET revision = 1, plan = '{}'")
    await sql.execute("UPDATE step SET state = 'RUNNING'")
    await sql.execute("UPDATE step SET state = 'SUCCEEDED'")
    await sql.execute("DELETE FROM step")
    assert await told(sql, before) == []
    await sql.execute("UPDATE operation SET cancel_requested_at = now(), cancel_grace_seconds = 30")
    await sql.execute("UPDATE operation SET cancel_grace_seconds = 0")
    await sql.execute("UPDATE node SET message = 'hm'")
    assert await told(sql, before) == ["operation.updated", "operation.updated", "node.updated"]


async def test_a_step_that_waits_for_the_first_time_is_not_told_and_one_that_waits_again_is(
    sql: asyncpg.Connection,
) -> None:
    await add_release(sql)
    await add_operation(sql)
    await add_node(sql)
    before = await last(sql)
    for state in ("RUNNING", "PENDING", "RUNNING", "FAILED"):
        await sql.execute("UPDATE step SET state = $1", state)
    assert await told(sql, before) == ["step.started", "step.retrying", "step.started", "step.failed"]


@pytest.mark.parametrize(
    ("former", "plan", "through", "to", "said"),
    [
        # The operation has ended before it had a plan: the release is where it was.
        ("DEPLOYED", None, "PENDING_UPGRADE", "DEPLOYED", "release.updated"),
        ("FAILED", None, "PENDING_UPGRADE", "FAILED", "release.updated"),
        ("FAILED", None, "UNINSTALLING", "FAILED", "release.updated"),
        # It had one, and has changed something.
        ("DEPLOYED", "{}", "PENDING_UPGRADE", "FAILED", "release.failed"),
        ("FAILED", "{}", "PENDING_ROLLBACK", "FAILED", "release.failed"),
        ("FAILED", "{}", "UNINSTALLING", "FAILED", "release.failed"),
        # There is nothing to go back to.
        ("FAILED", None, "PENDING_INSTALL", "FAILED", "release.failed"),
    ],
)
async def test_a_release_that_goes_back_has_neither_failed_nor_been_deployed(
    sql: asyncpg.Connection, former: str, plan: str | None, through: str, to: str, said: str
) -> None:
    await add_release(sql)
    await add_operation(sql, former=former, plan=plan)
    if through != "PENDING_INSTALL":
        await sql.execute("UPDATE release SET state = 'FAILED'")
        await sql.execute("UPDATE release SET state = $1", through)
    before = await last(sql)
    async with sql.transaction():
        await sql.execute("UPDATE operation SET state = 'CANCELLED'")
        await sql.execute("UPDATE release SET state = $1", to)
    assert await told(sql, before) == ["operation.cancelled", said]


async def test_what_goes_with_what_it_belongs_to_is_not_told_by_itself(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    await add_operation(sql)
    await add_node(sql)
    before = await last(sql)
    async with sql.transaction():
        await sql.execute("SAVEPOINT alone; DELETE FROM step; SET CONSTRAINTS ALL IMMEDIATE")
        await sql.execute("DELETE FROM node; DELETE FROM operation; DELETE FROM release")
    assert await told(sql, before) == ["step.deleted", "node.deleted", "operation.deleted", "release.deleted"]
    await add_release(sql)
    await add_operation(sql)
    await add_node(sql)
    before = await last(sql)
    await sql.execute("DELETE FROM operation")
    assert await told(sql, before) == ["operation.deleted"]
    await add_operation(sql)
    await add_node(sql)
    before = await last(sql)
    await sql.execute("DELETE FROM release")
    assert await told(sql, before) == ["release.deleted"]
    assert await sql.fetchval("SELECT count(*) FROM step") == 0


async def test_the_end_of_a_release_is_told_before_its_deletion(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    for state in ("FAILED", "UNINSTALLING"):
        await sql.execute("UPDATE release SET state = $1", state)
    before = await last(sql)
    async with sql.transaction():
        await sql.execute("UPDATE release SET state = 'UNINSTALLED'")
        await sql.execute("UPDATE release SET deleted_at = now()")
    assert await told(sql, before) == ["release.uninstalled", "release.deleted"]
    await sql.execute("DELETE FROM release")
    assert await told(sql, before) == ["release.uninstalled", "release.deleted"]
