"""Follows the event log for events after which units may have something due."""

import asyncio
import logging
import random

from tinkwell.api.v1 import event_service_pb2
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.server.log.watching import Now, WatchService
from tinkwell.server.unit.service.agent import touched
from tinkwell.server.unit.service.agent.wake import Wakes

logger = logging.getLogger(__name__)

_LONGEST_PAUSE_SECONDS = 1.0
_RESOURCE_TYPES = {
    event_service_pb2.ResourceType.Value(f"RESOURCE_TYPE_{kind}"): kind for kind in touched.SELECTION.resource_types
}
_EVENT_TYPES = {event_service_pb2.EventType.Value(f"EVENT_TYPE_{kind}"): kind for kind in touched.SELECTION.event_types}


class LogFeed:
    """Follows the log, and passes its events to the wakes."""

    def __init__(self, watches: WatchService, wakes: Wakes) -> None:
        self._watches = watches
        self._wakes = wakes

    async def run(self) -> None:
        """Follow the log from the first agent on until cancelled. After each new start all units are named."""
        await self._wakes.until_wanted()
        while True:
            try:
                await self._follow()
            except errors.TinkwellError as error:
                logger.info("the log is not followed for a moment", extra={"cause": str(error)})
            except Exception:
                # All units are named when following starts again, so no event is lost.
                logger.exception("the log could not be followed")
            await asyncio.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))  # noqa: S311

    async def _follow(self) -> None:
        watch = await self._watches.open(touched.SELECTION, Now())
        try:
            self._wakes.name_all()
            await watch.deliver(self._write, greeting=b"")
        finally:
            watch.close()

    async def _write(self, response: bytes) -> None:
        for event in event_service_pb2.WatchResponse.FromString(response).events:
            self._hear(_RESOURCE_TYPES[event.resource_type], _EVENT_TYPES[event.event_type], event)

    def _hear(self, resource_type: ResourceType, event_type: EventType, event: event_service_pb2.Event) -> None:
        self._wakes.hear(
            resource_type,
            event_type,
            resource_id=event.resource_id,
            parent_id=event.parent_id,
            data=event.data,
        )
