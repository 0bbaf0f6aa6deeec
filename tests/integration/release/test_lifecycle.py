"""What is emitted in the life of releases: checked, stored, told and forgotten."""

import json
import math
import uuid
from typing import Any

import asyncpg
import grpc.aio
import pytest
from integration.release.test_trigger import OPERATION, OTHER, RELEASE, add_operation, add_release, refused

from support.release_site import FAILED, Site, finish, node
from tinkwell.api.v1 import release_service_pb2 as pb

SUCCEEDED = pb.LIFECYCLE_OUTCOME_SUCCEEDED


def handler(**more: Any) -> pb.HandlerRun:
    given: dict[str, Any] = {"chart": "shop", "file": "ext/lua/init.lua", "line": 3, "outcome": SUCCEEDED}
    return pb.HandlerRun(**given | more)


def emitted(event: str = "pre-install", **more: Any) -> pb.OperationReport:
    given: dict[str, Any] = {"event": event, "outcome": SUCCEEDED}
    return pb.OperationReport(lifecycle=pb.LifecycleReport(**given | more))


async def add_emitted(sql: asyncpg.Connection, *, ordinal: int = 1, release: uuid.UUID = RELEASE, **more: Any) -> None:
    fields = {"event": "pre-install", "chart": "shop", "outcome": "SUCCEEDED"} | more
    await sql.execute(
        "INSERT INTO lifecycle (operation_id, release_id, ordinal, event, chart, outcome)"
        " VALUES ($1, $2, $3, $4, $5, $6)",
        OPERATION,
        release,
        ordinal,
        *fields.values(),
    )


async def add_running(sql: asyncpg.Connection) -> None:
    await add_release(sql)
    await add_operation(sql)
    await sql.execute("UPDATE operation SET state = 'RUNNING'")


@pytest.mark.parametrize(
    ("report", "field", "said"),
    [
        (emitted(""), "event", "must not be empty"),
        (emitted("pre\ninstall"), "event", "control character"),
        (emitted(message="x" * 1_001), "message", "at most 1,000"),
        (emitted(message="x\0"), "message", "NUL"),
        (emitted(seconds=-1.0), "seconds", "from 0"),
        (emitted(seconds=math.nan), "seconds", "nan"),
        (emitted(outcome=0), "outcome", "SUCCEEDED, WARNED, FAILED"),
        (emitted(handlers=[handler(weight=1.5)]), "handlers[0].weight", "from 0 to 1"),
        (emitted(handlers=[handler(), handler(line=-1)]), "handlers[1].line", "must be from 0"),
        (emitted(handlers=[handler(file="x" * 1_025)]), "handlers[0].file", "at most 1,024"),
        (emitted(handlers=[handler(outcome=0)]), "handlers[0].outcome", "SUCCEEDED, WARNED, FAILED"),
        (emitted(handlers=[handler()] * 1_001), "handlers", "at most 1,000"),
    ],
)
async def test_what_is_wrong_with_a_report_is_named(
    site: Site, report: pb.OperationReport, field: str, said: str
) -> None:
    flow = await site.apply("db")
    await flow.acquire()
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await flow.report(report)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert f"reports[0].lifecycle.{field}" in str(error.value.details())
    assert said in str(error.value.details())
    assert await site.sql.fetchval("SELECT count(*) FROM lifecycle") == 0


async def test_an_event_with_very_many_handlers_is_told_without_them_and_listed_with_them(site: Site) -> None:
    flow = await site.apply("db")
    await flow.acquire()
    many = [handler(file=f"ext/lua/{number:03}.lua", weight=0.5) for number in range(1_000)]
    await flow.report(emitted("pre-render", handlers=many), emitted("post-render", handlers=many[:100]))
    found = [run async for run in site.stub.ListLifecycle(pb.ListLifecycleRequest(operation_id=flow.id))]
    assert [len(run.handlers) for run in found] == [1_000, 100]
    rows = await site.sql.fetch("SELECT data, size FROM events WHERE resource_type = 'LIFECYCLE' ORDER BY revision")
    assert [len(json.loads(row["data"])["handlers"]) for row in rows] == [0, 100]
    assert all(row["size"] < 65_536 for row in rows)


async def test_a_group_that_ends_its_operation_may_say_what_was_emitted_before(site: Site) -> None:
    flow = await site.apply("db")
    await flow.acquire()
    await flow.report(emitted("validate", outcome=pb.LIFECYCLE_OUTCOME_FAILED, message="no"), finish(FAILED))
    told = await site.sql.fetch("SELECT name FROM events ORDER BY revision")
    names = [row["name"] for row in told]
    assert names.index("lifecycle.emitted") < names.index("operation.failed")
    with pytest.raises(grpc.aio.AioRpcError):
        await flow.report(emitted("post-validate"))


async def test_a_group_is_stored_whole_or_not_at_all(site: Site) -> None:
    flow = await site.apply("db")
    await flow.acquire()
    with pytest.raises(grpc.aio.AioRpcError):
        await flow.report(emitted(), node("db", "READY"))
    assert await site.sql.fetchval("SELECT count(*) FROM lifecycle") == 0


async def test_what_was_emitted_stays_what_it_is(sql: asyncpg.Connection) -> None:
    await add_running(sql)
    await add_emitted(sql)
    for change in ("event = 'ready'", "chart = ''", "ordinal = 2", "release_id = gen_random_uuid()"):
        assert await refused(sql, f"UPDATE lifecycle SET {change}") == "lifecycle_legal"
    await sql.execute("UPDATE lifecycle SET outcome = 'WARNED', message = 'hm'")
    assert await sql.fetchval("SELECT version FROM lifecycle") == 2
    assert await refused(sql, "UPDATE lifecycle SET outcome = 'LATE'") == "lifecycle_outcome_known"
    large = json.dumps(["x" * (1 << 20)])
    assert await refused(sql, "UPDATE lifecycle SET handlers = $1", large) == "lifecycle_size"
    with pytest.raises(asyncpg.UniqueViolationError, match="lifecycle_once"):
        await add_emitted(sql, ordinal=2)
    with pytest.raises(asyncpg.UniqueViolationError, match="lifecycle_place"):
        await add_emitted(sql, event="ready")
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="would lose events"):
        await sql.execute("TRUNCATE lifecycle")


async def test_only_a_running_operation_emits_and_in_the_life_of_its_own_release(sql: asyncpg.Connection) -> None:
    await add_running(sql)
    with pytest.raises(asyncpg.CheckViolationError, match="lifecycle"):
        await add_emitted(sql, release=OTHER)
    await sql.execute("UPDATE operation SET state = 'FAILED'")
    with pytest.raises(asyncpg.CheckViolationError, match="lifecycle"):
        await add_emitted(sql)


async def test_what_was_emitted_goes_with_its_operation_and_is_not_told_then(sql: asyncpg.Connection) -> None:
    await add_running(sql)
    await add_emitted(sql)
    before = await sql.fetchval("SELECT max(revision) FROM events")
    await sql.execute("DELETE FROM operation")
    assert await sql.fetchval("SELECT count(*) FROM lifecycle") == 0
    rows = await sql.fetch("SELECT name FROM events WHERE revision > $1", before)
    assert [row["name"] for row in rows] == ["operation.deleted"]
