"""The base class of the clients of services: makes calls and watches."""

from collections.abc import AsyncIterator, Callable, Iterable
from datetime import timedelta
from typing import TypedDict, TypeVar, Unpack

from grpc import aio

from tinkwell.api.v1 import event_service_pb2
from tinkwell.client import call
from tinkwell.client.watch import selection
from tinkwell.client.watch.watch import SILENCE_SECONDS, Callback, DisconnectHook, Hook, Responses, Watch
from tinkwell.core.event.kinds import EventType, ResourceType

Q = TypeVar("Q")
R = TypeVar("R")
M = TypeVar("M")

WatchMethod = aio.UnaryStreamMultiCallable[event_service_pb2.WatchRequest, event_service_pb2.WatchResponse]


class WatchOptions(TypedDict, total=False):
    """The options of `watch`, for functions that pass them on."""

    event_types: Iterable[EventType | str]
    names: Iterable[str]
    resource_types: Iterable[ResourceType | str]
    resource_id: str
    since: timedelta | float | None
    from_revision: int | None
    now: bool
    history_id: str
    on_created: Hook | None
    on_bookmark: Hook | None
    on_disconnect: DisconnectHook | None
    reconnect: bool
    connect_timeout_seconds: float | None


class Service:
    """A service of the server, whose events can be watched."""

    def __init__(self, caller: call.Caller, watch_method: WatchMethod) -> None:
        self._caller = caller
        self._watch_method = watch_method

    def watch(
        self,
        *,
        event_types: Iterable[EventType | str] = (),
        names: Iterable[str] = (),
        resource_types: Iterable[ResourceType | str] = (),
        resource_id: str = "",
        since: timedelta | float | None = None,
        from_revision: int | None = None,
        now: bool = False,
        history_id: str = "",
        on_created: Hook | None = None,
        on_bookmark: Hook | None = None,
        on_disconnect: DisconnectHook | None = None,
        reconnect: bool = True,
        connect_timeout_seconds: float | None = None,
    ) -> Watch:
        """Watch events, in order, each once, over lost connections.

            async with client.workflows.watch(event_types=["WORKFLOW_TIMEOUT"]) as events:
                async for event in events:
                    print(event.resource_id, event.data["cause"])

        An event must meet all conditions; an empty condition is met by all events. `event_types` and `resource_types`
        are enum members or their names, `names` exact event names such as `rack.door_opened`. `resource_id` matches the
        resource or its parent. The client of a resource watches that type of resource; on `events`, `resource_id` needs
        one in `resource_types`.

        The watch begins with the events of the last 5 minutes, or of the time `since` (seconds or a timedelta), or with
        the event `from_revision`, or with `now` at the first event after it is live. With `now`, an event that was
        committed a moment before may come, too. Give `history_id` with a stored `from_revision`: the watch then fails
        if the server has another history. `on_created` is called with the watch each time that a connection is live.
        `on_bookmark` is called with the watch each time that its `revision` moves on without an event. `on_disconnect`
        is called with the watch, the error and the seconds until the next try. Each may be async, and its errors reach
        the caller.

        A lost connection is made again, for ever, unless `reconnect` is false. `connect_timeout_seconds` limits the
        wait for the first connection; after it `errors.Unavailable` is raised.
        """
        wanted = selection.Selection(
            event_types=event_types,
            names=names,
            resource_types=resource_types,
            resource_id=resource_id,
            since=since,
            from_revision=from_revision,
            now=now,
            history_id=history_id,
        )
        return Watch(
            self._open_watch,
            wanted,
            on_created=on_created,
            on_bookmark=on_bookmark,
            on_disconnect=on_disconnect,
            reconnect=reconnect,
            connect_timeout_seconds=connect_timeout_seconds,
        )

    async def watch_events(self, callback: Callback, **options: Unpack[WatchOptions]) -> None:
        """Call `callback`, which may be async, with each event in order; has the options and the errors of `watch`.

        An error of the callback ends the watch and reaches the caller.
        """
        await self.watch(**options).run(callback)

    def _open_watch(self, request: event_service_pb2.WatchRequest) -> Responses:
        return self._caller.stream(self._watch_method, request, silence_seconds=SILENCE_SECONDS)

    async def _list(
        self, method: aio.UnaryStreamMultiCallable[Q, R], request: Q, read: Callable[[R], M]
    ) -> AsyncIterator[M]:
        stream = self._caller.stream(method, request, silence_seconds=self._caller.timeout_seconds)
        try:
            while (answer := await stream.read()) is not None:
                yield read(answer)
        finally:
            stream.cancel()
