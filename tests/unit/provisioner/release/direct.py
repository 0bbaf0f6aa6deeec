"""The fake server without gRPC: a client whose calls go straight to the servicers, in the same loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, cast

from tinkwell.client import call, errors
from tinkwell.client.lease.client import WorkClient
from tinkwell.client.release.client import ReleaseClient
from tinkwell.client.testing import work
from tinkwell.client.testing.clock import Clock
from tinkwell.client.testing.log import EventLog
from tinkwell.client.testing.release.servicer import ReleaseServicer
from tinkwell.client.testing.world import World
from tinkwell.core import errors as core_errors


class DirectServer:
    """What the fake server keeps, and what stands around each call of each client."""

    def __init__(self) -> None:
        self.clock = Clock(source=asyncio.get_running_loop().time)
        self.log = EventLog(clock=self.clock)
        self.world = World(self.log)
        self.calls: list[tuple[str, Any]] = []
        self.is_away = False
        # Is told of each call before it is answered, with who calls; what it raises is the answer.
        self.on_call: Callable[[str, str, Any], Awaitable[None]] | None = None
        self._servicers = (ReleaseServicer(self.world), work.WorkServicer(self.world))

    def connect(self, actor: str = "operator") -> "DirectClient":
        return DirectClient(self, actor)

    def requests(self, method: str) -> list[Any]:
        return [request for name, request in self.calls if name == method]

    def handler(self, method: str) -> Callable[[Any, Any], Any]:
        found = next(servicer for servicer in self._servicers if method in vars(type(servicer)))
        return cast("Callable[[Any, Any], Any]", getattr(found, method))

    async def admit(self, actor: str, method: str, request: Any) -> None:
        await asyncio.sleep(0)
        if self.is_away:
            raise errors.Unavailable("the server is away")
        self.calls.append((method, request))
        if self.on_call is not None:
            await self.on_call(actor, method, request)


class DirectClient:
    """The parts of a client that carrying operations out needs."""

    def __init__(self, server: DirectServer, actor: str) -> None:
        caller = cast(call.Caller, _Caller(server, actor))
        self.releases = ReleaseClient(caller)
        self.work = WorkClient(caller)


class _Caller:
    def __init__(self, server: DirectServer, actor: str) -> None:
        self._server = server
        self._actor = actor
        self.channel = _Channel()
        self.address = "direct"
        self.timeout_seconds = 30.0

    async def unary(self, method: str, request: Any, *, may_repeat: bool) -> Any:
        await self._server.admit(self._actor, method, request)
        return await _translated(self._server.handler(method)(request, None))

    async def upload(self, method: str, requests: Callable[[], Iterator[Any]], *, may_repeat: bool) -> Any:
        await self._server.admit(self._actor, method, None)
        return await _translated(self._server.handler(method)(_each(requests()), None))

    def stream(self, method: str, request: Any, *, silence_seconds: float | None = None) -> "_Stream":
        return _Stream(self._server, self._actor, method, request)


class _Channel:
    """Makes of each method of a stub its name."""

    def unary_unary(self, path: str, *_: object, **__: object) -> str:
        return path.rpartition("/")[2]

    unary_stream = stream_unary = unary_unary


class _Stream:
    def __init__(self, server: DirectServer, actor: str, method: str, request: Any) -> None:
        self._server, self._actor, self._method, self._request = server, actor, method, request
        self._answers: Any = None
        self._is_cancelled = asyncio.Event()

    async def read(self) -> Any:
        if self._answers is None:
            await self._server.admit(self._actor, self._method, self._request)
            self._answers = self._server.handler(self._method)(self._request, None)
        reading = asyncio.ensure_future(_translated(anext(self._answers, None)))
        cancelled = asyncio.ensure_future(self._is_cancelled.wait())
        try:
            await asyncio.wait([reading, cancelled], return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return reading.result()
            raise errors.Closed
        finally:
            reading.cancel()
            cancelled.cancel()

    def cancel(self) -> None:
        self._is_cancelled.set()


async def _each(items: Iterator[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


async def _translated(answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except core_errors.InvalidField as error:
        raise errors.InvalidField.of_all(error.violations) from error
    except core_errors.TinkwellError as error:
        raise getattr(errors, type(error).__name__)(str(error)) from error
