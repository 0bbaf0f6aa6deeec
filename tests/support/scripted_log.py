"""A reader over a log in memory, whose writers, sleepers and faults are scripted."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence

from support.log_event import make_event
from tinkwell.core.event.event import Event
from tinkwell.core.event.holder import Holder
from tinkwell.core.event.page import History, Page, Replay, SourceLost
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.pacing import Spread
from tinkwell.server.log.read.pace import Pace
from tinkwell.server.log.read.reader import Reader

FAST = Pace(
    poll_seconds=0,
    unwatched_seconds=0,
    awake_seconds=0,
    ask_again_seconds=0,
    silence_seconds=0,
    check_seconds=0.01,
    longest_sleep_seconds=60,
    first_backoff_seconds=0,
    longest_backoff_seconds=0,
)


class Log:
    """A log in memory with the doorbell's locks, and switches for everything that can go wrong."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.drawn = 0
        self.holders: frozenset[str] = frozenset()
        self.history_id = "h1"
        self.oldest = 1
        self.is_away = False
        self.silent_writers = 0
        # While it is cleared, the bell does not answer.
        self.bell_answers = asyncio.Event()
        self.bell_answers.set()
        self.sleeper: Bell | None = None
        self.bells: list[Bell] = []
        self.sessions = 0
        self.comparisons = 0
        self.tells = False
        # How many writers wait for others that ring, and how often that was asked.
        self.waiting = 0
        self.looks = 0
        self.after_request: Callable[[], None] = lambda: None
        self.before_release: Callable[[], None] = lambda: None

    def commit(self, *revisions: int) -> None:
        """Make rows visible as a writer does: silent if nobody sleeps, ringing otherwise."""
        self.events = sorted([*self.events, *map(make_event, revisions)], key=lambda event: event.revision)
        self.drawn = max(self.drawn, *revisions)
        if self.sleeper is not None:
            for revision in revisions:
                self.sleeper.ring(make_event(revision) if self.tells else None)

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator["Session"]:
        self.sessions += 1
        if self.is_away:
            raise SourceLost("away")
        yield Session(self)

    async def replay(
        self, *, history_id: str, first: int, last: int, selection: Selection, max_count: int, max_bytes: int
    ) -> Replay:
        raise AssertionError("the reader does not replay")

    async def first_revision_since(self, seconds: float) -> int:
        raise AssertionError("the reader does not ask")

    async def last_drawn(self) -> int:
        raise AssertionError("the reader asks its session")

    async def history(self) -> History:
        raise AssertionError("the reader asks its session")


class Bell:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._stirred = asyncio.Event()
        self._told: list[Event] = []
        self._must_read = False

    @property
    def is_rung(self) -> bool:
        return self._must_read or bool(self._told)

    def ring(self, event: Event | None) -> None:
        if event is None:
            self._must_read = True
        else:
            self._told.append(event)
        self._stirred.set()

    def clear(self) -> None:
        self._told.clear()
        self._must_read = False
        self._stirred.clear()

    async def request(self) -> bool:
        if self._log.is_away:
            raise SourceLost("away")
        await self._log.bell_answers.wait()
        if self._log.silent_writers:
            return False
        self._log.sleeper = self
        self._log.after_request()
        return True

    async def wait(self, timeout_seconds: float, hear: Callable[[Event], bool]) -> bool:
        try:
            async with asyncio.timeout(timeout_seconds):
                while not self._must_read:
                    while self._told and not self._must_read:
                        if not hear(self._told.pop(0)):
                            return False
                    self._stirred.clear()
                    await self._stirred.wait()
                return True
        except TimeoutError:
            return False

    async def release(self) -> None:
        await self._log.bell_answers.wait()
        self._log.before_release()
        self._log.sleeper = None
        self.clear()


class Session:
    def __init__(self, log: Log) -> None:
        self._log = log
        self.bell = Bell(log)
        log.bells.append(self.bell)

    async def history(self, *, seen: int, known: str) -> History:
        if known == self._log.history_id and seen > self._log.drawn:
            self._log.history_id += "'"
        return History(self._log.history_id, self._log.oldest)

    async def verify(
        self, *, known: str, delivered: Sequence[tuple[int, str]], dead: Sequence[tuple[int, int]]
    ) -> bool:
        there = {(event.revision, event.id) for event in self._log.events}
        revived = [one for one, _ in there if any(first <= one <= last for first, last in dead)]
        if revived or any(pair not in there and pair[0] >= self._log.oldest for pair in delivered):
            self._log.history_id += "'" if known == self._log.history_id else ""
            return False
        return True

    async def last_revision(self) -> int:
        return self._log.events[-1].revision if self._log.events else 0

    async def last_drawn(self) -> int:
        if self._log.is_away:
            raise SourceLost("away")
        self._log.comparisons += 1
        return self._log.drawn

    async def oldest_revision(self) -> int:
        return self._log.oldest

    async def page(self, *, gaps: Sequence[tuple[int, int]], tail: int | None) -> Page:
        await asyncio.sleep(0)
        if self._log.is_away:
            raise SourceLost("away")
        return Page(
            [
                event
                for event in self._log.events
                if any(first <= event.revision <= last for first, last in gaps)
                or (tail is not None and event.revision > tail)
            ],
            is_cut=False,
        )

    async def waiting(self) -> int:
        self._log.looks += 1
        return self._log.waiting

    async def who(self, transactions: frozenset[str]) -> list[Holder]:
        return [Holder(pid, role=name) for pid, name in enumerate(sorted(transactions), start=1)]

    async def holders(self) -> frozenset[str]:
        return self._log.holders


def make_hub(*, watcher_seconds: float = 0) -> Hub:
    loop = asyncio.get_running_loop()
    spread = Spread(
        call_soon=loop.call_soon,
        call_later=loop.call_later,
        clock=loop.time,
        few_watchers=1 if watcher_seconds else 10,
        watcher_seconds=watcher_seconds,
        latest_share=0,
        times=1,
        longest_seconds=3_600,
    )
    return Hub(
        encode=lambda event: b"", ring_bytes=1 << 20, subscriber_bytes=1 << 20, max_subscribers=10, spread=spread
    )


@contextlib.asynccontextmanager
async def running(
    log: Log, hub: Hub, *, pace: Pace = FAST, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[Reader]:
    reader = Reader(log, hub, pace=pace, clock=clock)
    task = asyncio.create_task(reader.run())
    try:
        yield reader
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
