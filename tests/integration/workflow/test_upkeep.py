"""Servers forget by themselves: one at a time, beside those who work, and as far as they may."""

import asyncio
import collections
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from support import role
from support import server as servers
from support.site import FAILED, RUNNING, SUCCEEDED, Site, steps
from support.waiting import eventually
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.server.app import main
from tinkwell.server.database import engine, schema
from tinkwell.server.database.database import Database
from tinkwell.server.settings import Settings
from tinkwell.server.workflow.service.pruning import LostTurn, Pruned, Pruning
from tinkwell.server.workflow.service.upkeep import ACTOR, Upkeep

DAY = 86_400.0
_DELETED = """
    SELECT resource_id::text, count(*) FROM events
     WHERE resource_type = 'WORKFLOW' AND event_type = 'DELETED' GROUP BY 1
"""


@pytest.fixture
async def databases(database_url: str) -> AsyncIterator[list[Database]]:
    """As two servers have them."""
    pools = [engine.create(role.url_of_server(database_url), pool_size=3) for _ in range(2)]
    yield [Database(pool) for pool in pools]
    for pool in pools:
        await pool.dispose()


async def add_old(sql: asyncpg.Connection, count: int, *, state: str = "SUCCEEDED") -> None:
    """Store workflows of two actions that ended a hundred days ago, each a second after the one before."""
    template = uuid.uuid4()
    await sql.execute("INSERT INTO template (id, name, data) VALUES ($1, $2, '')", template, f"t-{template}")
    await sql.execute(
        "WITH made AS (INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions, state,"
        " finished_at) SELECT gen_random_uuid(), $1, 't', '{}', '', 2, $3,"
        " now() - make_interval(days => 100, secs => n) FROM generate_series(1, $2) n RETURNING id)"
        " INSERT INTO action (id, workflow_id, action_index, task_name, name, image, worker_id, state)"
        " SELECT gen_random_uuid(), id, n, 't', n::text, 'i', gen_random_uuid(), $3 FROM made, generate_series(0, 1) n",
        template,
        count,
        state,
    )


async def total(pruning: Pruning, *, age_seconds: float = 90 * DAY) -> Pruned:
    found = Pruned()
    async for pruned in pruning.run(age_seconds=age_seconds, actor="pruner"):
        found += pruned
    return found


def upkeep(database: Database) -> Upkeep:
    return Upkeep(database, age_seconds=90 * DAY, interval_seconds=300, pause_seconds=0)


async def test_two_that_prune_at_once_prune_each_workflow_once(site: Site, databases: list[Database]) -> None:
    await add_old(site.sql, 450)
    prunings = [Pruning(database, pause_seconds=0) for database in databases]
    # What one has locked, the other leaves to the next run.
    found = await asyncio.gather(*(total(pruning) for pruning in prunings))
    found.append(await total(prunings[0]))
    assert sum(found, Pruned()) == Pruned(workflows=450, actions=900)
    deleted = dict(await site.sql.fetch(_DELETED))
    assert (len(deleted), set(deleted.values())) == (450, {1})
    assert await site.sql.fetchval("SELECT count(*) FROM events WHERE event_type = 'DELETED'") == 450 * 3


async def test_of_two_servers_one_forgets_at_a_time(site: Site, databases: list[Database]) -> None:
    await add_old(site.sql, 3)
    first, second = map(upkeep, databases)
    pieces = first._pruning.run(age_seconds=90 * DAY, actor=ACTOR)
    assert await anext(pieces) == Pruned(workflows=3, actions=6)
    assert await second.run_once() == "watched"
    assert second.status.pruned == Pruned()
    # It has died, and its turn is over.
    await pieces.aclose()
    await site.sql.execute("UPDATE pruning_turn SET held_until = clock_timestamp()")
    await add_old(site.sql, 2)
    assert await second.run_once() == "done"
    assert second.status.pruned == Pruned(workflows=2, actions=4)
    # It has given the turn back.
    assert await first.run_once() == "done"
    assert (second.status.runs, second.status.failures) == (2, 0)


async def test_who_has_lost_the_turn_forgets_nothing_more(site: Site, databases: list[Database]) -> None:
    await add_old(site.sql, 450)
    pruning = Pruning(databases[0], holder=str(uuid.uuid4()), pause_seconds=0)
    pieces = pruning.run(age_seconds=90 * DAY, actor=ACTOR)
    first = await anext(pieces)
    # It was away for too long.
    await site.sql.execute("UPDATE pruning_turn SET holder = gen_random_uuid()")
    with pytest.raises(LostTurn):
        await anext(pieces)
    assert await site.sql.fetchval("SELECT count(*) FROM workflow WHERE deleted_at IS NULL") == 450 - first.workflows


async def test_pruning_beside_those_who_work_loses_nothing(site: Site, databases: list[Database]) -> None:
    """Everything that has ended is forgotten at once here, in the moments in which others start, report and delete."""
    ends: dict[str, pb.State.ValueType] = {}
    unfinished: list[str] = []
    # The site has one connection of its own.
    makes = asyncio.Lock()

    async def work(number: int) -> None:
        for turn in range(6):
            async with makes:
                machine = await site.add_machine()
                flow = await site.create(steps(3), hardware=f'{{"device_1": "{machine}"}}')
            await flow.succeed(0, 1)
            match (number + turn) % 3:
                case 0:
                    await flow.succeed(2)
                    ends[flow.id] = SUCCEEDED
                case 1:
                    await flow.report(2, RUNNING)
                    await flow.report(2, FAILED)
                    ends[flow.id] = FAILED
                case _:
                    unfinished.append(flow.id)

    async def forget(database: Database) -> int:
        count = 0
        while not workers.done():
            count += (await total(Pruning(database, pause_seconds=0), age_seconds=0)).workflows
        return count

    workers = asyncio.gather(*(work(number) for number in range(4)))
    forgotten = sum(await asyncio.gather(*(forget(database) for database in databases)))
    await workers
    forgotten += (await total(Pruning(databases[0], pause_seconds=0), age_seconds=0)).workflows
    assert forgotten == len(ends)
    assert {str(row[0]) for row in await site.sql.fetch("SELECT id FROM workflow")} == set(unfinished)
    assert await site.sql.fetchval("SELECT count(*) FROM action") == 3 * len(unfinished)
    assert dict(await site.sql.fetch(_DELETED)) == dict.fromkeys(ends, 1)
    # Each has told its end before it was deleted, and nothing after it but its actions.
    names: dict[str, list[str]] = collections.defaultdict(list)
    for row in await site.sql.fetch(
        "SELECT coalesce(parent_id, resource_id)::text, name FROM events"
        " WHERE resource_type IN ('WORKFLOW', 'ACTION') ORDER BY revision"
    ):
        names[row[0]].append(row[1])
    for id_, state in ends.items():
        last = f"workflow.{pb.State.Name(state).removeprefix('STATE_').lower()}"
        assert names[id_][-5:] == [last, "workflow.deleted", *["action.deleted"] * 3]


async def test_a_role_that_was_not_given_it_is_told_what_to_do(database_url: str) -> None:
    owner = await asyncpg.connect(database_url)
    await role.create(database_url, role.SERVER)
    await schema.upgrade(database_url, server_role=role.SERVER)
    pool = engine.create(role.url_of(database_url, role.SERVER), pool_size=2)
    try:
        await add_old(owner, 2)
        # What a release before this one has granted.
        await owner.execute(f"REVOKE DELETE ON workflow, log_line FROM {role.quoted(role.SERVER)}")
        forgetting = upkeep(Database(pool))
        with pytest.raises(errors.IllegalTransition, match="let the owner of the schema run `tinkwell db upgrade"):
            await forgetting.run_once()
        assert (forgetting.status.failures, forgetting.status.last_result) == (1, "failed")
        await schema.upgrade(database_url, server_role=role.SERVER)
        assert await forgetting.run_once() == "done"
        assert await owner.fetchval("SELECT count(*) FROM workflow") == 0
    finally:
        await pool.dispose()
        await owner.execute(f"DROP OWNED BY {role.quoted(role.SERVER)}")
        await owner.close(timeout=5)


async def test_a_server_forgets_by_itself(database_url: str) -> None:
    sql = await asyncpg.connect(database_url)
    try:
        await add_old(sql, 2)

        async def is_forgotten() -> bool:
            return bool(await sql.fetchval("SELECT count(*) = 0 FROM workflow"))

        async with servers.running(database_url):
            await eventually(is_forgotten)
        assert await sql.fetchval("SELECT DISTINCT actor FROM events WHERE event_type = 'DELETED'") == ACTOR
        await add_old(sql, 2)
        for settings in ({"workflow_retention_seconds": 0}, {"retention_interval_seconds": 0}):
            async with servers.running(database_url, **settings):
                assert not await is_forgotten()
    finally:
        await sql.close(timeout=5)


async def test_an_owner_has_it_done_by_a_command(database_url: str) -> None:
    sql = await asyncpg.connect(database_url)
    try:
        await add_old(sql, 2)
        given = {"database_url": database_url, "throwaway_database": True}
        assert await main.maintain(Settings.model_validate({**given, "workflow_retention_seconds": 0})) == "done"
        assert await sql.fetchval("SELECT count(*) FROM workflow") == 2
        assert await main.maintain(Settings.model_validate(given)) == "done"
        assert await sql.fetchval("SELECT count(*) FROM workflow") == 0
    finally:
        await sql.close(timeout=5)
