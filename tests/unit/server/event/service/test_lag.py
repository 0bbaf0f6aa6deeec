"""How far a server is behind: known by when something was first due, whatever the age of events."""

import asyncio
import contextlib
import datetime

import pytest

from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.server.event.service.lag import Lag
from tinkwell.server.event.store.position import Position
from tinkwell.server.log.fanout.hub import Hub

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Site:
    """A database that looks as it is told, a hub, and clocks that stand still."""

    def __init__(self, *, most_looks: int = 1_000) -> None:
        self.revision = 0
        self.now = 0.0
        self.database_now = 0.0
        self.look_seconds = 0.0
        self.hub = Hub(encode=lambda event: b"", ring_bytes=1 << 20, subscriber_bytes=1 << 20, max_subscribers=1)
        self.hub.open(history_id="h", last=0)
        self.lag = Lag(self.look, self.hub, most_looks=most_looks, clock=lambda: self.now, wall=lambda: self.now)

    async def look(self) -> Position:
        self.now += self.look_seconds
        return Position(self.revision, EPOCH + datetime.timedelta(seconds=self.database_now))

    async def see(self, revision: int, *, at: float) -> None:
        self.revision, self.now = revision, at
        await self.lag.look()

    def release(self, revision: int) -> None:
        self.hub.publish([], released=revision)

    def told(self) -> tuple[int, float]:
        return self.lag.revisions, self.lag.seconds


@pytest.fixture
def site() -> Site:
    return Site()


async def test_nothing_is_due_while_all_that_is_visible_is_released(site: Site) -> None:
    site.release(7)
    await site.see(7, at=3_600)
    assert site.told() == (0, 0)


async def test_it_counts_from_when_the_oldest_of_what_is_due_was_first_seen(site: Site) -> None:
    await site.see(5, at=10)
    await site.see(8, at=12)
    site.now = 15
    assert site.told() == (8, 5)
    site.release(6)
    assert site.told() == (2, 3)
    site.release(8)
    assert site.told() == (0, 0)


async def test_a_release_ahead_of_the_last_look_is_no_lag(site: Site) -> None:
    await site.see(5, at=10)
    site.release(9)
    await site.see(5, at=12)
    assert site.told() == (0, 0)


async def test_long_lags_are_kept_in_little_memory() -> None:
    site = Site(most_looks=40)
    for number in range(1, 101):
        await site.see(number, at=number)
    assert site.told()[1] == 99
    site.release(50)
    revisions, seconds = site.told()
    assert revisions > 0
    assert 40 < seconds <= 50


@pytest.mark.parametrize("offset", [-90.0, 0.0, 0.25])
async def test_the_clocks_are_compared_by_the_quickest_look(site: Site, offset: float) -> None:
    site.database_now = 1_000 + offset
    site.look_seconds = 0.5
    await site.see(0, at=1_000)
    assert site.lag.clock_offset_seconds == pytest.approx(offset - 0.25)
    site.look_seconds = 0.001
    await site.see(0, at=1_000)
    site.look_seconds = 0.3
    await site.see(0, at=1_000)
    assert site.lag.clock_offset_seconds == pytest.approx(offset - 0.0005)


async def test_nothing_that_the_database_answers_ends_it(site: Site) -> None:
    answers: list[Exception] = [errors.Unavailable("away"), RuntimeError("permission denied"), OSError("broken")]

    async def look() -> Position:
        if answers:
            raise answers.pop(0)
        return Position(3, EPOCH)

    lag = Lag(look, site.hub, interval_seconds=0)
    task = asyncio.create_task(lag.run())
    await eventually(lambda: lag.revisions == 3)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
