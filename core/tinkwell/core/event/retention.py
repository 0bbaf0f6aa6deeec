"""Which partitions of the event log to add, to close early and to delete: pure functions of the observed partitions.

    deleted   │ kept, every number drawn │ current │ ready: no number drawn yet
    ──────────┼────────┬────────┬────────┼─────────┼─────────┬─────────┬─────────
              │        │        │        │   ▲     │         │         │
          oldest kept                   last drawn

Only whole partitions are deleted, and a partition is complete when its last number is drawn. At a site with few writes
this would take years. So a current partition that has been open for a fraction of the maximal age is closed early: its
remaining numbers are drawn and not used. Readers see them as numbers that were rolled back.
"""

import dataclasses
import datetime
from collections.abc import Sequence

# Wide, because each attached partition adds a third of a microsecond to every poll of every reader. Not wider, because
# dropping a partition frees its files, a quarter of a second for a gigabyte, in which some disks flush no commit; and
# because closing a partition early draws its remaining numbers, at 0.2 µs and 3 bytes of write-ahead log each.
WIDTH = 1_000_000
# Without any, users' writes would fail, also those made with psql while no server runs.
READY = 20_000_000
# A partition is closed early after this fraction of the age and of the count. So at most one such fraction more than
# wanted is kept, in about as many partitions.
_PARTS = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """How long events are kept, and the least number of events to keep."""

    age: datetime.timedelta
    count: int
    width: int = WIDTH
    ready: int = READY

    @property
    def closing_age(self) -> datetime.timedelta:
        """How long a partition stays open."""
        return self.age / _PARTS

    @property
    def closing_count(self) -> int:
        """The number of events it must hold, whatever its age: closing it with fewer would delete nothing sooner."""
        return max(1, self.count // _PARTS)


@dataclasses.dataclass(frozen=True, slots=True)
class Partition:
    """The revisions from `first` up to but not including `end`, and when the events among them were drawn."""

    name: str
    first: int
    end: int
    oldest_at: datetime.datetime | None = None
    newest_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Shelf:
    """The observed partitions of the log in order, without those being discarded, by the database's clock.

    `kept_from` is the newest revision with at least `Policy.count` events from it on, `closing_from` the same for
    `Policy.closing_count`; 0 if there are fewer events.
    """

    partitions: Sequence[Partition]
    last_drawn: int
    oldest_revision: int
    kept_from: int
    closing_from: int
    now: datetime.datetime

    @property
    def end(self) -> int:
        """The first revision that belongs to no partition."""
        return self.partitions[-1].end if self.partitions else 0

    @property
    def revisions_ahead(self) -> int:
        """The number of revisions that can be drawn before writes fail."""
        return max(0, self.end - 1 - self.last_drawn)

    @property
    def partitions_ahead(self) -> int:
        """The number of partitions of which no revision was drawn."""
        return sum(partition.first > self.last_drawn for partition in self.partitions)

    @property
    def oldest_at(self) -> datetime.datetime | None:
        """When the oldest kept event was drawn."""
        return next((found.oldest_at for found in self.partitions if found.oldest_at is not None), None)


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What to do, in this order: ranges of partitions to add, the partition to close, those to delete."""

    add: Sequence[Partition]
    close: Partition | None
    forget: Sequence[Partition]


class StepFailed(Exception):
    """The database refused a step, or cannot be reached; the next run does the remaining steps."""


class StillUsed(StepFailed):
    """A session uses what is to be discarded, for longer than the step waits."""


def decide(shelf: Shelf, policy: Policy) -> Plan:
    """Return what to do about the observed log."""
    close = _overdue(shelf, policy)
    drawn = close.end - 1 if close is not None else shelf.last_drawn
    return Plan(_missing(shelf, policy, drawn), close, _forgettable(shelf, policy))


def _overdue(shelf: Shelf, policy: Policy) -> Partition | None:
    upcoming = shelf.last_drawn + 1
    current = next((found for found in shelf.partitions if found.first <= upcoming < found.end), None)
    if current is None or current.oldest_at is None or shelf.closing_from < max(1, current.first):
        return None
    return current if shelf.now - current.oldest_at > policy.closing_age else None


def _missing(shelf: Shelf, policy: Policy, drawn: int) -> Sequence[Partition]:
    # If the sequence was set far beyond all partitions, a hole is left instead of thousands of empty partitions.
    first = max(shelf.end, (drawn + 1) // policy.width * policy.width)
    added: list[Partition] = []
    while first - 1 - drawn < policy.ready:
        # The first revision makes the name unique for any width: other releases may have made wider partitions.
        added.append(Partition(f"events_{first:012}", first, first + policy.width))
        first += policy.width
    return added


def _forgettable(shelf: Shelf, policy: Policy) -> Sequence[Partition]:
    found: list[Partition] = []
    for partition in shelf.partitions:
        is_complete = partition.end <= shelf.last_drawn + 1
        if not is_complete or not _is_past(partition, shelf, policy):
            break
        found.append(partition)
    return found


def _is_past(partition: Partition, shelf: Shelf, policy: Policy) -> bool:
    if partition.newest_at is None:
        return True
    is_spare = policy.count == 0 or partition.end <= shelf.kept_from
    return is_spare and shelf.now - partition.newest_at > policy.age
