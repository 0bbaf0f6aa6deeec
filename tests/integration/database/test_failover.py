"""A server whose URL names a primary and its standby: real clusters, and a real promotion."""

import asyncio
import contextlib
import functools
import logging
import os
import signal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import tinkwell.client
from support import connecting, role, standby
from support import server as servers
from support.waiting import eventually
from tinkwell.client import Client, Hardware, Informer, Watch, errors
from tinkwell.core import errors as core_errors
from tinkwell.server.app.dev import place, postgres
from tinkwell.server.database import dial, engine, readiness, schema, session
from tinkwell.server.database.database import Database

BIN_DIR = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None


@contextlib.asynccontextmanager
async def pair(stack: contextlib.AsyncExitStack) -> AsyncIterator[tuple[postgres.Cluster, standby.Standby]]:
    """Run a primary with the schema and a standby of it. Whoever closes the stack stops the primary."""
    with place.temporary() as state_dir:
        primary = await stack.enter_async_context(
            postgres.embedded(state_dir, bin_dir=BIN_DIR, durable=False, roles=role.ALL)
        )
        await role.create_for_servers(primary.url)
        await schema.upgrade(primary.url, server_role=role.SERVER_ROLE)
        async with stack, standby.running(primary.url) as follower:
            yield primary, follower


@contextlib.asynccontextmanager
async def informing(client: Client) -> AsyncIterator[Informer[Hardware]]:
    """Run an informer of all machines."""
    informer = client.hardware.informer()
    task = asyncio.create_task(informer.run())
    try:
        await informer.wait_synced()
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def drain(watch: Watch) -> None:
    async for _ in watch:
        pass


async def is_written(client: Client, id_: str) -> bool:
    try:
        await client.hardware.push({"id": id_})
    except errors.Unavailable:
        return False
    return True


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
async def test_writes_and_watches_go_on_with_the_standby_that_was_promoted(how: signal.Signals) -> None:
    before, lost, after = (str(uuid.uuid4()) for _ in range(3))
    async with contextlib.AsyncExitStack() as end, contextlib.AsyncExitStack() as first:
        primary, follower = await end.enter_async_context(pair(first))
        server = await end.enter_async_context(servers.running(follower.urls))
        client = await end.enter_async_context(tinkwell.client.connect(server.address))
        informer = await end.enter_async_context(informing(client))
        watch = client.events.watch(from_revision=1)
        async with watch:
            await client.hardware.push({"id": before})
            first_event = await anext(watch)
            former = watch.history_id
            await follower.catch_up()

            os.kill(primary.process.pid, how)
            await first.aclose()
            assert not await is_written(client, lost)
            await follower.promote()
            await eventually(lambda: is_written(client, after), deadline_seconds=30)

            # Watchers are told that it is another log, and begin anew as they would after any gap.
            with pytest.raises(errors.OtherHistory):
                await asyncio.wait_for(drain(watch), 30)
        async with client.events.watch(from_revision=1) as again:
            seen = [await anext(again), await anext(again)]
            assert again.history_id != former
        assert [event.resource_id for event in seen] == [before, after]
        assert seen[0].id == first_event.id
        with pytest.raises(errors.OtherHistory):
            async with client.events.watch(from_revision=first_event.revision + 1, history_id=former) as refused:
                await anext(refused)
        await eventually(lambda: {before, after} <= {machine.id for machine in informer.items()}, deadline_seconds=30)


async def test_a_standby_that_has_just_got_the_schema_takes_over_as_well() -> None:
    """PostgreSQL leaves it a bell that cannot be read."""
    async with contextlib.AsyncExitStack() as end, contextlib.AsyncExitStack() as first:
        with place.temporary() as state_dir:
            primary = await first.enter_async_context(
                postgres.embedded(state_dir, bin_dir=BIN_DIR, durable=False, roles=role.ALL)
            )
            follower = await end.enter_async_context(standby.running(primary.url))
            await role.create_for_servers(primary.url)
            await schema.upgrade(primary.url, server_role=role.SERVER_ROLE)
            await follower.catch_up()
            await first.aclose()
            await follower.promote()
            pool = engine.create(follower.url, pool_size=1)
            # Where PostgreSQL has written its files out by now, the bell can be read, and nothing is to be mended.
            with contextlib.suppress(core_errors.Unavailable):
                await Database(pool).fetch("INSERT INTO hardware (id) VALUES (gen_random_uuid())")
            await pool.dispose()
            for _ in range(2):
                async with (
                    servers.running(follower.urls) as server,
                    tinkwell.client.connect(server.address) as client,
                    client.events.watch(now=True) as watch,
                ):
                    await watch.wait_live()
                    await client.hardware.push({"id": str(uuid.uuid4())})
                    await asyncio.wait_for(anext(watch), 30)


def _fill_with_zeros(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


async def test_a_bell_that_cannot_be_read_makes_writes_unavailable_until_a_server_has_made_it_anew() -> None:
    with place.temporary() as state_dir:
        running = functools.partial(postgres.embedded, state_dir, bin_dir=BIN_DIR, durable=False, roles=role.ALL)
        async with running() as cluster:
            await role.create_for_servers(cluster.url)
            await schema.upgrade(cluster.url, server_role=role.SERVER_ROLE)
            connection = await session.connect(cluster.url, session.TASK)
            file = await connection.fetchval(
                "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('bell_wanted')"
            )
            await connection.close()
        # As a standby has it that is promoted before its files were written out.
        await asyncio.to_thread(_fill_with_zeros, Path(file))
        async with running() as cluster:
            pool = engine.create(cluster.url, pool_size=1)
            with pytest.raises(core_errors.Unavailable, match="the database is not usable yet"):
                await Database(pool).fetch("INSERT INTO hardware (id) VALUES (gen_random_uuid())")
            await pool.dispose()
            async with servers.running(cluster.url) as server, tinkwell.client.connect(server.address) as client:
                await client.hardware.push({"id": str(uuid.uuid4())})


async def test_every_connection_leads_to_the_primary_wherever_it_stands_in_the_url() -> None:
    async with contextlib.AsyncExitStack() as end, contextlib.AsyncExitStack() as first:
        primary, follower = await end.enter_async_context(pair(first))
        await follower.catch_up()
        hosts = [url.partition("host=")[2] for url in (follower.url, primary.url)]
        backwards = f"postgresql://tinkwell@/postgres?host={hosts[0]}&host={hosts[1]}&target_session_attrs=any"
        await connecting.in_every_way(backwards)
        assert await schema.upgrade(backwards) == await schema.current(primary.url)


async def test_a_server_whose_only_host_is_a_standby_waits_for_its_promotion_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with contextlib.AsyncExitStack() as end, contextlib.AsyncExitStack() as first:
        _, follower = await end.enter_async_context(pair(first))
        await follower.catch_up()
        with pytest.raises(dial.CannotConnect, match=r"^the socket .* is a standby, and a server needs the primary$"):
            await schema.current(follower.url)
        await first.aclose()
        with pytest.raises(dial.CannotConnect) as raised:
            await schema.current(follower.urls)
        said = engine.reason(raised.value)
        assert said.startswith("no host is the primary: no PostgreSQL listens at the socket ")
        assert said.endswith(" is a standby, and a server needs the primary")
        assert not engine.is_refusal(raised.value)
        with caplog.at_level(logging.WARNING):
            waiting = asyncio.create_task(readiness.wait(follower.url, allow_unsafe=True))

            def is_told() -> bool:
                return any("is a standby" in str(getattr(record, "cause", "")) for record in caplog.records)

            await eventually(is_told)
            assert not waiting.done()
            await follower.promote()
            await waiting
        await connecting.in_every_way(follower.url)
