"""Where a watch begins when the log changes under it."""

import asyncio

import pytest

from support.log_event import make_event
from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.event.page import History
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.stream import Streams
from tinkwell.server.log.watching import FromRevision, Now, Since, Start, WatchService


class Database:
    """What a service asks of the log's database, which may be ahead of the server."""

    def __init__(self, *, history_id: str = "h", drawn: int = 0) -> None:
        self.history_id = history_id
        self.drawn = drawn
        self.first = 1

    async def first_revision_since(self, seconds: float) -> int:
        return self.first

    async def last_drawn(self) -> int:
        return self.drawn

    async def history(self) -> History:
        return History(self.history_id, 1)


def make_hub() -> Hub:
    hub = Hub(encode=lambda event: b"", ring_bytes=1 << 20, subscriber_bytes=1 << 20, max_subscribers=10)
    hub.open(history_id="h", last=0)
    return hub


def make_service(hub: Hub, database: Database) -> WatchService:
    streams = Streams(
        hub,
        database,  # type: ignore[arg-type]
        encode_rows=lambda rows: b"",
        respond=lambda fields, revision, history_id: b"",
        table_readers=1,
    )
    return WatchService(hub, database, streams)  # type: ignore[arg-type]


async def open_watch(service: WatchService, start: Start) -> tuple[int, str]:
    watch = await service.open(Selection(), start)
    watch.close()
    return watch.position, watch.history_id


async def test_a_server_that_lags_behind_a_new_history_asks_to_try_again() -> None:
    hub = make_hub()
    service = make_service(hub, Database(history_id="next", drawn=5))
    with pytest.raises(errors.Unavailable):
        await open_watch(service, FromRevision(3, "next"))
    assert not hub.subscribers


async def test_a_former_history_is_refused_with_the_one_that_is_in_force() -> None:
    service = make_service(make_hub(), Database(history_id="next", drawn=5))
    with pytest.raises(errors.OtherHistory) as caught:
        await open_watch(service, FromRevision(3, "h"))
    assert caught.value.history_id == "next"


async def test_a_watch_that_waits_for_its_revision_ends_with_its_history() -> None:
    hub, database = make_hub(), Database(drawn=5)
    opening = asyncio.ensure_future(open_watch(make_service(hub, database), FromRevision(3)))
    await eventually(lambda: len(hub.subscribers) == 1)
    hub.close(errors.OtherHistory("another", history_id="next"))
    hub.open(history_id="next", last=10)
    with pytest.raises(errors.OtherHistory):
        await opening
    assert not hub.subscribers


async def test_a_watch_begins_once_its_revision_is_reached() -> None:
    hub, database = make_hub(), Database(drawn=5)
    opening = asyncio.ensure_future(open_watch(make_service(hub, database), FromRevision(3, "h")))
    await eventually(lambda: len(hub.subscribers) == 1)
    hub.publish([make_event(1), make_event(2)], released=2)
    assert await opening == (3, "h")


async def test_a_start_in_time_or_now_is_never_ahead_of_the_server() -> None:
    hub, database = make_hub(), Database(drawn=50)
    database.first = 51
    service = make_service(hub, database)
    assert await open_watch(service, Since(60)) == (1, "h")
    assert await open_watch(service, Now()) == (1, "h")
