"""Makes calls that would lock the same row wait for each other in this process.

A thousand units may enter one relation at once. In the database each of them would wait in a transaction, with a
session of the pool that all requests share, and other requests would have to wait, too. The row's lock alone decides
who may write, because other servers have calls as well.
"""

import asyncio
import weakref

from tinkwell.core.unit.kinds import EventKind
from tinkwell.server.unit.store.agent.hold import FoundEvent


class Crowd:
    """The locks of this process, by the rows that the ends of events lock besides their own unit."""

    def __init__(self) -> None:
        # An entry exists as long as a call holds its lock or waits for it.
        self._locks: weakref.WeakValueDictionary[tuple[str, ...], asyncio.Lock] = weakref.WeakValueDictionary()

    def turn(self, event: FoundEvent) -> asyncio.Lock:
        """Return the lock to hold while an event is ended. Events that would wait for each other have the same lock."""
        key = _key(event)
        lock = self._locks.get(key)
        if lock is None:
            self._locks[key] = lock = asyncio.Lock()
        return lock


def _key(event: FoundEvent) -> tuple[str, ...]:
    match event.kind:
        case EventKind.RELATION_CREATED:
            return event.namespace, str(event.relation)
        case EventKind.INSTALL:
            return (event.unit.application_id,)
        case _:
            return (event.unit.unit_id,)
