"""What is past its time is forgotten, with all that belongs to it, and nothing else is."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import grpc
import pytest

from support import edge, role
from support.site import CANCELLED, FAILED, ONE, RUNNING, TWO, Flow, Site, action, steps, task
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.workflow.service.pruning import Pruned, Pruning

DAY = 86_400.0
PARTS = ("workflow", "action", "log_line", "action_status", "workflow_data", "machine_hold")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    pool = engine.create(role.url_of_server(database_url), pool_size=4)
    yield Database(pool)
    await pool.dispose()


async def prune(database: Database, *, days: float = 90) -> Pruned:
    """Look, forget, and return what was forgotten, which must be what the look has shown."""
    pruning = Pruning(database, pause_seconds=0)
    seen = total = Pruned()
    async for pruned in pruning.look(age_seconds=days * DAY):
        seen += pruned
    async for pruned in pruning.run(age_seconds=days * DAY, actor="pruner"):
        total += pruned
    assert seen == total
    return total


async def make_old(flow: Flow, *, days: float = 100) -> None:
    """Let a workflow have ended so long ago, by the database's clock."""
    await flow.site.sql.execute(
        "UPDATE workflow SET finished_at = finished_at - make_interval(days => $2),"
        " deleted_at = deleted_at - make_interval(days => $2) WHERE id = $1",
        uuid.UUID(flow.id),
        days,
    )
    await flow.site.sql.execute(
        "UPDATE action_status SET created_at = created_at - make_interval(days => $2) WHERE workflow_id = $1",
        uuid.UUID(flow.id),
        days,
    )


async def finished(site: Site, *, count: int = 1, lines: int = 0) -> Flow:
    """A workflow that has succeeded, with so many lines of output and a document."""
    flow = await site.create(steps(count))
    await flow.succeed(*range(count))
    await site.sql.execute(
        "INSERT INTO log_line (action_id, attempt, number, stream, line)"
        " SELECT $1, 1, n, 'STDOUT', 'x' FROM generate_series(1, $2) n",
        uuid.UUID(flow.actions[0].id),
        lines,
    )
    await site.stub.UpdateWorkflowData(pb.UpdateWorkflowDataRequest(workflow_id=flow.id, data=b"{}", metadata=b"{}"))
    return flow


async def counts(site: Site) -> dict[str, int]:
    return {name: await site.sql.fetchval(f"SELECT count(*) FROM {name}") for name in PARTS}


async def is_there(flow: Flow) -> bool:
    query = "SELECT EXISTS (SELECT FROM workflow WHERE id = $1 AND deleted_at IS NULL)"
    return bool(await flow.site.sql.fetchval(query, uuid.UUID(flow.id)))


async def test_an_old_workflow_goes_with_all_that_belongs_to_it_and_a_young_one_stays(
    site: Site, database: Database
) -> None:
    young = await finished(site, lines=3)
    before = await counts(site)
    old = await finished(site, count=2, lines=5_000)
    await make_old(old)
    assert await prune(database) == Pruned(workflows=1, actions=2, log_lines=5_000, reports=4)
    assert await counts(site) == before
    assert await is_there(young)
    refusal = await edge.refused(site.stub.GetWorkflow(pb.GetWorkflowRequest(id=old.id)))
    assert refusal.code is grpc.StatusCode.NOT_FOUND
    assert await prune(database) == Pruned()


async def test_watchers_hear_that_it_was_deleted_and_then_its_actions(site: Site, database: Database) -> None:
    flow = await finished(site, count=2)
    await make_old(flow)
    before = await site.last_revision()
    await prune(database)
    assert await site.events(after=before) == ["workflow.deleted 6", "action.deleted[0] 4", "action.deleted[1] 4"]
    assert await site.sql.fetchval("SELECT actor FROM events WHERE revision > $1 LIMIT 1", before) == "pruner"


async def test_of_a_workflow_that_was_deleted_watchers_hear_that_its_actions_are_gone(
    site: Site, database: Database
) -> None:
    flow = await site.create(steps(1))
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))
    await make_old(flow)
    before = await site.last_revision()
    assert await prune(database) == Pruned(workflows=1, actions=1)
    assert await site.events(after=before) == ["action.deleted[0] 3"]


async def test_what_is_unfinished_stays_however_old_it_is(site: Site, database: Database) -> None:
    waiting = await site.create(steps(1))
    running = await site.create(steps(2))
    await running.report(0, RUNNING)
    await site.sql.execute("UPDATE workflow SET created_at = '2001-01-01', started_at = '2001-01-01'")
    assert await prune(database, days=0) == Pruned()
    assert await waiting.states() == ["PENDING", "PENDING"]
    await running.report(0, pb.STATE_SUCCEEDED)
    await running.succeed(1)


async def test_one_that_was_deleted_by_hand_while_it_ran_goes_though_it_never_ended(
    site: Site, database: Database
) -> None:
    flow = await site.create(steps(1))
    await flow.report(0, RUNNING)
    await site.sql.execute("UPDATE workflow SET deleted_at = now()")
    await make_old(flow)
    assert (await prune(database)).workflows == 1
    assert await counts(site) == dict.fromkeys(PARTS, 0)


async def test_what_holds_a_machine_stays_until_it_is_released_or_its_holder_is_dead(
    site: Site, database: Database
) -> None:
    flow = await site.create(steps(1))
    token = await site.acquire("owner")
    await flow.report(0, RUNNING, lease_token=token)
    await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id))
    await make_old(flow)
    assert await prune(database) == Pruned()
    assert await is_there(flow)
    await site.kill(token)
    assert (await prune(database)).workflows == 1
    assert await counts(site) == dict.fromkeys(PARTS, 0)


async def test_what_is_recovered_stays_while_that_which_recovers_it_does(site: Site, database: Database) -> None:
    await site.add_template(
        '{"version": "0.1", "name": "r", "tasks": [{"name": "t", "worker": "{{.device_1}}",'
        ' "actions": [{"name": "a", "image": "i"}]}]}',
        name="rescue",
    )
    flow = await site.create(task("t", action("a")), **{"on-failure": "rescue"})
    await flow.report(0, RUNNING)
    await flow.report(0, FAILED)
    await make_old(flow)
    assert await prune(database) == Pruned()
    # Whatever it comes to: what it recovers is needed for it no longer.
    recovery = await site.sql.fetchval("SELECT id::text FROM workflow WHERE recovers = $1", uuid.UUID(flow.id))
    await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=recovery))
    assert await prune(database) == Pruned()
    await make_old(Flow(site, recovery, []))
    assert (await prune(database)).workflows == 2


async def test_reports_of_workflows_that_were_removed_by_hand_go_when_they_are_old(
    site: Site, database: Database
) -> None:
    kept, young, old = [await finished(site) for _ in range(3)]
    await make_old(old)
    for flow in (young, old):
        await site.sql.execute("DELETE FROM workflow WHERE id = $1", uuid.UUID(flow.id))
    assert await prune(database) == Pruned(reports=2)
    left = await site.sql.fetch("SELECT DISTINCT workflow_id::text FROM action_status")
    assert {row[0] for row in left} == {kept.id, young.id}


async def test_machines_and_templates_go_when_they_were_deleted_long_ago_and_nothing_refers_to_them(
    site: Site, database: Database
) -> None:
    flow = await finished(site)
    unused, live = await site.add_machine(), await site.add_machine()
    await site.add_template("never used", name="unused")
    await site.sql.execute("UPDATE hardware SET deleted_at = '2001-01-01' WHERE id <> $1", uuid.UUID(live))
    await site.sql.execute("UPDATE template SET deleted_at = '2001-01-01'")
    before = await site.last_revision()
    # The second machine is in the map of devices, but no action is its.
    assert await prune(database) == Pruned(hardware=2, templates=1)
    assert {str(row[0]) for row in await site.sql.fetch("SELECT id FROM hardware")} == {ONE, live}
    assert unused != TWO
    # Watchers have heard of the deletion.
    assert await site.last_revision() == before
    await make_old(flow)
    assert await prune(database) == Pruned(workflows=1, actions=1, reports=2, hardware=1, templates=1)
    assert {str(row[0]) for row in await site.sql.fetch("SELECT id FROM hardware")} == {live}
    assert await site.sql.fetchval("SELECT count(*) FROM template") == 0


async def test_machines_and_templates_that_were_deleted_a_short_while_ago_stay(site: Site, database: Database) -> None:
    await site.add_template("never used", name="unused")
    await site.sql.execute("UPDATE hardware SET deleted_at = now(); UPDATE template SET deleted_at = now()")
    assert await prune(database) == Pruned()
    assert await prune(database, days=0) == Pruned(hardware=2, templates=1)


async def test_one_that_somebody_has_locked_waits_for_the_next_run(site: Site, database: Database) -> None:
    flows = [await finished(site) for _ in range(2)]
    for flow in flows:
        await make_old(flow)
    async with site.sql.transaction():
        await site.sql.execute("SELECT FROM workflow WHERE id = $1 FOR NO KEY UPDATE", uuid.UUID(flows[0].id))
        total = Pruned()
        async with asyncio.timeout(10):
            async for pruned in Pruning(database, pause_seconds=0).run(age_seconds=90 * DAY, actor=""):
                total += pruned
        assert total.workflows == 1
    assert (await prune(database)).workflows == 1


async def test_a_run_that_is_interrupted_is_taken_up_by_the_next(site: Site, database: Database) -> None:
    flow = await finished(site, lines=4_500)
    await make_old(flow)
    # What a run does first, and then its process dies.
    await site.sql.execute("UPDATE workflow SET deleted_at = now()")
    await site.sql.execute("DELETE FROM log_line WHERE number <= 2000")
    assert await prune(database) == Pruned(workflows=1, actions=1, log_lines=2_500, reports=2)


async def test_the_state_of_an_end_does_not_matter(site: Site, database: Database) -> None:
    cancelled = await site.create(steps(1))
    await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=cancelled.id))
    assert (await cancelled.get()).state == CANCELLED
    await make_old(cancelled)
    assert (await prune(database)).workflows == 1
