"""What the revision of releases adds, it takes away again, with events that a former release could not read."""

import uuid

import asyncpg
import pytest

from support.release_site import Site, finish, manifest, node, plan
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.server.database import readiness, schema

CHART = """
    INSERT INTO chart (digest, name, chart_version, metadata, archive, size)
    VALUES ('sha256:' || repeat('0', 64), 'shop', '1.0.0', '{}', '', 0)
"""
FILES = [pb.ManifestFile(name="m.yaml", text=manifest("db"))]


async def test_a_downgrade_removes_releases_with_their_events_and_leaves_all_others(
    site: Site, sql: asyncpg.Connection
) -> None:
    await sql.execute("INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), 'a', '')")
    await site.install("db")
    await sql.execute("UPDATE template SET name = 'b'")
    await schema.downgrade(site.database_url, "0001")
    names = [row["name"] for row in await sql.fetch("SELECT name FROM events ORDER BY revision")]
    assert names == ["template.created", "template.updated"]
    left = await sql.fetch("SELECT relname FROM pg_class WHERE relname ~ '^(release|operation|node|step)'")
    assert left == []
    for kind in ("'RELEASE'::resource_type", "'NODE_READY'::event_type"):
        with pytest.raises(asyncpg.CheckViolationError):
            await sql.execute(f"SELECT {kind}")
    await sql.execute("UPDATE template SET name = 'c'")
    await schema.upgrade(site.database_url)
    await readiness.wait(site.database_url, allow_unsafe=True)
    await sql.execute("SELECT 'RELEASE'::resource_type, 'NODE_READY'::event_type")


async def test_a_downgrade_removes_charts_and_what_is_made_of_them_and_leaves_other_releases(
    site: Site, sql: asyncpg.Connection
) -> None:
    await site.install("db", release="plain")
    await sql.execute(CHART)
    await site.install("db", release="shop")
    await sql.execute(
        "UPDATE release_revision v SET chart_id = c.id FROM chart c, release r"
        " WHERE r.id = v.release_id AND r.name = 'shop'"
    )
    await schema.downgrade(site.database_url, "0003")
    assert [row["name"] for row in await sql.fetch("SELECT name FROM release")] == ["plain"]
    assert await sql.fetchval("SELECT count(*) FROM events WHERE resource_type::text = 'CHART'") == 0
    assert await sql.fetchval("SELECT to_regclass('chart') IS NULL")
    for kind in ("'CHART'::resource_type", "'CHART'::node_kind"):
        with pytest.raises(asyncpg.CheckViolationError):
            await sql.execute(f"SELECT {kind}")
    await schema.upgrade(site.database_url)
    await readiness.wait(site.database_url, allow_unsafe=True)
    await sql.execute("SELECT 'CHART'::resource_type, 'CHART'::node_kind")
    last = await site.last_revision()
    await sql.execute(CHART)
    await sql.execute("UPDATE release SET description = 'still there'")
    assert await site.events(after=last) == ["chart.created shop", "release.updated plain"]


async def test_a_downgrade_removes_plans_and_tests_and_leaves_their_releases(
    site: Site, sql: asyncpg.Connection
) -> None:
    await site.install("db")
    for call in ("Plan", "Test"):
        flow = await site.begin(call)
        await flow.acquire()
        await flow.submit_text(plan("db"))
        await flow.report(node("db", "INSTALLING"), node("db", "READY"), finish(result='{"drift": "ab"}'))
    await site.stub.Plan(pb.PlanRequest(operation_id=str(uuid.uuid4()), name="free", files=FILES))
    applied = await site.begin("Plan", files=FILES)
    await applied.carry_out_plan("db")
    await site.stub.ApplyPlan(pb.ApplyPlanRequest(operation_id=str(uuid.uuid4()), plan=applied.id))
    await schema.downgrade(site.database_url, "0004")
    assert [row["name"] for row in await sql.fetch("SELECT name FROM release")] == ["shop"]
    assert [row["kind"] for row in await sql.fetch("SELECT kind FROM operation ORDER BY created_at")] == [
        "INSTALL",
        "UPGRADE",
    ]
    told = await site.recorded()
    assert [data for name, data in told if data.get("kind") in ("PLAN", "TEST") or data.get("state") == "PLANNED"] == []
    assert "release.drifted" not in [name for name, _ in told]
    for kind in ("'PLAN'::operation_kind", "'PLANNED'::release_state", "'RELEASE_DRIFTED'::event_type"):
        with pytest.raises(asyncpg.CheckViolationError):
            await sql.execute(f"SELECT {kind}")
    last = await site.last_revision()
    await sql.execute("UPDATE release SET description = 'still there'")
    assert await site.events(after=last) == ["release.updated shop"]
    await schema.upgrade(site.database_url)
    await readiness.wait(site.database_url, allow_unsafe=True)
    assert await site.release_state() == "PENDING_UPGRADE"
