"""An informer's copy equals the server's state, whatever happens while it starts and runs."""

import asyncio
import contextlib
import random
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

import tinkwell.client
from support import server as servers
from support.waiting import eventually
from tinkwell.client import Client, Hardware, Informer, errors

CHANGES = 1_000


@contextlib.asynccontextmanager
async def running(informer: Informer[Hardware]) -> AsyncIterator[None]:
    task = asyncio.create_task(informer.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def listed(client: Client) -> dict[str, tuple[int, dict[str, object]]]:
    return {machine.id: (machine.version, machine.metadata) async for machine in client.hardware.all()}


def cached(informer: Informer[Hardware]) -> dict[str, tuple[int, dict[str, object]]]:
    return {machine.id: (machine.version, machine.metadata) for machine in informer.items()}


async def change_at_random(client: Client, ids: list[str], *, seed: int, changes: int) -> None:
    """Push and delete machines, several tasks at once on the same ones."""
    chance = random.Random(seed)
    for number in range(changes):
        machine = chance.choice(ids)
        with contextlib.suppress(errors.NotFound):
            if chance.random() < 0.3:
                await client.hardware.delete(machine)
            else:
                await client.hardware.push({"id": machine, "metadata": {"by": seed, "number": number}})


async def equals_the_server(client: Client, informer: Informer[Hardware]) -> bool:
    return cached(informer) == await listed(client)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_it_starts_in_the_middle_of_a_thousand_concurrent_changes(client: Client, seed: int) -> None:
    ids = [str(uuid.uuid4()) for _ in range(40)]
    informer = client.hardware.informer()
    async with asyncio.TaskGroup() as tasks, contextlib.AsyncExitStack() as stack:
        changes = [
            tasks.create_task(change_at_random(client, ids, seed=seed * 10 + writer, changes=CHANGES // 10))
            for writer in range(10)
        ]
        await eventually(lambda: _has_events(client, CHANGES // 3))
        await stack.enter_async_context(running(informer))
        await informer.wait_synced()
        assert not all(change.done() for change in changes), "the start was not in the middle of the changes"
        await asyncio.gather(*changes)
        await eventually(lambda: equals_the_server(client, informer))


async def _has_events(client: Client, count: int) -> bool:
    return (await client.events.publish("test.mark")).revision >= count


async def test_it_stays_right_through_a_restart_of_the_server(database_url: str) -> None:
    ids = [str(uuid.uuid4()) for _ in range(20)]
    async with contextlib.AsyncExitStack() as stack:
        async with servers.running(database_url) as first:
            client = await stack.enter_async_context(tinkwell.client.connect(first.address))
            await change_at_random(client, ids, seed=1, changes=100)
            informer = client.hardware.informer()
            await stack.enter_async_context(running(informer))
            await informer.wait_synced()
            assert await equals_the_server(client, informer)
        # What changes while no server runs is no less an event.
        connection = await asyncpg.connect(database_url)
        await connection.execute('UPDATE hardware SET metadata = \'{"by": "psql"}\' WHERE deleted_at IS NULL')
        await connection.close(timeout=5)
        port = int(first.address.rsplit(":", 1)[1])
        await stack.enter_async_context(servers.running(database_url, port=port))
        await client.wait_ready(30)
        await eventually(lambda: equals_the_server(client, informer), deadline_seconds=30)
        assert {machine.metadata["by"] for machine in informer.items()} == {"psql"}
        await change_at_random(client, ids, seed=2, changes=100)
        await eventually(lambda: equals_the_server(client, informer))


async def test_it_lists_again_where_history_was_forgotten(client: Client, database_url: str) -> None:
    ids = [str(uuid.uuid4()) for _ in range(10)]
    await change_at_random(client, ids, seed=1, changes=50)
    connection = await asyncpg.connect(database_url)
    informer = client.hardware.informer()
    async with running(informer):
        await informer.wait_synced()
        await connection.execute("UPDATE event_history SET history_id = gen_random_uuid()")
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'tinkwell reader' AND datname = current_database()"
        )
        await change_at_random(client, ids, seed=2, changes=50)
        await eventually(lambda: equals_the_server(client, informer), deadline_seconds=30)
    await connection.close(timeout=5)
