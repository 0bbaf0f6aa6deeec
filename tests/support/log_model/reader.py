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
    RUNG,
    Bounds,
    Log,
    Reader,
    ReaderMove,
)
from support.log_model.writer import PLAIN
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import History, Page
from tinkwell.server.log.read.state_machine import Cycle, Step

# How a pause may end: whether it has been quiet for long, and whether something is to be done about rings.
_PAUSES = (("rests", False, False), ("finds it quiet", True, False), ("has been rung while awake", False, True))
# The steps at which it matters what has been heard; that it was heard before says nothing new.
_LISTENING = (Step.PAUSE, Step.CLEAR, Step.DOZE, Step.LINGER)


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
        is_told = reader.told or (reader.coming and self.delivers(bits))
        return bool(bits & RUNG or is_told or self._will_hear(bits))

    def _will_hear(self, bits: int) -> bool:
        return bool(bits & (NO_LISTENER | NO_HOLDER)) and not bits & HEARD and self.notices(bits)

    def move_reader(self, reader: Reader, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        """Yield the reader's steps; it is alone when no other reader holds the lock of who sleeps."""
        if reader.number == ENDED:
            return
        number, bits = reader.number, reader.bits
        step = self.machines.cycles[number].step
        if reader.coming and self.delivers(bits) and step in _LISTENING:
            yield self._hear(reader)
        if self._will_hear(bits):
            yield ReaderMove("reader: hears of the loss", reader._replace(bits=bits | HEARD | LOST | RUNG))
        if step in (Step.DOZE, Step.LINGER) and reader.told and not bits & RUNG:
            yield self._take_told(reader, log)
        elif step in (Step.PAUSE, Step.CLEAR, Step.OPEN, Step.DOZE, Step.LINGER):
            yield from self._wait(step, reader)
        elif step in (Step.REQUEST, Step.RELEASE):
            yield from self._use_bell(step, reader, log, is_alone=is_alone)
        elif bits & NO_READER:
            yield self._reconnected(number)
        else:
            yield self._query(step, reader, log)

    def _hear(self, reader: Reader) -> ReaderMove:
        first, coming = reader.coming[0], reader.coming[1:]
        if first == PLAIN:
            return ReaderMove("reader: is rung", reader._replace(bits=reader.bits | RUNG, coming=coming))
        return ReaderMove(f"reader: is told of {first}", reader._replace(coming=coming, told=(*reader.told, first)))

    def _take_told(self, reader: Reader, log: Log) -> ReaderMove:
        first, *rest = reader.told
        told = self.machines.tell_event(reader.number, _event(first))
        broken = self._released_wrongly(reader.number, told, log)
        return ReaderMove(f"reader: takes {first}", reader._replace(number=told.number, told=tuple(rest)), broken)

    def _wait(self, step: Step, reader: Reader) -> Iterator[ReaderMove]:
        tell = self.machines.tell
        number, bits = reader.number, reader.bits
        match step:
            case Step.PAUSE:
                for label, is_quiet, is_rung in _PAUSES:
                    if bits & RUNG or reader.told or not is_rung:
                        told = tell(number, "rested", is_quiet=is_quiet, is_rung=is_rung)
                        yield ReaderMove(f"reader: {label}", reader._replace(number=told.number))
            case Step.CLEAR:
                cleared = self._cleared(reader, tell(number, "cleared").number, bits)
                yield ReaderMove("reader: forgets rings", cleared)
            case Step.OPEN:
                yield ReaderMove("reader: opens", reader._replace(number=tell(number, "opened").number))
            case Step.LINGER:
                yield ReaderMove("reader: waits no longer", reader._replace(number=tell(number, "lingered").number))
            case _:
                label = "wakes" if bits & RUNG else "has slept for a while"
                for leaves in (False, True):
                    told = tell(number, "dozed", is_rung=bool(bits & RUNG), leaves=leaves)
                    yield ReaderMove(
                        f"reader: {label}, {'to leave' if leaves else 'to stay'}", reader._replace(number=told.number)
                    )

    def _cleared(self, reader: Reader, number: int, bits: int) -> Reader:
        return Reader(number, self.clear(bits), reader.coming)

    def _use_bell(self, step: Step, reader: Reader, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        number, bits = reader.number, reader.bits
        if bits & (NO_HOLDER | LOST):
            yield self._reconnected(number)
            return
        if self.bounds.delays:
            delayed = self.machines.tell(number, "delayed").number
            yield ReaderMove("reader: polls while the bell does not answer", reader._replace(number=delayed))
        if step is Step.RELEASE:
            released = self._cleared(reader, self.machines.tell(number, "released").number, bits & ~HAS_BELL)
            yield ReaderMove("reader: gives the bell back", released, is_wanted=self.silenced(is_alone=is_alone))
        else:
            yield from self.ask(reader, log, is_alone=is_alone)

    def _reconnected(self, number: int) -> ReaderMove:
        return ReaderMove(
            "finds a connection lost, connects anew", Reader(self.machines.tell(number, "connect").number)
        )

    def _query(self, step: Step, reader: Reader, log: Log) -> ReaderMove:
        number = reader.number
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
        moved = Reader(ENDED) if told.number == ENDED else reader._replace(number=told.number)
        return ReaderMove(f"reader: {label}", moved, broken)

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

    def ask(self, reader: Reader, log: Log, *, is_alone: bool) -> Iterator[ReaderMove]:
        """Make writers ring, and then look for those that may have found that they need not."""
        number, bits = reader.number, reader.bits
        is_granted = not log.holders
        told = reader._replace(number=self.machines.tell(number, "asked", is_granted=is_granted).number)
        if not bits & ASKING:
            if not is_granted:
                yield ReaderMove("reader: is refused the bell", told)
            asking = reader._replace(bits=bits | HAS_BELL | ASKING)
            yield ReaderMove("reader: asks for the bell", asking, is_wanted=True)
        elif is_granted:
            yield ReaderMove("reader: gets the bell", told._replace(bits=bits & ~ASKING))
        else:
            left = told._replace(bits=bits & ~(HAS_BELL | ASKING))
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
