"""Writers, PostgreSQL and readers together: the states of the model, the steps between them, and what must hold.

PostgreSQL is modelled as far as the log relies on it. A sequence hands out numbers at once and for good. Rows are
visible from the commit on, to statements that begin later; each statement of a reader is one step, but for the request
for the bell, which is two. That writers must ring is said at once, whoever rolls back, and forgotten in a crash. Locks
and notifications come a step after the rows: the locks are free, then those who listen are told, and their clients hear
of it some time later. A lost connection frees its lock at once, and the client hears of that later, too.

What must hold: a reader releases in order exactly what is committed; it passes nothing that may still be committed; and
it does not sleep while an event is committed that it has not released, unless something that will wake it is under way
(that it looks by itself after a while does not count). And from every state there is a way to the end at which all
transactions have ended, all that is committed is released, and every reader sleeps.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import TypeVar

from support.log_model import writer as writers
from support.log_model.explore import Broken, State
from support.log_model.machine import ENDED
from support.log_model.reader import ReaderModel
from support.log_model.state import (
    ASKING,
    HAS_BELL,
    NO_HOLDER,
    NO_LISTENER,
    NO_READER,
    Bounds,
    Fate,
    Log,
    Reader,
    Side,
    SideMove,
    World,
)
from support.log_model.writer import At, Number, Writer
from tinkwell.server.log.read.state_machine import Cycle, Step

# The first revision that is kept once its elders have been forgotten.
_KEPT = 2
# Each connection, the bit that says that it is lost, and what is lost with it; what comes to the listener is, too.
_CONNECTIONS = (
    ("reader", NO_READER, 0),
    ("listener", NO_LISTENER, 0),
    ("holder", NO_HOLDER, HAS_BELL | ASKING),
)


class LogModel(ReaderModel):
    """The model within bounds. What a mistake changes is a method of its own."""

    rule = writers.Rule()

    def __init__(self, bounds: Bounds, make: Callable[..., Cycle] = Cycle) -> None:
        super().__init__(bounds, make)
        self._rule = dataclasses.replace(self.rule, may_abort=bounds.aborts, may_be_long=bounds.long)
        self._logs: dict[object, Log] = {}
        # What is asked again and again is kept; each is a function of its arguments alone.
        self._side = functools.cache(self._make_side)
        self._side_moves = functools.cache(lambda side, is_wanted: list(self._move_side(side, is_wanted=is_wanted)))
        self._reader_moves = functools.cache(
            lambda reader, log, is_alone: list(self.move_reader(reader, log, is_alone=is_alone))
        )
        self._broken = functools.cache(self._check)

    def start(self) -> World:
        """Nothing has been written, but by the steps that the bounds begin with."""
        bounds = self.bounds
        writer = Writer(inserts_left=bounds.inserts, may_save=bounds.savepoints)
        fate = Fate(bounds.losses, bounds.crashes, may_forget=bounds.forgets)
        side = self._side((writer,) * bounds.writers, 0, fate)
        world = World(side, (Reader(self.machines.first),) * bounds.readers)
        for step in bounds.begun:
            world = dict(self._steps(world))[step]
        return world

    def is_finished(self, state: State) -> bool:
        """Whether all that is committed is released, and everybody is at rest."""
        assert isinstance(state, World)
        log = state.side.log
        return log.is_still and all(self._is_at_rest(reader, log) for reader in state.readers)

    def _is_at_rest(self, reader: Reader, log: Log) -> bool:
        if reader.number == ENDED:
            return True
        cycle = self.machines.cycles[reader.number]
        has_all = not log.visible or log.visible[-1] <= cycle.tail.released
        return cycle.step is Step.DOZE and has_all and not self.stirs(reader)

    def moves(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield the steps of everybody; raise `Broken` from one that breaks a promise."""
        assert isinstance(state, World)
        for label, target in self._steps(state):
            for reader in target.readers:
                if broken := self._broken(reader, target.side.log):
                    raise Broken(broken, label)
            yield label, target

    def _steps(self, state: World) -> Iterator[tuple[str, World]]:
        side, readers, is_wanted = state
        for label, moved, rings in self._side_moves(side, is_wanted):
            hearing = tuple(self._told(reader, rings) for reader in readers) if rings else readers
            yield label, World(moved, hearing, is_wanted)
        for index, reader in enumerate(readers):
            is_alone = not any(other.bits & HAS_BELL for place, other in enumerate(readers) if place != index)
            for move in self._reader_moves(reader, side.log, is_alone):
                label = move.label if len(readers) == 1 else f"{move.label} ({index})"
                if move.broken:
                    raise Broken(move.broken, label)
                will_want = is_wanted if move.is_wanted is None else move.is_wanted
                yield label, World(side, _put_reader(readers, index, move.reader), will_want)
            if side.fate.losses and reader.number != ENDED:
                yield from self._losses(state, index, reader)
        if side.fate.crashes:
            yield "PostgreSQL crashes", self.crash(state)

    def _move_side(self, side: Side, *, is_wanted: bool) -> Iterator[SideMove]:
        for index, writer in enumerate(side.writers):
            # Writers are alike until they begin: that they begin in this order stands for every other.
            if index and side.writers[index - 1].at is At.IDLE:
                break
            number = self.number(side.writers, index, side.drawn)
            for move in writers.moves(writer, self._rule, drawn=side.drawn, number=number, is_wanted=is_wanted):
                moved = self._side(_put(side.writers, index, move.writer), move.drawn, side.fate)
                yield SideMove(f"writer {index}: {move.label}", moved, move.rings)
        if side.fate.may_forget:
            yield from self._forget(side)

    def _forget(self, side: Side) -> Iterator[SideMove]:
        fate = side.fate
        if side.drawn < _KEPT - 1 or any(revision < _KEPT for revision in side.log.uncommitted):
            return
        if fate.oldest < _KEPT:
            label, fate = f"revisions below {_KEPT} are declared forgotten", fate._replace(oldest=_KEPT)
        elif not fate.has_forgotten:
            label, fate = "the forgotten rows go", fate._replace(has_forgotten=True)
        else:
            return
        yield SideMove(label, self._side(side.writers, side.drawn, fate))

    def _told(self, reader: Reader, rings: tuple[int, ...]) -> Reader:
        if reader.number == ENDED or reader.bits & NO_LISTENER or not self.listens(reader):
            return reader
        return reader._replace(coming=(*reader.coming, *rings))

    def _losses(self, state: World, index: int, reader: Reader) -> Iterator[tuple[str, World]]:
        side = state.side
        fate = side.fate._replace(losses=side.fate.losses - 1)
        for name, bit, also in _CONNECTIONS:
            if not reader.bits & bit:
                coming = () if bit == NO_LISTENER else reader.coming
                lost = reader._replace(bits=(reader.bits | bit) & ~also, coming=coming)
                label = f"reader: the connection of the {name} breaks ({index})"
                readers = _put_reader(state.readers, index, lost)
                yield label, World(self._side(side.writers, side.drawn, fate), readers, state.is_wanted)

    def crash(self, state: World) -> World:
        """Every transaction is gone but those that committed; a number that no durable row has is drawn again.

        Nobody sleeps, and nobody wants writers to ring.
        """
        left = tuple(
            writers.ABORTED if w.is_open else Writer(At.COMMITTED, 0, w.revisions) if w.at is At.VISIBLE else w
            for w in state.side.writers
        )
        return self.crashed(state, left)

    def crashed(self, state: World, left: tuple[Writer, ...]) -> World:
        """Return the state after a crash that leaves these writers."""
        drawn = max((revision for w in left for revision in w.revisions), default=0)
        readers = tuple(
            reader if reader.number == ENDED else Reader(self.machines.tell(reader.number, "connect").number)
            for reader in state.readers
        )
        fate = state.side.fate
        return World(self._side(left, drawn, fate._replace(crashes=fate.crashes - 1)), readers)

    def _make_side(self, everybody: tuple[Writer, ...], drawn: int, fate: Fate) -> Side:
        first = fate.oldest if fate.has_forgotten else 1
        committed = tuple(sorted(r for w in everybody if w.has_committed for r in w.revisions))
        seen = (
            committed,
            tuple(revision for revision in committed if revision >= first),
            self.holders(everybody),
            tuple(r for w in everybody if w.is_open for r in w.revisions),
            tuple(sorted(r for w in everybody if w.at is At.COMMITTED for r in w.revisions if r >= first)),
            drawn,
            fate.oldest,
            all(w.is_ended or w.at is At.IDLE for w in everybody),
        )
        return Side(everybody, drawn, fate, self._logs.setdefault(seen, Log(*seen)))

    def _check(self, reader: Reader, log: Log) -> str:
        if reader.number == ENDED:
            return ""
        cycle = self.machines.cycles[reader.number]
        if cycle.step in (Step.LAST, Step.OWNERS):
            return ""
        if passed := [revision for revision in log.uncommitted if revision <= cycle.tail.released]:
            return f"revision {passed[0]} was passed and can still be committed"
        missed = [revision for revision in log.ended if revision > cycle.tail.released]
        if missed and cycle.step is Step.DOZE and not self.stirs(reader):
            return f"revision {missed[0]} is committed, and the reader sleeps on"
        return ""

    # What follows is where mistakes are put in, beside those of readers.

    def number(self, everybody: tuple[Writer, ...], index: int, drawn: int) -> Number:
        """Return what the sequence hands out to the writer."""
        return Number(drawn + 1, drawn + 1)

    def holders(self, everybody: tuple[Writer, ...]) -> frozenset[str]:
        """Return who holds the lock that an insert takes."""
        return frozenset(f"writer {index}" for index, w in enumerate(everybody) if w.has_table)


_Value = TypeVar("_Value")


def _put(values: tuple[_Value, ...], index: int, value: _Value) -> tuple[_Value, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _put_reader(readers: tuple[Reader, ...], index: int, reader: Reader) -> tuple[Reader, ...]:
    """Replace a reader. Readers are alike, so one order of their states stands for every other."""
    return (reader,) if len(readers) == 1 else tuple(sorted(_put(readers, index, reader)))
