"""Follows the machines that the server knows: reads a list, then the events after it."""

import asyncio
from contextlib import aclosing
from typing import NoReturn

from tinkwell.client.client import Client
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.watch.event import Event
from tinkwell.client.watch.reflector import Listed, Reflector
from tinkwell.core.event.kinds import EventType


class Presence:
    """Knows the ids of all machines while it runs."""

    def __init__(self, server: Client) -> None:
        self._source: Reflector[Hardware] = Reflector(
            server.hardware.all,
            lambda: server.hardware.watch(event_types=[EventType.CREATED, EventType.DELETED], now=True),
        )
        self._ids: frozenset[str] = frozenset()
        self._is_known = asyncio.Event()

    async def ids(self) -> frozenset[str]:
        """Return the ids of all machines as they are known now; waits for the first list."""
        await self._is_known.wait()
        return self._ids

    async def run(self) -> NoReturn:
        """Follow machines until cancelled; raises an `errors.Error` that cannot be mended."""
        async with aclosing(self._source.stream()) as parts:
            async for part in parts:
                self._take(part)
        raise AssertionError("machines are followed for ever")

    def _take(self, part: "Listed[Hardware] | Event") -> None:
        match part:
            case Listed(items=items):
                self._ids = frozenset(each.id for each in items)
                self._is_known.set()
            case Event(event_type=EventType.CREATED):
                self._ids |= {part.resource_id}
            case Event(event_type=EventType.DELETED):
                self._ids -= {part.resource_id}
