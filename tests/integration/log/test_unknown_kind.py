"""A database that a later release has upgraded may hold kinds of events that this one does not know."""

import asyncio
import urllib.error
import urllib.request
import uuid

import asyncpg
import pytest

import tinkwell.client
from support.server import Server
from support.waiting import eventually

_UNKNOWN = """
    INSERT INTO events (resource_type, event_type, name, version, data, size)
    VALUES ('HARDWARE', 'HARDWARE_MOVED', 'hardware.moved', 1, '{}', 2)
"""


async def is_ready(server: Server) -> bool:
    def ask() -> bool:
        try:
            with urllib.request.urlopen(f"http://{server.http_address}/readyz", timeout=10) as response:
                return bool(response.status == 200)
        except urllib.error.HTTPError:
            return False

    return await asyncio.to_thread(ask)


async def is_unready(server: Server) -> bool:
    return not await is_ready(server)


async def test_an_event_of_an_unknown_kind_is_waited_at_and_never_passed(
    server: Server, client: tinkwell.client.Client, caplog: pytest.LogCaptureFixture
) -> None:
    database = await asyncpg.connect(server.database_url)
    try:
        async with asyncio.timeout(30), client.events.watch(now=True) as watch:
            await database.execute(_UNKNOWN)
            await database.execute("INSERT INTO hardware (id) VALUES ($1)", uuid.uuid4())
            await eventually(lambda: is_unready(server))
            causes = [str(vars(record).get("cause")) for record in caplog.records]
            assert any("HARDWARE_MOVED" in cause and "upgrade this server" in cause for cause in causes)
            # In place of the upgrade, which only another process could bring.
            await database.execute(
                "ALTER TABLE events DISABLE TRIGGER events_kept;"
                "DELETE FROM events WHERE event_type = 'HARDWARE_MOVED';"
                "ALTER TABLE events ENABLE ALWAYS TRIGGER events_kept"
            )
            assert (await anext(watch)).revision == 2
            await eventually(lambda: is_ready(server))
    finally:
        await database.close(timeout=5)
