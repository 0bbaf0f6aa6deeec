"""Tinkerbell's EventsService."""

import time
from collections.abc import Awaitable

from tinkwell.api.tink import events_pb2 as pb
from tinkwell.api.tink import events_pb2_grpc
from tinkwell.api.v1 import event_service_pb2
from tinkwell.core.event.selection import Selection
from tinkwell.core.value import parse
from tinkwell.server.database.offload import Aside
from tinkwell.server.log.watching import Since
from tinkwell.server.rpc import interceptor
from tinkwell.server.rpc.interceptor import Context
from tinkwell.server.tink import event_message as message
from tinkwell.server.tink.feed import Feed

_WRITERS = 2
# Data above this size is written in a thread, so that it does not delay other calls.
_LARGE_CHARACTERS = 16 * 1024
# Older than any log, and not so old that the database cannot compute the time.
_ALWAYS_SECONDS = 100 * 365 * 86_400.0


class EventsServicer(events_pb2_grpc.EventsServiceServicer):
    """Translates between protobuf and the log."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._aside = Aside(_WRITERS)

    def Watch(  # type: ignore[override]  # writes its responses by itself
        self, request: pb.WatchRequest, context: Context
    ) -> Awaitable[None]:
        return self._watch(request, context)

    async def _watch(self, request: pb.WatchRequest, context: Context) -> None:
        async def take(event: event_service_pb2.Event) -> None:
            # The hub limits how long a watcher may read nothing.
            await interceptor.write(context, await self._written(event), None)

        async def begun() -> None:
            await context.send_initial_metadata(())

        await self._feed.follow(_selection(request), _start(request), take, begun=begun, reader=context.peer())

    async def _written(self, event: event_service_pb2.Event) -> pb.Event:
        if len(event.data) > _LARGE_CHARACTERS:
            return await self._aside.run(message.event, event)
        return message.event(event)


def _selection(request: pb.WatchRequest) -> Selection:
    resource_types = message.known("resource_types", request.resource_types, message.RESOURCE_TYPES)
    event_types = message.known("event_types", request.event_types, message.EVENT_TYPES)
    return Selection(
        event_types=frozenset().union(*(message.EVENT_TYPES[number] for number in event_types or message.EVENT_TYPES)),
        resource_types=frozenset(message.RESOURCE_TYPES[number] for number in resource_types or message.RESOURCE_TYPES),
        resource_id=request.resource_id and parse.parse_uuid("resource_id", request.resource_id),
    )


def _start(request: pb.WatchRequest) -> Since:
    if not request.HasField("watch_events_from"):
        return Since(_ALWAYS_SECONDS)
    moment = request.watch_events_from
    seconds = time.time() - (moment.seconds + moment.nanos / 1e9)
    return Since(min(max(seconds, 0.0), _ALWAYS_SECONDS))
