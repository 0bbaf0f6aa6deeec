"""The reader over a scripted log: when it sleeps, what wakes it, and what rings tell it."""

import asyncio
import dataclasses

import pytest

from support.scripted_log import FAST, Log, make_hub, running
from support.waiting import eventually
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.read.wake_policy import Limits

# Sleeps at every opportunity, and until it is told otherwise.
ASLEEP = dataclasses.replace(FAST, calm_seconds=0, check_seconds=60, linger_seconds=60)


async def test_asleep_it_is_woken_by_a_ring_and_not_by_polling() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub, pace=ASLEEP) as reader:
        await eventually(lambda: log.sleeper is not None and reader.counts.sleeps > 0)
        log.commit(1)
        await eventually(lambda: hub.released == 1)
        assert reader.counts.rings == 1


async def test_what_a_ring_announces_is_read_before_the_bell_is_given_back() -> None:
    log, hub = Log(), make_hub()
    released: list[int] = []
    log.before_release = lambda: released.append(hub.released)
    async with running(log, hub, pace=dataclasses.replace(ASLEEP, calm_seconds=60)):
        await eventually(lambda: log.sleeper is not None)
        log.commit(1)
        await eventually(lambda: bool(released))
        assert released[0] == 1


@pytest.mark.parametrize("is_asleep", [False, True], ids=["asked for", "given back"])
async def test_a_bell_that_does_not_answer_delays_nothing(is_asleep: bool) -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub, pace=dataclasses.replace(FAST, longest_sleep_seconds=0, bell_seconds=0.001)) as reader:
        await eventually(lambda: (log.sleeper is not None) is is_asleep)
        log.bell_answers.clear()
        for revision in range(1, 6):
            log.commit(revision)
            await eventually(lambda: hub.released == revision, deadline_seconds=5)  # noqa: B023
        sleeps = reader.counts.sleeps
        log.bell_answers.set()
        await eventually(lambda: reader.counts.sleeps > sleeps + 1)
        assert log.sessions == 1


async def test_a_bell_that_does_not_answer_is_left_behind_with_its_session() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub, pace=dataclasses.replace(FAST, bell_seconds=0.001)):
        log.bell_answers.clear()
        log.commit(1)
        await eventually(lambda: hub.released == 1)
        log.is_away = True
        await eventually(lambda: log.sessions > 2)
        log.is_away = False
        log.bell_answers.set()
        log.commit(2)
        await eventually(lambda: hub.released == 2)


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
    limits = Limits(busy_rate=busy_rate, busy_events=8, events_for_check=2, looks=2)
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

    log.after_request = commit_once
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
        await eventually(lambda: reader.counts.sleeps > 5)
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
