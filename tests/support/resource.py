"""Hardware and templates served over a database, without the rest of the server."""

import functools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import asyncpg

from support import edge, role
from support.rendering import SameProcess, same_process
from tinkwell.api.v1 import hardware_service_pb2_grpc, template_service_pb2_grpc
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.hardware.api.servicer import HardwareServicer
from tinkwell.server.hardware.service.operations import HardwareService
from tinkwell.server.rpc.watch.watch import Watches
from tinkwell.server.template.api.servicer import TemplateServicer
from tinkwell.server.template.service.operations import TemplateService

# Nothing here watches.
_WATCHES = cast("Watches", None)


@dataclass(frozen=True)
class Resources:
    """Stubs of both services, the edge that they are behind, and the database that is below."""

    hardware: "hardware_service_pb2_grpc.HardwareServiceStub"
    template: "template_service_pb2_grpc.TemplateServiceStub"
    edge: edge.Edge
    database: Database
    database_url: str
    children: SameProcess

    async def events(self) -> list[dict[str, Any]]:
        """Read the log, with the data of each event parsed."""
        rows = await self.fetch("SELECT * FROM events ORDER BY revision")
        return [dict(row) | {"data": json.loads(row["data"])} for row in rows]

    async def fetch(self, query: str, *values: object) -> list[asyncpg.Record]:
        """Run SQL as psql would."""
        connection = await asyncpg.connect(self.database_url)
        try:
            return list(await connection.fetch(query, *values))
        finally:
            await connection.close()


@asynccontextmanager
async def serving(
    database_url: str,
    *,
    pool_size: int = 10,
    long_read_wait_seconds: float = 10.0,
    max_streams: int = 32,
    **timeouts: float,
) -> AsyncIterator[Resources]:
    """Serve both services; the timeouts are the interceptor's."""
    pool = engine.create(role.url_of_server(database_url), pool_size=pool_size)
    database = Database(pool, long_read_wait_seconds=long_read_wait_seconds)
    children = SameProcess()
    add_hardware = functools.partial(
        hardware_service_pb2_grpc.add_HardwareServiceServicer_to_server,
        HardwareServicer(HardwareService(database, max_streams=max_streams), _WATCHES),
    )
    add_template = functools.partial(
        template_service_pb2_grpc.add_TemplateServiceServicer_to_server,
        TemplateServicer(TemplateService(database, same_process(children)), _WATCHES),
    )
    try:
        async with edge.serving(add_hardware, add_template, tokens=None, **timeouts) as running:
            yield Resources(
                hardware_service_pb2_grpc.HardwareServiceStub(running.channel),
                template_service_pb2_grpc.TemplateServiceStub(running.channel),
                running,
                database,
                database_url,
                children,
            )
    finally:
        await pool.dispose()
