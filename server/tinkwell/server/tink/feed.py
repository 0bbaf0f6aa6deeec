"""The event log as one event after another, by the watches that the rest of the server uses."""

import logging
from collections.abc import Awaitable, Callable

from tinkwell.api.v1 import event_service_pb2
from tinkwell.core import errors
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.watching import Start, WatchService

logger = logging.getLogger(__name__)


class Feed:
    """Follows the log."""

    def __init__(self, watches: WatchService) -> None:
        self._watches = watches

    async def follow(
        self,
        selection: Selection,
        start: Start,
        take: Callable[[event_service_pb2.Event], Awaitable[None]],
        *,
        begun: Callable[[], Awaitable[None]],
        reader: str,
    ) -> None:
        """Pass on every selected event until the watch ends; raise the reason, as `WatchService` and `Watch` do.

        After the call of `begun` no event is left out, so everything that is read from then on misses no event.
        `reader` names the watch in the server's log.
        """
        watch = await self._watches.open(selection, start)
        reason = "closed by its reader"
        logger.info("a watch begins", extra={"peer": reader, "revision": watch.position})

        async def write(response: bytes) -> None:
            for event in event_service_pb2.WatchResponse.FromString(response).events:
                await take(event)

        try:
            await begun()
            await watch.deliver(write, greeting=b"")
        except errors.TinkwellError as error:
            reason = str(error)
            raise
        finally:
            watch.close()
            logger.info("a watch ends", extra={"peer": reader, "reason": reason})
