"""List and watch as one stream, which goes on when history is gone.

The watch begins first, and must be live before the list is read: the watch delivers each change that the list does not
show yet, so no change is missed. A change may be in both; the reader compares versions. While the list is read nobody
reads the watch; the server holds its events back, so they need no memory here.

When the server no longer has the next events, or has another history, both begin again. Within one history no event
comes twice, even if the new watch is served by a server that lags behind the old one.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from tinkwell.client import backoff, errors
from tinkwell.client.watch import watch
from tinkwell.client.watch.event import Event

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """A complete new list. The events after it have revisions above `revision`; the list may contain some of them."""

    items: tuple[T, ...]
    revision: int


class Reflector(Generic[T]):
    """Yields a list, then events, and another list each time that history was lost, for ever."""

    def __init__(
        self,
        list_all: Callable[[], AsyncIterator[T]],
        open_watch: Callable[[], watch.Watch],
        *,
        pause: backoff.Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._list_all = list_all
        self._open_watch = open_watch
        self._pause = pause or backoff.Backoff()
        self._sleep = sleep
        self._floor = 0  # the last revision handed out in this history
        self._history_id = ""

    async def stream(self) -> AsyncGenerator[Listed[T] | Event, None]:
        """Yield lists and events; raises an `errors.Error` if neither another try nor a new list can help."""
        while True:
            events = self._open_watch()
            try:
                async with contextlib.aclosing(self._reflect(events)) as parts:
                    async for part in parts:
                        yield part
            except errors.HistoryGone as error:
                if isinstance(error, errors.OtherHistory):
                    self._history_id = ""
                logger.warning("history is gone, listing again: %s", error)
            finally:
                await events.aclose()
            await self._sleep(self._pause.next_seconds())

    async def _reflect(self, events: watch.Watch) -> AsyncGenerator[Listed[T] | Event, None]:
        await events.wait_live()
        if events.history_id != self._history_id:
            self._history_id, self._floor = events.history_id, 0
        yield await self._list()
        async for event in events:
            if event.revision > self._floor:
                self._floor = event.revision
                self._pause.reset()
                yield event

    async def _list(self) -> Listed[T]:
        level = logging.WARNING
        while True:
            try:
                return Listed(tuple([item async for item in self._list_all()]), self._floor)
            except errors.Error as error:
                if watch.is_final(error):
                    raise
                delay = self._pause.next_seconds()
                logger.log(level, "listing failed, next try in %.1f s: %s", delay, error)
                level = logging.DEBUG  # only the first failure is logged as a warning
                await self._sleep(delay)
