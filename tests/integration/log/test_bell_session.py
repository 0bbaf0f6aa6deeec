"""Nobody waits for the bell's session: what it does not answer delays no event."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator

import asyncpg

from support import role
from support.scripted_log import make_hub
from support.session_hole import SessionHole
from support.waiting import eventually
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.read.pace import Pace
from tinkwell.server.log.read.reader import Reader
from tinkwell.server.log.store.doorbell import TIMEOUT_SECONDS
from tinkwell.server.log.store.log import PostgresLog

INSERT = "INSERT INTO hardware (id) VALUES ($1)"
# Long before the bell's session is given up.
SOON_SECONDS = TIMEOUT_SECONDS / 2
# It gives the bell back and asks for it again all the time.
RESTLESS = Pace(longest_sleep_seconds=0.05)


@contextlib.asynccontextmanager
async def reading(
    database_url: str, hub: Hub, *, bell_timeout_seconds: float = TIMEOUT_SECONDS
) -> AsyncIterator[Reader]:
    log = PostgresLog(database_url, table_readers=1, bell_timeout_seconds=bell_timeout_seconds)
    async with log.open():
        reader = Reader(log, hub, pace=RESTLESS)
        task = asyncio.create_task(reader.run())
        try:
            # Somebody watches, so the log is polled without long pauses.
            await asyncio.wait_for(hub.opened.wait(), 10)
            hub.subscribe(Selection(), position=1)
            yield reader
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_events_go_out_while_the_bells_session_does_not_answer(database_url: str) -> None:
    hub, writer = make_hub(), await asyncpg.connect(database_url)
    try:
        async with SessionHole(role.url_of_server(database_url)).running() as hole, reading(hole.url, hub) as reader:
            await eventually(lambda: reader.counts.sleeps > 1, deadline_seconds=10)
            hole.swallow("tinkwell bell")
            for revision in range(1, 21):
                await writer.execute(INSERT, uuid.uuid4())
                await eventually(lambda: hub.released >= revision, deadline_seconds=SOON_SECONDS)  # noqa: B023
            assert reader.counts.sessions == 1
    finally:
        await writer.close(timeout=5)


async def test_a_bells_session_that_never_answers_is_replaced_at_last(database_url: str) -> None:
    hub, writer = make_hub(), await asyncpg.connect(database_url)
    try:
        async with (
            SessionHole(role.url_of_server(database_url)).running() as hole,
            reading(hole.url, hub, bell_timeout_seconds=0.3) as reader,
        ):
            await eventually(lambda: reader.counts.sleeps > 1, deadline_seconds=10)
            hole.swallow("tinkwell bell")
            await eventually(lambda: reader.counts.sessions == 2 and reader.is_connected, deadline_seconds=20)
            await writer.execute(INSERT, uuid.uuid4())
            await eventually(lambda: hub.released == 1, deadline_seconds=SOON_SECONDS)
    finally:
        await writer.close(timeout=5)
