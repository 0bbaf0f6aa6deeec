"""What a reader has seen of the log, so that it notices when that is no longer so.

A crash may take events back that were delivered, where a writer turned `synchronous_commit` off once its event was
written; and a sequence that somebody set back hands out revisions that are known to be dead. In both cases positions
mean nothing any more. What a crash takes back is the end of the write-ahead log, so whatever it was, it is among what
was seen last; it need not be the highest revision.
"""

from collections import deque
from collections.abc import Sequence

from tinkwell.core.event.event import Event

_EVENTS = 1_000
_RANGES = 256


class Witness:
    """The events that were released last, and the dead revisions between them."""

    def __init__(self) -> None:
        # Revision and id of each, the latest last.
        self.delivered: deque[tuple[int, str]] = deque(maxlen=_EVENTS)
        # Inclusive ranges.
        self.dead: deque[tuple[int, int]] = deque(maxlen=_RANGES)

    def note(self, events: Sequence[Event], *, before: int, released: int) -> None:
        """Take what has been released: all above `before`, up to and including `released`, that is not dead."""
        self.delivered.extend((event.revision, event.id) for event in events[-_EVENTS:])
        if len(events) == released - before:
            return
        for event in events:
            if event.revision > before + 1:
                self.dead.append((before + 1, event.revision - 1))
            before = event.revision
        if released > before:
            self.dead.append((before + 1, released))
