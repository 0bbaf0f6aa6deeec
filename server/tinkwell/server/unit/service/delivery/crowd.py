"""Has calls that lock one row, such as those of a thousand units that enter one relation, wait for one another here.

In the database each would wait in a transaction, with a session of the pool that all requests share, and who wants
something else would wait for that. Who may write is decided by the row's lock alone: other servers have calls as well.
"""

import asyncio
import weakref

from tinkwell.core.unit.kinds import EventKind
from tinkwell.server.unit.store.agent.hold import FoundEvent


class Crowd:
    """Calls by what they lock, beside their own unit, at the end of an event."""

    def __init__(self) -> None:
        # A lock is there as long as somebody holds it or waits for it.
        self._locks: weakref.WeakValueDictionary[tuple[str, ...], asyncio.Lock] = weakref.WeakValueDictionary()

    def turn(self, event: FoundEvent) -> asyncio.Lock:
        """Return what is to be held while an event is ended; the same one for all who would wait for each other."""
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
