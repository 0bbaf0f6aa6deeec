"""What has yet to come, for one rule: which events must be followed by another, and until when.

An event opens an expectation for its resource, with a deadline in the database's time. Another closes all that are
open for its resource, if it was made no later than their deadline. What is still open when the deadline has passed, and
everything made before it has been seen, is overdue. Only the times of events count, never when they were received: so
the answer is the same for an event that comes late, and after a restart that reads the same events again.

    expect ──▶ open ──arrive──▶ gone
                 └───overdue──▶ being handled ──finish──▶ gone
"""

import heapq
from dataclasses import dataclass
from datetime import datetime, timedelta

from tinkwell.client.watch.event import Event

# So many may be open for a rule. Each holds its event; further ones are refused, and the caller logs that.
MAX_OPEN = 10_000


@dataclass(frozen=True, slots=True)
class _Open:
    event: Event
    deadline: datetime


class Expectations:
    """The expectations of one rule."""

    def __init__(self, within: timedelta, *, max_open: int = MAX_OPEN) -> None:
        self._within = within
        self._max_open = max_open
        self._open: dict[int, _Open] = {}
        self._of_resource: dict[str, dict[int, _Open]] = {}
        self._handled: set[int] = set()
        # Deadlines of all that was ever opened; those of closed ones are dropped when they come up.
        self._deadlines: list[tuple[datetime, int]] = []

    def __len__(self) -> int:
        return len(self._open)

    def expect(self, event: Event, *, at: datetime) -> bool:
        """Open an expectation with an event made `at` a time; False when too many are open."""
        if len(self._open) >= self._max_open:
            return False
        opened = _Open(event, at + self._within)
        self._open[event.revision] = opened
        self._of_resource.setdefault(event.resource_id, {})[event.revision] = opened
        heapq.heappush(self._deadlines, (opened.deadline, event.revision))
        return True

    def arrive(self, resource_id: str, *, at: datetime) -> None:
        """Close what is open for a resource and was to come until `at` or later."""
        for revision, opened in list(self._of_resource.get(resource_id, {}).items()):
            if at <= opened.deadline:
                self._close(revision)

    def next_deadline(self) -> datetime | None:
        """Return the first deadline of what is open."""
        while self._deadlines and self._deadlines[0][1] not in self._open:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def overdue(self, now: datetime) -> list[Event]:
        """Take what is open and was to come before `now`, first deadline first; each is to be finished."""
        taken: list[Event] = []
        while (deadline := self.next_deadline()) is not None and deadline < now:
            event = self._close(heapq.heappop(self._deadlines)[1]).event
            self._handled.add(event.revision)
            taken.append(event)
        return taken

    def finish(self, revision: int) -> None:
        """Forget an overdue one, about which everything has been done."""
        self._handled.remove(revision)

    @property
    def is_handling(self) -> bool:
        """Whether anything that was overdue is not finished."""
        return bool(self._handled)

    @property
    def oldest(self) -> int | None:
        """The smallest revision that is still needed to know what is expected: open, or being handled."""
        first_open = next(iter(self._open), None)
        return min((revision for revision in (first_open, *self._handled) if revision is not None), default=None)

    def _close(self, revision: int) -> _Open:
        closed = self._open.pop(revision)
        siblings = self._of_resource[closed.event.resource_id]
        del siblings[revision]
        if not siblings:
            del self._of_resource[closed.event.resource_id]
        return closed
