"""A real server inside the test's own process, on ports that the system chooses."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support import role
from tinkwell.server.app import main
from tinkwell.server.settings import Settings

_START_SECONDS = 30


@dataclasses.dataclass(frozen=True)
class Server:
    """A server that accepts calls, by its addresses as host:port."""

    address: str
    http_address: str
    database_url: str
    tink_address: str = ""


@asynccontextmanager
async def running(database_url: str, **settings: object) -> AsyncIterator[Server]:
    """Serve the database until the block ends; settings are those of `Settings`, such as `tokens` or `ring_bytes`.

    The URL is that of the schema's owner; the server connects as the role that servers of this run have.
    """
    async with running_as(role.url_of_server(database_url), **settings) as server:
        yield dataclasses.replace(server, database_url=database_url)


@asynccontextmanager
async def running_as(database_url: str, **settings: object) -> AsyncIterator[Server]:
    """Serve the database as whom the URL names, such as the owner, who looks after the log."""
    chosen = {"host": "127.0.0.1", "port": 0, "http_port": 0, "throwaway_database": True, **settings}
    ready: asyncio.Future[main.Addresses] = asyncio.get_running_loop().create_future()
    serving: asyncio.Future[None] = asyncio.create_task(
        main.serve(Settings.model_validate({"database_url": database_url, **chosen}), ready=ready.set_result),
        name="server",
    )
    try:
        async with asyncio.timeout(_START_SECONDS):
            waited: list[asyncio.Future[Any]] = [ready, serving]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        addresses = ready.result()
        yield Server(addresses.grpc, addresses.http, database_url, addresses.tink)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        if not serving.cancelled() and (error := serving.exception()) is not None:
            raise error
