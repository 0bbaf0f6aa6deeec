"""The states of the model, and the bounds within which it is explored."""

import dataclasses
from typing import NamedTuple

from support.log_model.writer import Writer

# What surrounds a reader's cycle, as bits.
HAS_BELL = 1  # the lock of who sleeps
RUNG = 4  # by something that does not tell of an event
LOST = 8  # the bell knows that a connection of its own is gone
HEARD = 16  # and was told so
NO_READER = 32
NO_LISTENER = 64
NO_HOLDER = 128
ASKING = 256  # has the lock and makes writers ring, but does not know yet who may have found that it need not


class Reader(NamedTuple):
    """A reader: its cycle's number, and what surrounds it. Notifications come in the order in which they were sent."""

    number: int
    bits: int = 0
    coming: tuple[int, ...] = ()  # notifications on their way
    told: tuple[int, ...] = ()  # events that were told of, and not taken yet


class Fate(NamedTuple):
    """What may still happen to connections, the server and old events."""

    losses: int = 0
    crashes: int = 0
    oldest: int = 1
    may_forget: bool = False
    has_forgotten: bool = False


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Log:
    """What readers can see of the writers. There is one object for each, so that it is told by its identity."""

    committed: tuple[int, ...]
    visible: tuple[int, ...]  # what of it has not been forgotten
    holders: frozenset[str]
    uncommitted: tuple[int, ...]
    ended: tuple[int, ...]  # visible revisions of transactions that have nothing left to do
    drawn: int
    oldest: int
    is_still: bool  # every transaction has ended


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Side:
    """The writers' side. There is one object for each, so that it is told by its identity."""

    writers: tuple[Writer, ...]
    drawn: int
    fate: Fate
    log: Log


class World(NamedTuple):
    """One state of the model."""

    side: Side
    readers: tuple[Reader, ...]
    is_wanted: bool = False  # writers must ring


class SideMove(NamedTuple):
    """One step of the writers' side; `rings` are the notifications that it delivers."""

    label: str
    side: Side
    rings: tuple[int, ...] = ()


class ReaderMove(NamedTuple):
    """One step of a reader, or of what surrounds it; `is_wanted` when it says whether writers must ring."""

    label: str
    reader: Reader
    broken: str = ""
    is_wanted: bool | None = None


@dataclasses.dataclass(frozen=True)
class Bounds:
    """How much is explored. `joins` makes readers begin by joining; otherwise they read on from revision 0.

    `delays` lets readers poll while the bell has not answered. Writers that ring tell of their events, or do so or not
    when some of those are `long`. `begun` are steps that have been taken before; every interleaving of the others is
    explored.
    """

    writers: int
    inserts: int = 1
    readers: int = 1
    savepoints: bool = False
    aborts: bool = True
    losses: int = 0
    crashes: int = 0
    forgets: bool = False
    long: bool = False
    joins: bool = False
    delays: bool = False
    page: int = 100
    waiting_bytes: int = 1 << 20
    begun: tuple[str, ...] = ()

    def __str__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if field.name in ("writers", "readers") or getattr(self, field.name) != field.default
        ]
        return " ".join(changed)
