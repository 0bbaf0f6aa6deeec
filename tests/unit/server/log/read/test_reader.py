"""The reader over a scripted log: how it begins and reads, what it does when a session is lost, how a history ends."""

import asyncio
import dataclasses

import pytest

from support.log_event import make_event
from support.scripted_log import FAST, Log, make_hub, running
from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.event.selection import Selection


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


async def test_while_nobody_watches_it_reads_seldom_and_at_once_for_the_first_who_does() -> None:
    log, hub = Log(), make_hub()
    log.silent_writers = 1
    async with running(log, hub, pace=dataclasses.replace(FAST, unwatched_seconds=3_600)) as reader:
        await eventually(lambda: reader.counts.polls == 1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert reader.counts.polls == 1
        log.commit(1)
        watcher = hub.subscribe(Selection(), position=1)
        await eventually(lambda: hub.released == 1)
        watcher.close()
        assert not hub.watched.is_set()
        polls = reader.counts.polls
        for _ in range(100):
            await asyncio.sleep(0)
        assert reader.counts.polls <= polls + 1


@pytest.mark.parametrize("eager_seconds", [0, 3_600])
async def test_what_would_only_wait_for_watchers_is_not_read_sooner(eager_seconds: float) -> None:
    log, hub = Log(), make_hub(watcher_seconds=3_600)
    log.silent_writers = 1
    pace = dataclasses.replace(FAST, eager_seconds=eager_seconds, eager_others_seconds=3_600)
    async with running(log, hub, pace=pace) as reader:
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


async def test_it_names_whoever_keeps_the_log_closed_for_long(caplog: pytest.LogCaptureFixture) -> None:
    log, hub = Log(), make_hub()
    log.holders = frozenset({"ann"})
    async with running(log, hub, pace=dataclasses.replace(FAST, warn_after_seconds=0.02)) as reader:
        await eventually(lambda: bool(reader.counts.closed_by))
        assert 'pid 1 (role "ann"' in reader.counts.closed_by
        log.holders = frozenset()
        await eventually(lambda: hub.is_open)
        assert not reader.counts.closed_by
    (record,) = caplog.records
    assert (record.getMessage(), vars(record)["holders"][0][:16]) == (
        "open transactions keep the event log closed",
        'pid 1 (role "ann',
    )


async def test_it_names_nobody_while_nobody_may_commit_what_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub, pace=dataclasses.replace(FAST, warn_after_seconds=0)) as reader:
        await eventually(lambda: hub.is_open)
        log.commit(2, 4)
        await eventually(lambda: hub.released == 4)
        assert reader.counts.gap_waits > 0
    assert not caplog.records


async def test_it_names_whoever_holds_delivery_for_long_again_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    log, hub = Log(), make_hub()
    pace = dataclasses.replace(FAST, warn_after_seconds=0.01, warn_again_seconds=0.02)
    async with running(log, hub, pace=pace):
        await eventually(lambda: hub.is_open)
        log.holders = frozenset({"ann"})
        log.commit(2)
        await eventually(lambda: len(caplog.records) > 2)


async def test_it_names_whoever_holds_delivery_for_long_once(caplog: pytest.LogCaptureFixture) -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub, pace=dataclasses.replace(FAST, warn_after_seconds=0.02)) as reader:
        await eventually(lambda: hub.is_open)
        log.holders = frozenset({"bob", "ann"})
        log.commit(2)
        await eventually(lambda: bool(caplog.records))
        polls = reader.counts.polls
        await eventually(lambda: reader.counts.polls > polls + 20)
    (record,) = caplog.records
    assert vars(record)["revision"] == 1
    assert "missing_seconds" in vars(record)
    assert [name[:16] for name in vars(record)["holders"]] == ['pid 1 (role "ann', 'pid 2 (role "bob']


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


async def test_it_outlives_more_failures_in_a_row_than_doubling_a_pause_has_numbers_for() -> None:
    log, hub = Log(), make_hub()
    log.commit(1)
    log.is_away = True
    pace = dataclasses.replace(FAST, first_backoff_seconds=1e-9, longest_backoff_seconds=1e-6)
    # The clock stands still, so that no session counts as one that went well.
    async with running(log, hub, pace=pace, clock=lambda: 0.0):
        await eventually(lambda: log.sessions > 1_100)
        log.is_away = False
        await eventually(lambda: hub.is_open)


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
