"""Health checks, whose watches end with the server: gRPC's own would hold it up for the whole time of grace."""

import asyncio
from typing import Any, TypeAlias

import grpc.aio
from grpc_health.v1 import health_pb2
from grpc_health.v1._async import HealthServicer

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

# What a watch has, after the server began to stop, to tell its client so.
_FAREWELL_SECONDS = 0.1


class Health(HealthServicer):
    """gRPC's health service."""

    def __init__(self) -> None:
        super().__init__()
        self._limits: set[asyncio.Timeout] = set()

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Context) -> None:
        """Write the status at each change, until `close`; the caller takes the `TimeoutError` for unavailability."""
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._limits.add(limit)
                await super().Watch(request, context)
        finally:
            self._limits.discard(limit)

    async def close(self) -> None:
        """Tell everybody that nothing is served any more, whatever is set from now on, and end the watches soon."""
        await self.enter_graceful_shutdown()
        end = asyncio.get_running_loop().time() + _FAREWELL_SECONDS
        for limit in self._limits:
            limit.reschedule(end)
