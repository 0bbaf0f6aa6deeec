"""Mistakes that were made, or nearly: each is the rule, a writer or PostgreSQL as somebody might have it instead."""

from collections.abc import Iterator

from support.log_model import tail_mistake
from support.log_model.state import ASKING, HAS_BELL, LOST, RUNG, Bounds, Log, Reader, ReaderMove, World
from support.log_model.world import LogModel
from support.log_model.writer import ABORTED, Number, Rule, Writer
from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import Page
from tinkwell.server.log.read.state_machine import Cycle, HistoryEnded, Step

# The order of a cycle's steps.


class OneStatement(Cycle):
    """Rows and holders in one statement: its snapshot is older than the holders."""

    def observe(self, page: Page) -> list[Event]:
        if not self.tail.gaps:
            return self._take(page)
        self._page = page
        self.step = Step.HOLDERS
        return []

    def observe_holders(self, holders: frozenset[str]) -> list[Event]:  # type: ignore[override] # it has them only now
        assert self._page is not None
        page, self._page = self._page, None
        self.tail.observe_holders(holders)
        released = self.tail.observe(page)
        self._is_cut = page.is_cut
        self._turn_page()
        return released


class StartsAtOnce(Cycle):
    """The log begins at the highest revision, whoever may still commit a smaller one."""

    def begin(self, last: int) -> None:
        self._start_at(max(self._start, last))
        self.step = Step.OPEN


class SleepsOverGaps(Cycle):
    """A gap is no reason to stay awake."""

    @property
    def is_busy(self) -> bool:
        return self._has_found

    def _turn_page(self) -> None:
        super()._turn_page()
        if self.step is Step.RELEASE and not self._leaves:
            self.step = Step.DOZE


class DozesOverTales(Cycle):
    """What others have not told of yet is waited for however long it takes."""

    def told(self, event: Event) -> list[Event]:
        released = super().told(event)
        self.step = Step.DOZE
        return released


class TrustsTellers(Cycle):
    """Who was told of something has heard of everything: what rang besides is forgotten."""

    def lingered(self) -> None:
        self.step = Step.DOZE


class PollsBeforeTheGrant(Cycle):
    """The poll before the bell was had is the last one."""

    def asked(self, *, is_granted: bool) -> None:
        super().asked(is_granted=is_granted)
        if is_granted:
            self.step = Step.DOZE


class TrustsPollsMeanwhile(Cycle):
    """A poll that was made while the bell did not answer is as good as one after the grant."""

    def asked(self, *, is_granted: bool) -> None:
        was_delayed = self._awaited is not None
        super().asked(is_granted=is_granted)
        if is_granted and was_delayed:
            self.step = Step.DOZE


class ClearsLate(Cycle):
    """Rings are forgotten after the last poll."""

    def rested(self, *, is_quiet: bool, is_rung: bool) -> None:
        super().rested(is_quiet=is_quiet, is_rung=is_rung)
        if self.step is Step.CLEAR:
            self.step = Step.REQUEST

    def cleared(self) -> None:
        self.step = Step.DOZE

    def dozed(self, *, is_rung: bool, leaves: bool) -> None:
        super().dozed(is_rung=is_rung, leaves=leaves)
        if self.step is Step.CLEAR:
            self._poll()

    def compared(self, drawn: int) -> None:
        super().compared(drawn)
        if self.step is Step.CLEAR:
            self._poll()

    def _turn_page(self) -> None:
        super()._turn_page()
        if self.step is Step.DOZE:
            self.step = Step.CLEAR


class GivesTheBellBackFirst(Cycle):
    """A poll that found nothing is followed by sleep, though the bell was given back before it."""

    def _turn_page(self) -> None:
        super()._turn_page()
        if self.step is Step.DOZE:
            self.step = Step.RELEASE

    def released(self) -> None:
        leaves = self._leaves
        super().released()
        if not leaves:
            self.step = Step.DOZE


class ChecksKeptFirst(Cycle):
    """From where on the log is kept is read before the page that it is to judge."""

    def observe(self, page: Page) -> list[Event]:
        return self._take(page)

    def observe_oldest(self, oldest: int) -> list[Event]:
        if oldest > self.tail.next:
            raise HistoryEnded(errors.Compacted(self.tail.next, oldest))
        self.step = Step.READ
        return []

    def _poll(self) -> None:
        super()._poll()
        if self.tail.is_settling:
            self.step = Step.KEPT


# What surrounds them.


class Snapshot(LogModel):
    """Snapshots in place of holders: whoever is in progress below the last completed transaction's successor.

    Transaction ids are given in the order in which transactions begin.
    """

    def holders(self, everybody: tuple[Writer, ...]) -> frozenset[str]:
        last = max((index for index, w in enumerate(everybody) if w.is_ended or w.has_committed), default=-1)
        return frozenset(f"writer {index}" for index, w in enumerate(everybody) if w.is_open and index <= last)


class OneConnection(LogModel):
    """The connection that holds the bell is the one that listens: notifications come between transactions only."""

    def delivers(self, bits: int) -> bool:
        return not bits & HAS_BELL


class DeafToLoss(LogModel):
    """Nobody says that a connection of the bell was lost."""

    def notices(self, bits: int) -> bool:
        return False


class ForgetsLoss(LogModel):
    """The loss of a connection is forgotten as a ring is."""

    def clear(self, bits: int) -> int:
        return bits & ~(RUNG | LOST)


class ListensLate(LogModel):
    """Listening begins after the last poll."""

    _LISTENS = 512

    def listens(self, reader: Reader) -> bool:
        return bool(reader.bits & self._LISTENS)

    def stirs(self, reader: Reader) -> bool:
        return not self.listens(reader) or super().stirs(reader)

    def move_reader(self, reader: Reader, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        if self.machines.cycles[reader.number].step is Step.DOZE and not self.listens(reader):
            yield ReaderMove("begins to listen", reader._replace(bits=reader.bits | self._LISTENS))
        else:
            yield from super().move_reader(reader, log, is_alone=is_alone)


class CachedNumbers(LogModel):
    """A sequence with CACHE 2: the third writer comes to use the number that the first one's session has left."""

    def number(self, everybody: tuple[Writer, ...], index: int, drawn: int) -> Number:
        first = everybody[0]
        if index == 0:
            return Number(drawn + 1, drawn + 2)
        if index == 2 and first.is_ended and first.revisions:
            return Number(first.revisions[0] + 1, drawn)
        return Number(drawn + 1, drawn + 1)


class StartsAtTheSequence(LogModel):
    """The log begins at the last drawn number, which a crash may have drawn again."""

    def last(self, log: Log) -> int:
        return log.drawn


class Undurable(LogModel):
    """Commits do not wait for the disk: the last one is gone after a crash."""

    def crashed(self, state: World, left: tuple[Writer, ...]) -> World:
        last = max(range(len(left)), key=lambda index: max(left[index].revisions, default=0))
        return super().crashed(state, tuple(ABORTED if index == last else w for index, w in enumerate(left)))


class DrawsBeforeTheLock(LogModel):
    """The number is drawn before the insert locks the table, as by a BEFORE trigger."""

    rule = Rule(draws_before_lock=True)


class RemembersRinging(LogModel):
    """Who has rung, or was told that it need not, does not ask again; a savepoint may have taken the lock back."""

    rule = Rule(remembers_ringing=True)


class LooksBeforeTheLock(LogModel):
    """A writer looks whether it must ring before the insert locks the table, as a statement before it would."""

    rule = Rule(looks_before_lock=True)


class TrustsSilentWriters(LogModel):
    """The bell is granted whoever is writing."""

    def ask(self, reader: Reader, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        told = self.machines.tell(reader.number, "asked", is_granted=True)
        granted = reader._replace(number=told.number, bits=reader.bits | HAS_BELL)
        yield ReaderMove("gets the bell", granted, is_wanted=True)


class LooksForWritersFirst(LogModel):
    """Writers are looked for, and only then they are made to ring."""

    def ask(self, reader: Reader, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        bits = reader.bits
        told = self.machines.tell(reader.number, "asked", is_granted=bool(bits & ASKING or not log.holders)).number
        if bits & ASKING:
            granted = reader._replace(number=told, bits=bits & ~ASKING | HAS_BELL)
            yield ReaderMove("gets the bell", granted, is_wanted=True)
        elif log.holders:
            yield ReaderMove("is refused the bell", reader._replace(number=told))
        else:
            yield ReaderMove("finds nobody writing", reader._replace(bits=bits | ASKING))


class SilencesSleepers(LogModel):
    """Who wakes lets writers be silent, though another reader may be asleep."""

    def silenced(self, *, is_alone: bool) -> bool | None:
        return False


# Mistake, model, cycle, and bounds that are wide enough to meet it.
ALL: dict[str, tuple[type[LogModel], type[Cycle], Bounds]] = {
    "plain revision > last": (LogModel, tail_mistake.with_tail(tail_mistake.Plain), Bounds(2)),
    "settling gaps by snapshots": (Snapshot, Cycle, Bounds(2)),
    "rows and holders in one statement": (LogModel, OneStatement, Bounds(2)),
    "one set of holders for all gaps": (
        LogModel,
        tail_mistake.with_tail(tail_mistake.OneForAll),
        Bounds(
            4,
            aborts=False,
            begun=(
                "writer 0: lock",
                "writer 0: draw",
                "writer 1: lock",
                "writer 1: draw",
                "writer 1: be silent",
                "writer 1: commit",
                "writer 1: unlock",
            ),
        ),
    ),
    "a gap given up without looking again": (LogModel, tail_mistake.with_tail(tail_mistake.NeverReads), Bounds(2)),
    "a cut page believed above its end": (
        LogModel,
        tail_mistake.with_tail(tail_mistake.TrustsCutPages),
        Bounds(2, inserts=2, aborts=False, page=1),
    ),
    "a page believed where it was not asked": (
        LogModel,
        tail_mistake.with_tail(tail_mistake.TrustsPagesBeyond),
        Bounds(
            4,
            aborts=False,
            begun=(
                "writer 0: lock",
                "writer 0: draw",
                "writer 1: lock",
                "writer 1: draw",
                "writer 1: be silent",
                "writer 1: commit",
                "writer 1: unlock",
                "writer 2: lock",
                "writer 2: draw",
                "writer 3: lock",
                "writer 3: draw",
                "writer 3: be silent",
                "writer 3: commit",
                "writer 3: unlock",
            ),
        ),
    ),
    "drawing before the lock": (DrawsBeforeTheLock, Cycle, Bounds(2)),
    "cached numbers": (CachedNumbers, Cycle, Bounds(3, aborts=False)),
    "starting without waiting for holders": (LogModel, StartsAtOnce, Bounds(2, joins=True)),
    "starting at the sequence's last number": (StartsAtTheSequence, Cycle, Bounds(2, joins=True, crashes=1)),
    "commits that a crash takes back": (Undurable, Cycle, Bounds(2, crashes=1)),
    "what is kept read before the page": (LogModel, ChecksKeptFirst, Bounds(2, forgets=True)),
    "sleeping with an open gap": (LogModel, SleepsOverGaps, Bounds(2)),
    "what is told of released whatever is missing": (
        LogModel,
        tail_mistake.with_tail(tail_mistake.BelievesTellers),
        Bounds(2),
    ),
    "what is not told of taken for missing": (
        LogModel,
        tail_mistake.with_tail(tail_mistake.TakesTalesForPages),
        Bounds(3, aborts=False),
    ),
    "what is told of taken for new": (LogModel, tail_mistake.with_tail(tail_mistake.RepeatsTales), Bounds(1)),
    "sleep until the missing is told of": (LogModel, DozesOverTales, Bounds(2)),
    "a wait for what is missing that ends in sleep": (LogModel, TrustsTellers, Bounds(2)),
    "the last poll before the grant": (LogModel, PollsBeforeTheGrant, Bounds(1)),
    "a poll before the bell's late answer": (LogModel, TrustsPollsMeanwhile, Bounds(1, delays=True)),
    "rings forgotten after the last poll": (LogModel, ClearsLate, Bounds(1)),
    "the bell given back before the sleep": (LogModel, GivesTheBellBackFirst, Bounds(1)),
    "one connection for both": (OneConnection, Cycle, Bounds(1)),
    "listening that begins after the last poll": (ListensLate, Cycle, Bounds(1)),
    "a loss that nobody notices": (DeafToLoss, Cycle, Bounds(1, losses=1)),
    "a loss forgotten like a ring": (ForgetsLoss, Cycle, Bounds(1, losses=1)),
    "ringing remembered across a savepoint": (RemembersRinging, Cycle, Bounds(1, inserts=2, savepoints=True)),
    "looking whether to ring before the lock": (LooksBeforeTheLock, Cycle, Bounds(1)),
    "sleep while somebody is writing silently": (TrustsSilentWriters, Cycle, Bounds(1)),
    "writers looked for before they must ring": (LooksForWritersFirst, Cycle, Bounds(1)),
    "silence while another reader sleeps": (SilencesSleepers, Cycle, Bounds(1, readers=2)),
}
