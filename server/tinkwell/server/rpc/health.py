"""gRPC's health service, of which there is one for all of a server's services.

Nobody needs a token for it, so its watches have a bound, and what they keep in memory, too. gRPC's own one has none,
fails when it is asked for the list of all services, and holds a lock while it writes to a watcher.
"""

import asyncio
from typing import Any, TypeAlias

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tinkwell.core import errors
from tinkwell.server.rpc import interceptor
from tinkwell.server.rpc.quota import Quota

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

# A client has one for each of its connections; many of them may come through one proxy.
MAX_WATCHES = 10_000
MAX_WATCHES_EACH_HOST = 1_000
_MAX_NAME_CHARACTERS = 200

# What a watch has, after the server began to stop, to tell its client so.
_FAREWELL_SECONDS = 0.1


class Health(health_pb2_grpc.HealthServicer):
    """The status of each service by its name, and of the whole server by the empty one; nothing serves at first."""

    def __init__(self, *, max_watches: int = MAX_WATCHES, max_watches_each_host: int = MAX_WATCHES_EACH_HOST) -> None:
        self._statuses: dict[str, int] = {"": health_pb2.HealthCheckResponse.NOT_SERVING}
        # Set when a status changes, and then replaced.
        self._changed = asyncio.Event()
        self._is_closed = False
        self._limits: set[asyncio.Timeout] = set()
        self._quota = Quota("health watches", total=max_watches, each_host=max_watches_each_host)

    def set(self, name: str, status: int) -> None:
        """Change the status of a service; nothing once closed."""
        if not self._is_closed:
            self._statuses[name] = status
            self._wake()

    def close(self) -> None:
        """Tell everybody that nothing is served any more, whatever is set from now on, and end the watches soon."""
        for name in self._statuses:
            self.set(name, health_pb2.HealthCheckResponse.NOT_SERVING)
        self._is_closed = True
        self._wake()
        end = asyncio.get_running_loop().time() + _FAREWELL_SECONDS
        for limit in self._limits:
            limit.reschedule(end)

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        """Return the status of a service. Raises `errors.NotFound` and `errors.InvalidField`."""
        name = _name(request)
        if name not in self._statuses:
            raise errors.NotFound("service", name)
        return health_pb2.HealthCheckResponse(status=self._statuses[name])

    # The stubs for type checkers do not know its messages.
    async def List(self, request: object, context: Context) -> Any:
        """Return the status of every service."""
        statuses = {name: health_pb2.HealthCheckResponse(status=status) for name, status in self._statuses.items()}
        return health_pb2.HealthListResponse(statuses=statuses)  # type: ignore[attr-defined]

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Context) -> None:
        """Write the status, and again at each change, until `close`; the caller takes a `TimeoutError` for that.

        Raises `errors.Unavailable` once closed, `errors.InvalidField`, `errors.LimitReached`, and `errors.TooSlow` for
        a client that does not read.
        """
        name = _name(request)
        with self._quota.one(context.peer()):
            limit = asyncio.timeout(None)
            try:
                async with limit:
                    self._limits.add(limit)
                    await self._tell(name, context)
            finally:
                self._limits.discard(limit)

    async def _tell(self, name: str, context: Context) -> None:
        told: int | None = None
        while True:
            changed = self._changed
            status = self._statuses.get(name, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            if status != told:
                response = health_pb2.HealthCheckResponse(status=status)
                await interceptor.write(context, response, interceptor.WRITE_TIMEOUT_SECONDS)
                told = status
            elif self._is_closed:
                raise errors.Unavailable("the server is stopping; try again")
            else:
                await changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _name(request: health_pb2.HealthCheckRequest) -> str:
    """Return the name of the service, which a watch keeps as long as it lasts; raises `errors.InvalidField`."""
    if len(request.service) > _MAX_NAME_CHARACTERS:
        raise errors.InvalidField.of(
            "service", f"no service has a name of more than {_MAX_NAME_CHARACTERS} characters; ask for an existing one"
        )
    return request.service
