"""The steps of one reader: its cycle's, and those of its connections."""

import functools
from collections.abc import Callable, Iterator

from support.log_event import make_event
from support.log_model.machine import ENDED, Machines, Told
from support.log_model.state import (
    ASKING,
    HAS_BELL,
    HEARD,
    LOST,
    NO_HOLDER,
    NO_LISTENER,
    NO_READER,
    ON_ITS_WAY,
    RUNG,
    Bounds,
    Log,
    Reader,
    ReaderMove,
)
from tinkwell.core.event import Event
from tinkwell.core.log import History, Page
from tinkwell.server.watch.cycle import Cycle, Step

# How a pause may end: whether it has been quiet for long, and whether something is to be done about rings.
_PAUSES = (("rests", False, False), ("finds it quiet", True, False), ("has been rung while awake", False, True))


class ReaderModel:
    """Readers within bounds; mistakes are put in by overriding the methods at the end."""

    def __init__(self, bounds: Bounds, make: Callable[..., Cycle]) -> None:
        self.bounds = bounds
        self.machines = Machines(lambda: self._first(make))

    def _first(self, make: Callable[..., Cycle]) -> Cycle:
        cycle = make(waiting_bytes=self.bounds.waiting_bytes)
        if not self.bounds.joins:
            cycle.resume(history_id="h", released=0)
            cycle.connect()
            cycle.identify(History("h", 1))
        return cycle

    def stirs(self, reader: Reader) -> bool:
        """Whether something that will wake a sleeping reader has happened."""
        bits = reader.bits
        is_told = bits & ON_ITS_WAY and self.delivers(bits)
        return bool(bits & RUNG or is_told or self._will_hear(bits))

    def _will_hear(self, bits: int) -> bool:
        return bool(bits & (NO_LISTENER | NO_HOLDER)) and not bits & HEARD and self.notices(bits)

    def move_reader(self, reader: Reader, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        """Yield the reader's steps; it is alone when no other reader holds the lock of who sleeps."""
        if reader.number == ENDED:
            return
        number, bits = reader
        if bits & ON_ITS_WAY and self.delivers(bits):
            yield ReaderMove("reader: is rung", Reader(number, bits & ~ON_ITS_WAY | RUNG))
        if self._will_hear(bits):
            yield ReaderMove("reader: hears of the loss", Reader(number, bits | HEARD | LOST | RUNG))
        step = self.machines.cycles[number].step
        if step in (Step.PAUSE, Step.CLEAR, Step.OPEN, Step.DOZE):
            yield from self._wait(step, number, bits)
        elif step in (Step.HUSH, Step.RELEASE):
            yield from self._use_bell(step, number, bits, log, is_alone=is_alone)
        elif bits & NO_READER:
            yield self._reconnected(number)
        else:
            yield self._query(step, number, bits, log)

    def _wait(self, step: Step, number: int, bits: int) -> Iterator[ReaderMove]:
        tell = self.machines.tell
        match step:
            case Step.PAUSE:
                for label, is_quiet, is_rung in _PAUSES:
                    if bits & RUNG or not is_rung:
                        told = tell(number, "rested", is_quiet=is_quiet, is_rung=is_rung)
                        yield ReaderMove(f"reader: {label}", Reader(told.number, bits))
            case Step.CLEAR:
                yield ReaderMove("reader: forgets rings", Reader(tell(number, "cleared").number, self.clear(bits)))
            case Step.OPEN:
                yield ReaderMove("reader: opens", Reader(tell(number, "opened").number, bits))
            case _:
                label = "wakes" if bits & RUNG else "has slept for a while"
                for leaves in (False, True):
                    told = tell(number, "dozed", is_rung=bool(bits & RUNG), leaves=leaves)
                    yield ReaderMove(
                        f"reader: {label}, {'to leave' if leaves else 'to stay'}", Reader(told.number, bits)
                    )

    def _use_bell(self, step: Step, number: int, bits: int, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        if bits & (NO_HOLDER | LOST):
            yield self._reconnected(number)
        elif step is Step.RELEASE:
            released = Reader(self.machines.tell(number, "released").number, self.clear(bits & ~HAS_BELL))
            yield ReaderMove("reader: gives the bell back", released, is_wanted=self.silenced(is_alone=is_alone))
        else:
            yield from self.ask(number, bits, log, is_alone=is_alone)

    def _reconnected(self, number: int) -> ReaderMove:
        return ReaderMove(
            "finds a connection lost, connects anew", Reader(self.machines.tell(number, "connect").number)
        )

    def _query(self, step: Step, number: int, bits: int, log: Log) -> ReaderMove:
        tell, cycle = self.machines.tell, self.machines.cycles[number]
        last = log.visible[-1] if log.visible else 0
        match step:
            case Step.HISTORY:
                if log.drawn < cycle.seen:
                    return ReaderMove("reader: finds another history", Reader(ENDED))
                told, label = tell(number, "identify", History("h", log.oldest)), "finds the history"
            case Step.LAST:
                start = self.last(log)
                told, label = tell(number, "begin", start), f"reads the highest revision: {last}"
            case Step.OWNERS:
                told = tell(number, "observe_owners", log.holders)
                label = f"reads who may still commit: {sorted(log.holders)}"
            case Step.READ:
                told, label = self._read(number, log)
            case Step.KEPT:
                told, label = tell(number, "observe_oldest", log.oldest), f"reads the oldest revision: {log.oldest}"
            case Step.HOLDERS:
                told = tell(number, "observe_holders", log.holders)
                label = f"reads the holders: {sorted(log.holders)}"
            case _:
                told, label = tell(number, "compared", log.drawn), f"reads the highest drawn revision: {log.drawn}"
        if told.is_lost:
            return self._reconnected(number)
        broken = self._released_wrongly(number, told, log)
        return ReaderMove(f"reader: {label}", Reader(told.number, 0 if told.number == ENDED else bits), broken)

    def _read(self, number: int, log: Log) -> tuple[Told, str]:
        tail = self.machines.cycles[number].tail
        wanted = [
            revision
            for revision in log.visible
            if any(first <= revision <= last for first, last in tail.gaps)
            or (tail.may_advance and revision > tail.tail)
        ]
        page = tuple(wanted[: self.bounds.page])
        events = Page([_event(revision) for revision in page], is_cut=len(page) >= self.bounds.page)
        return self.machines.tell_page(number, page, events), f"reads a page: {list(page)}"

    def _released_wrongly(self, number: int, told: Told, log: Log) -> str:
        if told.number == ENDED:
            return ""
        before, after = self.machines.cycles[number].tail.released, self.machines.cycles[told.number].tail.released
        if self.machines.cycles[number].step in (Step.LAST, Step.OWNERS):
            return ""
        due = tuple(revision for revision in log.committed if before < revision <= after)
        return "" if told.released == due else f"{list(told.released)} was released where {list(due)} was due"

    def ask(self, number: int, bits: int, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        """Make writers ring, and then look for those that may have found that they need not."""
        is_granted = not log.holders
        told = self.machines.tell(number, "asked", is_granted=is_granted).number
        if not bits & ASKING:
            if not is_granted:
                yield ReaderMove("reader: is refused the bell", Reader(told, bits))
            yield ReaderMove("reader: asks for the bell", Reader(number, bits | HAS_BELL | ASKING), is_wanted=True)
        elif is_granted:
            yield ReaderMove("reader: gets the bell", Reader(told, bits & ~ASKING))
        else:
            left = Reader(told, bits & ~(HAS_BELL | ASKING))
            yield ReaderMove("reader: does not get the bell", left, is_wanted=self.silenced(is_alone=is_alone))

    def silenced(self, *, is_alone: bool) -> bool | None:
        """Return whether writers must ring once a reader has silenced them; None where another one sleeps."""
        return False if is_alone else None

    def last(self, log: Log) -> int:
        """Return the highest revision that is visible as a row."""
        return log.visible[-1] if log.visible else 0

    def clear(self, bits: int) -> int:
        """Forget rings; a lost connection stays a reason not to sleep."""
        return bits if bits & LOST else bits & ~RUNG

    def listens(self, reader: Reader) -> bool:
        """Whether the listener is listening."""
        return True

    def delivers(self, bits: int) -> bool:
        """Whether a notification reaches the client."""
        return True

    def notices(self, bits: int) -> bool:
        """Whether the client hears of a lost connection of the bell."""
        return True


@functools.cache
def _event(revision: int) -> Event:
    return make_event(revision)
