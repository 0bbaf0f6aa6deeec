"""Remembers what a reader has seen of the log last, so that the reader notices if the log has changed behind its back.

A crash of PostgreSQL may lose delivered events, if a writer turned `synchronous_commit` off after its event was
written. A sequence that was set back draws revisions again that are known to be dead. In both cases the positions of
watchers are worthless. A crash loses the end of the write-ahead log, so a lost event is among those that were seen
last; it need not have the highest revision.
"""

from collections import deque
from collections.abc import Sequence

from tinkwell.core.event.event import Event

_EVENTS = 1_000
_RANGES = 256


class Witness:
    """The latest released events, and the dead revisions between them."""

    def __init__(self) -> None:
        # Revision and id of each event, the latest last.
        self.delivered: deque[tuple[int, str]] = deque(maxlen=_EVENTS)
        # Inclusive ranges.
        self.dead: deque[tuple[int, int]] = deque(maxlen=_RANGES)

    def note(self, events: Sequence[Event], *, before: int, released: int) -> None:
        """Take the released events: all above revision `before`, up to and including `released`, that are not dead."""
        self.delivered.extend((event.revision, event.id) for event in events[-_EVENTS:])
        if len(events) == released - before:
            return
        for event in events:
            if event.revision > before + 1:
                self.dead.append((before + 1, event.revision - 1))
            before = event.revision
        if released > before:
            self.dead.append((before + 1, released))
