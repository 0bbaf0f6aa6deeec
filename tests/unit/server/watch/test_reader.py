"""The reader over a scripted log: when it sleeps, what it does when a session is lost, and how a history ends."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from support.log_event import make_event
from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.event import Event
from tinkwell.core.log import History, Page, Replay, Selection, SourceLost
from tinkwell.server.watch.hub import Hub, Spread
from tinkwell.server.watch.load import Limits
from tinkwell.server.watch.reader import Pace, Reader

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
        self.sleeper: Bell | None = None
        self.bells: list[Bell] = []
        self.sessions = 0
        self.comparisons = 0
        self.tells = False
        # How many writers wait for others that ring, and how often that was asked.
        self.waiting = 0
        self.looks = 0
        self.after_hush: Callable[[], None] = lambda: None
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

    async def hush(self) -> bool:
        if self._log.is_away:
            raise SourceLost("away")
        if self._log.silent_writers:
            return False
        self._log.sleeper = self
        self._log.after_hush()
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
async def running(log: Log, hub: Hub, *, pace: Pace = FAST) -> AsyncIterator[Reader]:
    reader = Reader(log, hub, pace=pace)
    task = asyncio.create_task(reader.run())
    try:
        yield reader
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_it_begins_at_the_end_of_the_log() -> None:
    log, hub = Log(), make_hub()
    log.commit(1, 2, 3)
    async with running(log, hub):
        await eventually(lambda: hub.is_open)
        assert hub.released == 3


async def test_it_opens_only_when_whoever_might_own_a_smaller_revision_has_ended() -> None:
    log, hub = Log(), make_hub()
    log.commit(2)
    log.holders = frozenset({"writer of 1"})
    async with running(log, hub):
        for _ in range(50):
            await asyncio.sleep(0)
        assert not hub.is_open
        log.holders = frozenset({"a later one"})
        await eventually(lambda: hub.is_open)
        assert hub.released == 2


async def test_asleep_it_is_woken_by_a_ring_and_not_by_polling() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub) as reader:
        await eventually(lambda: log.sleeper is not None and reader.counts.sleeps > 0)
        log.commit(1)
        await eventually(lambda: hub.released == 1)
        assert reader.counts.rings == 1


async def test_what_a_ring_announces_is_read_before_the_bell_is_given_back() -> None:
    log, hub = Log(), make_hub()
    released: list[int] = []
    log.before_release = lambda: released.append(hub.released)
    async with running(log, hub, pace=dataclasses.replace(FAST, calm_seconds=60)):
        await eventually(lambda: log.sleeper is not None)
        log.commit(1)
        await eventually(lambda: bool(released))
        assert released[0] == 1


async def test_while_rings_are_rare_it_keeps_the_bell_and_reads_one_page_for_each() -> None:
    log, hub = Log(), make_hub()
    released: list[int] = []
    log.before_release = lambda: released.append(hub.released)
    async with running(log, hub, pace=dataclasses.replace(FAST, calm_seconds=0, check_seconds=60)) as reader:
        await eventually(lambda: reader.counts.sleeps == 1)
        polls = reader.counts.polls
        for revision in (1, 2, 3):
            log.commit(revision)
            await eventually(lambda: reader.counts.sleeps == 1 + hub.released == revision + 1)  # noqa: B023
        assert (reader.counts.polls - polls, reader.counts.rings, released) == (3, 3, [])


# Sleeps at every opportunity, and until it is told otherwise.
ASLEEP = dataclasses.replace(FAST, calm_seconds=0, check_seconds=60, linger_seconds=60)


async def test_an_event_that_a_ring_tells_of_is_released_without_a_look_at_the_log() -> None:
    log, hub = Log(), make_hub()
    log.tells = True
    async with running(log, hub, pace=ASLEEP) as reader:
        await eventually(lambda: reader.counts.sleeps == 1)
        polls = reader.counts.polls
        log.commit(1)
        await eventually(lambda: hub.released == 1)
        log.commit(2, 3)
        await eventually(lambda: hub.released == 3)
        assert (reader.counts.polls - polls, reader.counts.told, reader.counts.rings) == (0, 3, 0)


async def test_events_that_are_told_of_out_of_order_are_put_in_order() -> None:
    log, hub = Log(), make_hub()
    log.tells = True
    async with running(log, hub, pace=ASLEEP) as reader:
        await eventually(lambda: reader.counts.sleeps == 1)
        polls = reader.counts.polls
        log.commit(2, 4)
        await eventually(lambda: reader.counts.told == 2)
        assert hub.released == 0
        log.commit(1)
        await eventually(lambda: hub.released == 2)
        log.commit(3)
        await eventually(lambda: hub.released == 4)
        assert reader.counts.polls == polls


async def test_what_nobody_tells_of_is_waited_for_a_moment_and_then_looked_for() -> None:
    log, hub = Log(), make_hub()
    log.tells = True
    async with running(log, hub, pace=dataclasses.replace(ASLEEP, linger_seconds=0.01)) as reader:
        await eventually(lambda: reader.counts.sleeps == 1)
        # 1 was rolled back.
        log.commit(2)
        await eventually(lambda: hub.released == 2)
        assert reader.counts.gap_waits > 0


async def test_what_is_missing_is_not_waited_for_as_long_as_others_are_told_of() -> None:
    log, hub = Log(), make_hub()
    log.tells = True
    async with running(log, hub, pace=dataclasses.replace(ASLEEP, linger_seconds=0.02)) as reader:
        await eventually(lambda: reader.counts.sleeps == 1)
        revision = 1
        while hub.released < 2:
            revision += 1
            log.commit(revision)
            await asyncio.sleep(0.001)
            assert revision < 5_000, "it still waits for what was rolled back"


async def test_a_ring_that_tells_of_nothing_sends_it_to_the_log_whatever_was_told() -> None:
    log, hub = Log(), make_hub()
    log.tells = True
    async with running(log, hub, pace=ASLEEP) as reader:
        await eventually(lambda: reader.counts.sleeps == 1)
        log.commit(2)
        await eventually(lambda: reader.counts.told == 1)
        log.tells = False
        log.commit(1)
        await eventually(lambda: hub.released == 2)
        assert reader.counts.rings == 1


async def test_while_few_events_come_it_goes_to_sleep_between_them() -> None:
    log, hub = Log(), make_hub()
    log.tells = True
    pace = dataclasses.replace(ASLEEP, awake_seconds=60, limits=Limits(window_seconds=0.01))
    async with running(log, hub, pace=pace) as reader:
        revision = 0
        while reader.counts.told < 10:
            revision += 1
            log.commit(revision)
            await asyncio.sleep(0.002)
            assert revision < 5_000, "it does not sleep though there is little to do"
        assert hub.released == revision


@pytest.mark.parametrize(("waiting", "busy_rate"), [(0, 0.0), (1, 1e9)], ids=["many events", "writers that wait"])
async def test_under_load_it_wakes_and_lets_writers_be_silent(waiting: int, busy_rate: float) -> None:
    log, hub = Log(), make_hub()
    log.tells, log.waiting = True, waiting
    limits = Limits(busy_rate=busy_rate, busy_events=8, events_for_look=2, looks=2)
    async with running(log, hub, pace=dataclasses.replace(ASLEEP, limits=limits)) as reader:
        await eventually(lambda: reader.counts.sleeps == 1)
        awake: list[bool] = []
        log.before_release = lambda: awake.append(True)
        revision = 0
        while not awake:
            revision += 1
            log.commit(revision)
            await asyncio.sleep(0)
            assert revision < 5_000, "it sleeps on"
        await eventually(lambda: hub.released == revision)
        assert (log.looks > 0, reader.counts.timeouts) == (True, 0)


async def test_while_nobody_watches_it_reads_seldom() -> None:
    log, hub = Log(), make_hub()
    log.silent_writers = 1
    async with running(log, hub, pace=dataclasses.replace(FAST, unwatched_seconds=3_600)) as reader:
        await eventually(lambda: reader.counts.polls == 1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert reader.counts.polls == 1


async def test_what_would_only_wait_for_watchers_is_not_read_sooner() -> None:
    log, hub = Log(), make_hub(watcher_seconds=3_600)
    log.silent_writers = 1
    async with running(log, hub) as reader:
        await eventually(lambda: reader.counts.polls > 20)
        hub.catch_up(hub.subscribe(Selection(), position=1))
        log.commit(1)
        await eventually(lambda: hub.is_spreading)
        polls = reader.counts.polls
        log.commit(2)
        for _ in range(100):
            await asyncio.sleep(0)
        assert (reader.counts.polls, hub.released) == (polls, 1)


async def test_above_a_gap_it_reads_on_whatever_waits_for_watchers() -> None:
    log, hub = Log(), make_hub(watcher_seconds=3_600)
    log.silent_writers = 1
    async with running(log, hub) as reader:
        await eventually(lambda: hub.is_open)
        hub.catch_up(hub.subscribe(Selection(), position=1))
        log.holders = frozenset({"writer of 2"})
        log.commit(1, 3)
        await eventually(lambda: hub.is_spreading)
        polls = reader.counts.polls
        await eventually(lambda: reader.counts.polls > polls + 20)
        log.commit(2)
        await eventually(lambda: hub.released == 3)


async def test_where_events_are_spread_it_does_not_sleep_between_them() -> None:
    log, hub = Log(), make_hub(watcher_seconds=0.001)
    log.tells = True
    pace = dataclasses.replace(ASLEEP, awake_seconds=60, limits=Limits(window_seconds=0.01))
    async with running(log, hub, pace=pace) as reader:
        await eventually(lambda: hub.is_open)
        hub.catch_up(hub.subscribe(Selection(), position=1))
        sleeps = None
        for revision in range(1, 101):
            log.commit(revision)
            await eventually(lambda: hub.released == revision)  # noqa: B023
            if revision == 50:
                sleeps = reader.counts.sleeps
            await asyncio.sleep(0.001)
        assert reader.counts.sleeps == sleeps


async def test_what_a_silent_writer_committed_before_the_bell_was_had_is_found_by_the_last_poll() -> None:
    log, hub = Log(), make_hub()
    written: list[int] = []

    def commit_once() -> None:
        # The silent writer's rows are visible by the time the lock is granted, and it rang nobody.
        if not written:
            written.append(1)
            sleeper, log.sleeper = log.sleeper, None
            log.commit(1)
            log.sleeper = sleeper

    log.after_hush = commit_once
    async with running(log, hub) as reader:
        await eventually(lambda: hub.released == 1)
        assert reader.counts.rings == 0


async def test_it_does_not_sleep_while_a_writer_is_silent() -> None:
    log, hub = Log(), make_hub()
    log.silent_writers = 1
    async with running(log, hub) as reader:
        await eventually(lambda: reader.counts.polls > 50)
        assert reader.counts.sleeps == 0
        assert reader.counts.refusals > 0


async def test_awake_it_silences_what_rings_and_not_at_every_ring() -> None:
    log, hub = Log(), make_hub()
    silenced: list[bool] = []
    log.before_release = lambda: silenced.append(True)
    pace = dataclasses.replace(FAST, awake_seconds=3_600, silence_seconds=3_600)
    async with running(log, hub, pace=pace) as reader:
        await eventually(lambda: hub.is_open)
        bell = log.bells[0]
        bell.ring(None)
        await eventually(lambda: bool(silenced))
        polls = reader.counts.polls
        bell.ring(None)
        await eventually(lambda: reader.counts.polls > polls + 20)
        assert len(silenced) == 1


async def test_it_does_not_sleep_over_a_gap() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub) as reader:
        await eventually(lambda: reader.counts.sleeps > 0)
        log.holders = frozenset({"writer of 1"})
        log.commit(2)
        await eventually(lambda: reader.counts.gap_waits > 20)
        assert hub.released == 0
        wait = reader.counts.wait
        assert wait is not None
        assert (wait.revision, wait.holders, reader.counts.gap_seconds) == (1, 1, 0)
        sleeps = reader.counts.sleeps
        log.holders = frozenset()
        await eventually(lambda: hub.released == 2)
        assert reader.counts.sleeps >= sleeps
        assert reader.counts.wait is None
        assert reader.counts.gap_seconds > 0


async def test_it_names_whoever_holds_delivery_for_long_once(caplog: pytest.LogCaptureFixture) -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub, pace=dataclasses.replace(FAST, warn_after_seconds=0.02)) as reader:
        await eventually(lambda: hub.is_open)
        log.holders = frozenset({"3/7", "2/1"})
        log.commit(2)
        await eventually(lambda: bool(caplog.records))
        polls = reader.counts.polls
        await eventually(lambda: reader.counts.polls > polls + 20)
    (record,) = caplog.records
    assert (vars(record)["revision"], vars(record)["holders"]) == (1, ["2/1", "3/7"])


async def test_a_lost_ring_is_made_up_for_by_comparing_positions() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub) as reader:
        await eventually(lambda: log.sleeper is not None and reader.counts.sleeps > 0)
        log.sleeper = None
        log.commit(1)
        await eventually(lambda: hub.released == 1)
        assert (reader.counts.rings, reader.counts.checks) == (0, 1)


async def test_numbers_that_were_drawn_for_nothing_are_not_taken_for_lost_rings() -> None:
    log, hub = Log(), make_hub()
    log.commit(1)
    log.drawn = 10_000_000
    async with running(log, hub) as reader:
        for drawn in range(10_000_000, 10_000_005):
            log.drawn = drawn
            comparisons = log.comparisons
            await eventually(lambda: log.comparisons > comparisons + 1)  # noqa: B023
        assert reader.counts.sleeps > 5
        assert reader.counts.checks == 0


async def test_numbers_that_stay_without_events_are_looked_at_once() -> None:
    log, hub = Log(), make_hub()
    log.commit(1)
    log.drawn = 10
    async with running(log, hub) as reader:
        # Each time a sleeper compares positions it asks for the last one drawn.
        await eventually(lambda: log.comparisons > 5)
        assert reader.counts.sleeps == 2
        polls = reader.counts.polls
        log.drawn = 20
        await eventually(lambda: reader.counts.sleeps == 3)
        assert reader.counts.polls == polls + 1


async def test_a_sleep_ends_when_it_has_lasted_long_enough() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub, pace=dataclasses.replace(FAST, longest_sleep_seconds=0.02)) as reader:
        await eventually(lambda: reader.counts.timeouts > 1)
        assert (reader.counts.rings, reader.counts.checks) == (0, 0)
        assert reader.counts.sleeps > 1


async def test_a_lost_session_is_replaced_and_watchers_stay() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub):
        await eventually(lambda: hub.is_open)
        subscriber = hub.subscribe(Selection(), position=1)
        hub.catch_up(subscriber, max_count=10, max_bytes=100)
        log.is_away = True
        sessions = log.sessions
        await eventually(lambda: log.sessions > sessions + 2)
        log.commit(1, 2)
        log.is_away = False
        await eventually(lambda: hub.released == 2)
        taken = subscriber.take(max_bytes=1 << 20)
        assert [entry.event.revision for batch in taken for entry in batch.entries] == [1, 2]


async def test_over_a_hub_that_another_source_has_opened_it_reads_on_from_there() -> None:
    log, hub = Log(), make_hub()
    log.commit(1, 2, 3)
    hub.open(history_id="h1", last=2)
    subscriber = hub.subscribe(Selection(), position=3)
    hub.catch_up(subscriber)
    async with running(log, hub):
        await eventually(lambda: hub.released == 3)
    taken = subscriber.take(max_bytes=1 << 20)
    assert [entry.event.revision for batch in taken for entry in batch.entries] == [3]


async def test_over_a_hub_of_another_history_it_ends_all_watchers_and_opens_anew() -> None:
    log, hub = Log(), make_hub()
    log.commit(1, 2, 3)
    hub.open(history_id="h0", last=2)
    subscriber = hub.subscribe(Selection(), position=3)
    async with running(log, hub):
        await eventually(lambda: hub.history_id == "h1" and hub.is_open)
        assert hub.released == 3
    with pytest.raises(errors.OtherHistory):
        subscriber.take(max_bytes=1 << 20)


async def test_over_a_hub_that_is_ahead_of_the_log_it_ends_all_watchers_and_opens_anew() -> None:
    log, hub = Log(), make_hub()
    log.commit(1, 2, 3)
    hub.open(history_id="h1", last=5)
    async with running(log, hub):
        await eventually(lambda: hub.history_id == "h1'" and hub.is_open)
        assert hub.released == 3


async def test_another_history_ends_all_watchers_and_opens_anew() -> None:
    log, hub = Log(), make_hub()
    log.commit(1, 2, 3)
    async with running(log, hub):
        await eventually(lambda: hub.is_open)
        subscriber = hub.subscribe(Selection(), position=4)
        log.is_away = True
        sessions = log.sessions
        await eventually(lambda: log.sessions > sessions)
        log.history_id, log.events, log.is_away = "h2", [make_event(1)], False
        await eventually(lambda: hub.history_id == "h2" and hub.is_open)
        assert hub.released == 1
        with pytest.raises(errors.OtherHistory):
            subscriber.take(max_bytes=1 << 20)


async def test_a_log_that_became_shorter_while_it_slept_is_another_history() -> None:
    log, hub = Log(), make_hub()
    log.commit(1, 2, 3)
    async with running(log, hub) as reader:
        await eventually(lambda: log.sleeper is not None and reader.counts.sleeps > 0)
        subscriber = hub.subscribe(Selection(), position=4)
        log.events, log.drawn = [make_event(1)], 1
        await eventually(lambda: hub.history_id == "h1'" and hub.is_open)
        assert hub.released == 1
        with pytest.raises(errors.OtherHistory):
            subscriber.take(max_bytes=1 << 20)


async def test_events_forgotten_before_they_were_read_end_all_watchers() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub):
        await eventually(lambda: hub.is_open)
        subscriber = hub.subscribe(Selection(), position=1)
        # Revisions 1 to 4 are gone without a trace, as after dropping their partition.
        log.oldest = 5
        log.commit(6)
        await eventually(lambda: hub.released == 6)
        with pytest.raises(errors.Compacted) as caught:
            subscriber.take(max_bytes=1 << 20)
        assert caught.value.oldest_revision == 5
