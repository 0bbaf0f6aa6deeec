"""A stream of events that outlives its connections.

There are three layers. `call.Stream` is one call, and ends with it. `Watch` goes on over any number of calls, and ends
when the server refuses it. `reflector` lists again when history is gone, and never ends.

The position of a watch:

    position   the last revision received, as an event or as a bookmark: the next call begins after it
    pending    events received and not yet returned; they are returned first, whatever happens to the call
    revision   the last revision returned, or the bookmark once nothing is pending: a caller may store it

Position and pending change together, without an await between them, so cancelling a waiting `anext` loses no event.
"""

import asyncio
import contextlib
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol, Self

from tinkwell.api.v1 import event_service_pb2
from tinkwell.client import backoff, errors
from tinkwell.client.watch import message, selection
from tinkwell.client.watch.event import Event

logger = logging.getLogger(__name__)

# Bookmarks come every few seconds, so a stream that is silent for this long is dead, even if the connection stands.
SILENCE_SECONDS = 60.0

# Errors after which another try cannot help: the server refuses the request itself, or a new list is needed. After any
# other error the watch tries again, for ever.
_FINAL = (
    errors.InvalidField,
    errors.NotFound,
    errors.IllegalTransition,
    errors.ChartUnknown,
    errors.SecretsDisabled,
    errors.Unauthenticated,
    errors.PermissionDenied,
    errors.HistoryGone,
    errors.Unimplemented,
    errors.Closed,
)

Callback = Callable[[Event], Awaitable[None] | None]
Hook = Callable[["Watch"], Awaitable[None] | None]
DisconnectHook = Callable[["Watch", errors.Error, float], Awaitable[None] | None]


class Responses(Protocol):
    """The responses of one call."""

    async def read(self) -> event_service_pb2.WatchResponse | None:
        """Wait for the next response; None is the end."""

    def cancel(self) -> None:
        """End the call."""


Connect = Callable[[event_service_pb2.WatchRequest], Responses]


class Watch:
    """Iterates over events in the order of revisions, each once, over any number of connections.

    A watch is an async iterator and an async context manager. It connects at the first `anext`, at `wait_live`, or on
    entering `async with`. The last two wait until the watch is live: it returns all events from then on. Iterating ends
    with an `errors.Error` if another try cannot help, such as `errors.Compacted`. To go on after a restart, store
    `revision` and `history_id` after handling an event, and begin with `from_revision=revision + 1` and that
    `history_id`. A process that dies between handling and storing gets the event again.
    """

    def __init__(
        self,
        connect: Connect,
        wanted: selection.Selection,
        *,
        on_created: Hook | None = None,
        on_bookmark: Hook | None = None,
        on_disconnect: DisconnectHook | None = None,
        reconnect: bool = True,
        connect_timeout_seconds: float | None = None,
        pause: backoff.Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._connect = connect
        self._wanted = wanted
        self._on_created = on_created
        self._on_bookmark = on_bookmark
        self._on_disconnect = on_disconnect
        self._reconnect = reconnect
        self._connect_timeout_seconds = connect_timeout_seconds
        self._pause = pause or backoff.Backoff()
        self._closed = asyncio.Event()
        self._sleep = sleep or self._sleep_unless_closed
        self._responses: Responses | None = None
        self._pending: deque[event_service_pb2.Event] = deque()
        self._position = None if wanted.from_revision is None else wanted.from_revision - 1
        self._began_at: float | None = None
        self._was_live = False
        self._failure: errors.Error | None = None
        # The reason that was logged for the present interruption.
        self._said = ""
        self.history_id = wanted.history_id
        self.revision = 0 if self._position is None else self._position
        self.is_live = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._pending:
            if self._closed.is_set():
                raise StopAsyncIteration
            await self._reach_bookmark()
            await self._receive()
        source = self._pending.popleft()
        try:
            # Events are parsed one by one, when the caller asks for the next.
            event = message.event(source)
        except errors.Error:
            await self.aclose()  # going on would skip the event that could not be read
            raise
        self.revision = event.revision
        return event

    async def __aenter__(self) -> Self:
        try:
            await self.wait_live()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def wait_live(self) -> None:
        """Connect, and wait until the server has fixed the start position; raises what iterating would raise."""
        while not self.is_live:
            if self._closed.is_set():
                raise errors.Closed("the watch is closed")
            await self._receive()

    async def run(self, callback: Callback) -> None:
        """Call `callback` with each event in order, until an error ends the watch or the callback raises."""
        try:
            async for event in self:
                await _notify(callback, event)
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """End the watch, from any task; events that were not returned yet are dropped."""
        self._closed.set()
        self._pending.clear()
        self._hang_up()

    async def _receive(self) -> None:
        response = await self._next_response()
        if response is None:
            return
        self._accept(response)
        if response.created:
            await _notify(self._on_created, self)

    async def _reach_bookmark(self) -> None:
        # The iterator has returned all events before the position, and the caller asks for the next: a plain loop has
        # handled them, too.
        if self._position is not None and self._position > self.revision:
            self.revision = self._position
            await _notify(self._on_bookmark, self)

    async def _next_response(self) -> event_service_pb2.WatchResponse | None:
        """Wait for a response over any number of calls; None if the watch is closed meanwhile."""
        limit = asyncio.timeout_at(self._connect_deadline())
        try:
            async with limit:
                while not self._closed.is_set():
                    try:
                        return await self._read()
                    except errors.Error as error:
                        await self._disconnected(error)
        except TimeoutError as error:
            if not limit.expired():
                raise  # an error of a hook
            await self.aclose()
            reason = self._failure or "no answer"
            raise errors.Unavailable(f"no watch within {self._connect_timeout_seconds} s: {reason}") from error
        return None

    async def _read(self) -> event_service_pb2.WatchResponse:
        if self._responses is None:
            self._responses = self._connect(self._request())
        try:
            response = await self._responses.read()
        except asyncio.CancelledError:
            self._hang_up()  # gRPC ends the call when the wait is cancelled; the next wait begins another call
            raise
        if response is None:
            raise errors.Unavailable("the server ended the stream")
        if self.history_id and response.history_id and response.history_id != self.history_id:
            raise errors.OtherHistory(f"the server keeps history {response.history_id}, not {self.history_id}")
        return response

    def _request(self) -> event_service_pb2.WatchRequest:
        now = asyncio.get_running_loop().time()
        if self._position is not None and self._was_live:
            return self._wanted.resume(self._position, self.history_id)
        elapsed = 0.0 if self._began_at is None else now - self._began_at
        self._began_at = now - elapsed
        return self._wanted.request(elapsed_seconds=elapsed)

    def _accept(self, response: event_service_pb2.WatchResponse) -> None:
        floor = -1 if self._position is None else self._position
        events = [event for event in response.events if event.revision > floor]
        self._pending.extend(events)
        self._position = max(floor, response.revision, events[-1].revision if events else 0)
        self.history_id = response.history_id or self.history_id
        if response.created:
            if self._was_live:
                logger.info("watch is live again after revision %d", self._position)
            self.is_live = self._was_live = True
            self._said = ""
        else:
            # A stream is healthy once it has sent a second response.
            self._pause.reset()

    async def _disconnected(self, error: errors.Error) -> None:
        self._hang_up()
        self._failure = error
        if self._closed.is_set():
            return
        if not self._reconnect or is_final(error):
            self._closed.set()
            raise error
        delay = self._pause.next_seconds()
        # An interruption is logged as a warning once, and again if its reason changes.
        level = logging.DEBUG if str(error) == self._said else logging.WARNING
        self._said = str(error)
        logger.log(level, "watch was interrupted, next try in %.1f s: %s", delay, error)
        await _notify(self._on_disconnect, self, error, delay)
        await self._sleep(delay)

    def _hang_up(self) -> None:
        self.is_live = False
        if self._responses is not None:
            self._responses.cancel()
            self._responses = None

    def _connect_deadline(self) -> float | None:
        if self._connect_timeout_seconds is None or self._was_live:
            return None
        began_at = self._began_at if self._began_at is not None else asyncio.get_running_loop().time()
        return began_at + self._connect_timeout_seconds

    async def _sleep_unless_closed(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closed.wait()


def is_final(error: errors.Error) -> bool:
    """Whether another try cannot help: the server refuses the request itself, or a new list is needed."""
    # A RESOURCE_EXHAUSTED without a reason comes from gRPC itself: a message is larger than the limit, and would be so
    # again.
    return isinstance(error, _FINAL) or type(error) is errors.ResourceExhausted


async def _notify(function: Callable[..., Awaitable[None] | None] | None, *arguments: object) -> None:
    """Call a hook, plain or async; None is no hook."""
    if function is not None:
        result = function(*arguments)
        if inspect.isawaitable(result):
            await result
