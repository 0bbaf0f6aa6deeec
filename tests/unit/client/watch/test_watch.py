"""The rules of a watch, with scripted connections: no network, no clock."""

import asyncio
import copy
import dataclasses
import logging
from collections.abc import Callable, Iterable
from datetime import timedelta

import pytest

from support import waiting
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.client import backoff, errors
from tinkwell.client.watch import selection, watch
from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType

HISTORY = "h1"
LOST = errors.Unavailable("the connection was lost")


class Wire:
    """Connections that answer from a script; after the last one the server is silent."""

    def __init__(self, *connections: Iterable[pb.WatchResponse | errors.Error]) -> None:
        self._connections = [list(connection) for connection in connections]
        self.requests: list[pb.WatchRequest] = []
        self.delays: list[float] = []
        self.cancelled = 0

    def __call__(self, request: pb.WatchRequest) -> "Wire.Connection":
        self.requests.append(request)
        return Wire.Connection(self, self._connections.pop(0) if self._connections else [])

    async def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)

    class Connection:
        def __init__(self, wire: "Wire", script: list[pb.WatchResponse | errors.Error]) -> None:
            self._wire = wire
            self._script = script
            self._cancelled = asyncio.Event()

        async def read(self) -> pb.WatchResponse | None:
            if not self._script:
                await self._cancelled.wait()
                raise errors.Closed
            item = self._script.pop(0)
            if isinstance(item, errors.Error):
                raise item
            return item if item.history_id != "END" else None

        def cancel(self) -> None:
            self._wire.cancelled += 1
            self._cancelled.set()


END = pb.WatchResponse(history_id="END")


def created(revision: int = 0, history_id: str = HISTORY) -> pb.WatchResponse:
    return pb.WatchResponse(created=True, revision=revision, history_id=history_id)


def batch(*revisions: int, bookmark: int = 0) -> pb.WatchResponse:
    custom = pb.Event(resource_type=pb.RESOURCE_TYPE_CUSTOM, event_type=pb.EVENT_TYPE_CUSTOM, name="a.b")
    events = [pb.Event(id=f"e{revision}", revision=revision) for revision in revisions]
    for event in events:
        event.MergeFrom(custom)
    return pb.WatchResponse(events=events, revision=bookmark or max(revisions, default=0), history_id=HISTORY)


def open_watch(wire: Wire, wanted: selection.Selection | None = None, **options: object) -> watch.Watch:
    pause = backoff.Backoff(draw=lambda low, high: high)
    return watch.Watch(wire, wanted or selection.Selection(), sleep=wire.sleep, pause=pause, **options)  # type: ignore[arg-type]


async def take(source: watch.Watch, count: int) -> list[int]:
    async with asyncio.timeout(5):
        return [(await anext(source)).revision for _ in range(count)]


async def test_events_of_a_batch_come_one_by_one_in_order() -> None:
    events = open_watch(Wire([created(), batch(1, 2, 5), batch(7)]))
    assert await take(events, 4) == [1, 2, 5, 7]


async def test_a_lost_connection_resumes_after_the_last_revision_received() -> None:
    wire = Wire([created(), batch(1, 2), LOST], [created(2), batch(3)])
    events = open_watch(wire)
    assert await take(events, 3) == [1, 2, 3]
    assert [request.WhichOneof("start") for request in wire.requests] == [None, "from_revision"]
    assert (wire.requests[1].from_revision, wire.requests[1].history_id) == (3, HISTORY)


async def test_a_connection_lost_in_the_middle_of_a_batch_loses_and_repeats_nothing() -> None:
    wire = Wire([created(), batch(1, 2, 3), LOST], [created(3), batch(4)])
    events = open_watch(wire)
    first = await take(events, 1)
    assert first + await take(events, 3) == [1, 2, 3, 4]
    assert wire.requests[1].from_revision == 4


async def test_events_that_a_server_repeats_are_handed_out_once() -> None:
    wire = Wire([created(), batch(1, 2), LOST], [created(1), batch(1, 2, 3), batch(3, 4)])
    assert await take(open_watch(wire), 4) == [1, 2, 3, 4]


async def test_a_bookmark_moves_the_place_to_resume_from() -> None:
    wire = Wire([created(4), batch(bookmark=90), LOST], [created(90), batch(91)])
    assert await take(open_watch(wire), 1) == [91]
    assert wire.requests[1].from_revision == 91


async def test_a_bookmark_never_moves_the_place_backwards() -> None:
    wire = Wire([created(), batch(8), batch(bookmark=5), LOST], [created(8), batch(9)])
    assert await take(open_watch(wire), 2) == [8, 9]
    assert wire.requests[1].from_revision == 9


async def test_revision_is_what_was_handed_out_and_the_bookmark_only_after_it() -> None:
    events = open_watch(Wire([created(), batch(1, 2, bookmark=7), batch(8)]))
    seen = []
    for _ in range(3):
        await anext(events)
        seen.append(events.revision)
    assert seen == [1, 2, 8]


async def test_the_bookmark_hook_sees_the_revision_move_on_without_an_event() -> None:
    seen: list[tuple[str, int]] = []
    wire = Wire([created(3), batch(5, bookmark=9), batch(bookmark=9), batch(bookmark=12), batch(13)])
    events = open_watch(wire, on_bookmark=lambda w: seen.append(("bookmark", w.revision)))
    async with asyncio.timeout(5):
        seen.append(("event", (await anext(events)).revision))
        seen.append(("event", (await anext(events)).revision))
    assert seen == [("bookmark", 3), ("event", 5), ("bookmark", 9), ("bookmark", 12), ("event", 13)]


async def test_the_first_request_carries_the_whole_selection() -> None:
    wire = Wire([created(), batch(1)])
    wanted = selection.Selection(
        event_types=["WORKFLOW_TIMEOUT", EventType.CREATED],
        names=["rack.door_opened"],
        resource_types=[ResourceType.WORKFLOW, "ACTION"],
        resource_id="w1",
        since=timedelta(seconds=90),
    )
    await take(open_watch(wire, wanted), 1)
    request = wire.requests[0]
    assert list(request.event_types) == [pb.EVENT_TYPE_WORKFLOW_TIMEOUT, pb.EVENT_TYPE_CREATED]
    assert list(request.names) == ["rack.door_opened"]
    assert list(request.resource_types) == [pb.RESOURCE_TYPE_WORKFLOW, pb.RESOURCE_TYPE_ACTION]
    assert request.resource_id == "w1"
    assert request.since.ToTimedelta() == timedelta(seconds=90)


async def test_a_resumed_request_keeps_the_conditions() -> None:
    wanted = selection.Selection(names=["a.b"], resource_types=["CUSTOM"], resource_id="r1", now=True)
    wire = Wire([created(4), LOST], [created(4), batch(5)])
    await take(open_watch(wire, wanted), 1)
    first, second = wire.requests
    assert first.now
    assert (list(second.names), second.resource_id) == (["a.b"], "r1")
    assert list(second.resource_types) == [pb.RESOURCE_TYPE_CUSTOM]
    assert second.WhichOneof("start") == "from_revision"


async def test_a_stored_revision_starts_there_and_brings_its_history() -> None:
    wire = Wire([LOST], [created(41), batch(42)])
    events = open_watch(wire, selection.Selection(from_revision=42, history_id=HISTORY))
    assert events.revision == 41
    assert await take(events, 1) == [42]
    assert [(r.from_revision, r.history_id) for r in wire.requests] == [(42, HISTORY)] * 2


@pytest.mark.parametrize("since", [None, 30.0])
async def test_time_spent_on_failed_first_connections_is_not_lost(since: float | None) -> None:
    wire = Wire([LOST], [created(), batch(1)])
    events = open_watch(wire, selection.Selection(since=since))
    await take(events, 1)
    base = timedelta(seconds=since or selection.DEFAULT_SINCE_SECONDS)
    assert wire.requests[0].HasField("since") == (since is not None)
    assert wire.requests[1].since.ToTimedelta() > base


FINAL = [
    errors.Compacted("gone"),
    errors.OtherHistory("other"),
    errors.HistoryGone("gone"),
    errors.InvalidField.of("names[0]", "wrong"),
    errors.Unauthenticated("who?"),
    errors.PermissionDenied("no"),
    errors.Unimplemented("what?"),
    errors.ResourceExhausted("message larger than max"),
    errors.Closed(),
]
PASSING = [
    LOST,
    errors.DeadlineExceeded("silent"),
    errors.TooSlow("behind"),
    errors.LimitReached("too many streams"),
    errors.Internal("fault"),
    errors.LostRace("again"),
    errors.Error("unknown"),
]


@pytest.mark.parametrize("error", FINAL, ids=lambda error: type(error).__name__)
async def test_an_error_that_cannot_pass_ends_the_watch(error: errors.Error) -> None:
    wire = Wire([created(), batch(1), error])
    events = open_watch(wire)
    await anext(events)
    with pytest.raises(type(error)) as raised:
        await anext(events)
    assert raised.value is error
    assert not wire.delays
    assert [event async for event in events] == []


@pytest.mark.parametrize("error", [*PASSING, END], ids=lambda error: type(error).__name__)
async def test_an_error_that_may_pass_is_retried(error: errors.Error | pb.WatchResponse) -> None:
    wire = Wire([created(), batch(1), error], [error], [created(1), batch(2)])
    assert await take(open_watch(wire), 2) == [1, 2]
    assert len(wire.delays) == 2


async def test_without_reconnecting_a_lost_connection_is_an_error() -> None:
    events = open_watch(Wire([created(), batch(1), LOST]), reconnect=False)
    await anext(events)
    with pytest.raises(errors.Unavailable):
        await anext(events)


async def test_without_reconnecting_the_end_of_the_stream_is_an_error() -> None:
    events = open_watch(Wire([created(), END]), reconnect=False)
    with pytest.raises(errors.Unavailable, match="ended the stream"):
        await anext(events)


async def test_another_history_than_the_known_one_is_refused_by_the_client_too() -> None:
    events = open_watch(Wire([created(), batch(1), LOST], [created(1, history_id="h2"), batch(2)]))
    await anext(events)
    with pytest.raises(errors.OtherHistory):
        await anext(events)


async def test_pauses_double_up_to_the_longest_and_begin_again_after_health() -> None:
    lost: list[pb.WatchResponse | errors.Error] = [LOST]
    wire = Wire(*[lost] * 8, [created(), batch(1), LOST], [LOST], [created(1), batch(2)])
    await take(open_watch(wire), 2)
    assert wire.delays == pytest.approx([0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 0.2, 0.4])


async def test_a_server_that_only_ever_says_created_is_not_healthy() -> None:
    unhealthy: list[pb.WatchResponse | errors.Error] = [created(), LOST]
    wire = Wire(*[unhealthy] * 4, [created(), batch(1)])
    await take(open_watch(wire), 1)
    assert wire.delays == pytest.approx([0.2, 0.4, 0.8, 1.0])


async def test_a_first_connection_that_fails_is_retried_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire([LOST], [created(), batch(1)])
    with caplog.at_level(logging.WARNING):
        await take(open_watch(wire), 1)
    assert "interrupted" in caplog.text


async def test_a_first_connection_may_have_a_limit() -> None:
    events = open_watch(Wire([LOST], []), connect_timeout_seconds=0.05)
    with pytest.raises(errors.Unavailable, match=r"no watch within 0\.05 s: the connection was lost"):
        await events.wait_live()
    assert [event async for event in events] == []


async def test_the_limit_of_the_first_connection_does_not_hold_later() -> None:
    wire = Wire([created(), batch(1), LOST], [created(1), batch(2)])
    events = open_watch(wire, connect_timeout_seconds=0.001)
    await events.wait_live()
    assert await take(events, 2) == [1, 2]


async def test_hooks_may_be_plain_or_async_and_see_each_connection() -> None:
    seen: list[str] = []

    async def on_created(events: watch.Watch) -> None:
        seen.append(f"live {events.is_live}")

    def on_disconnect(events: watch.Watch, error: errors.Error, seconds: float) -> None:
        seen.append(f"lost {events.is_live} {error} {seconds}")

    wire = Wire([created(), batch(1), LOST], [created(1), batch(2)])
    await take(open_watch(wire, on_created=on_created, on_disconnect=on_disconnect), 2)
    assert seen == ["live True", "lost False the connection was lost 0.2", "live True"]


async def test_an_error_of_a_hook_reaches_the_caller() -> None:
    def give_up(_: watch.Watch, error: errors.Error, __: float) -> None:
        raise error

    with pytest.raises(errors.Unavailable):
        await anext(open_watch(Wire([LOST]), on_disconnect=give_up))


async def test_entering_waits_until_the_watch_is_live_and_leaving_ends_the_call() -> None:
    wire = Wire([LOST], [created(5)])
    async with open_watch(wire) as events:
        assert events.is_live
    assert [wire.cancelled, events.is_live] == [2, False]
    assert [event async for event in events] == []
    with pytest.raises(errors.Closed):
        await events.wait_live()


async def test_entering_fails_with_what_iterating_would_raise() -> None:
    with pytest.raises(errors.Unauthenticated):
        async with open_watch(Wire([errors.Unauthenticated("who?")])):
            pytest.fail("entered")


async def test_waiting_until_live_keeps_the_events_that_came_along() -> None:
    first = created()
    first.MergeFrom(batch(1, 2))
    events = open_watch(Wire([first, batch(3)]))
    await events.wait_live()
    assert await take(events, 3) == [1, 2, 3]


async def test_a_cancelled_wait_loses_nothing() -> None:
    wire = Wire([created(), batch(1)], [created(1), batch(2)])
    events = open_watch(wire)
    await anext(events)
    interrupted = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    interrupted.cancel()
    with pytest.raises(asyncio.CancelledError):
        await interrupted
    assert await take(events, 1) == [2]
    assert wire.requests[1].from_revision == 2


async def test_closing_ends_an_iteration_in_another_task() -> None:
    events = open_watch(Wire([created()]))
    reading = asyncio.create_task(_all(events))
    await waiting.eventually(lambda: events.is_live)
    await events.aclose()
    assert await reading == []


async def test_closing_ends_a_pause_between_connections() -> None:
    paused = asyncio.Event()
    events = watch.Watch(
        Wire([LOST]),
        selection.Selection(),
        pause=backoff.Backoff(draw=lambda low, high: 3600.0),
        on_disconnect=lambda *_: paused.set(),
    )
    reading = asyncio.create_task(_all(events))
    async with asyncio.timeout(5):
        await paused.wait()
        await events.aclose()
        assert await reading == []


@pytest.mark.parametrize("is_async", [True, False])
async def test_run_calls_back_with_each_event_in_order(is_async: bool) -> None:
    seen: list[int] = []
    callback = _callback(seen, is_async=is_async)
    with pytest.raises(errors.Compacted):
        await open_watch(Wire([created(), batch(1, 2), errors.Compacted("gone")])).run(callback)
    assert seen == [1, 2]


async def test_a_callback_that_raises_ends_the_watch() -> None:
    wire = Wire([created(), batch(1, 2)])

    def fail(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await open_watch(wire).run(fail)
    assert wire.cancelled == 1


def _callback(seen: list[int], *, is_async: bool) -> Callable[..., None]:
    async def later(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(event.revision)

    def now(event: Event) -> None:
        seen.append(event.revision)

    return later if is_async else now  # type: ignore[return-value]


async def _all(events: watch.Watch) -> list[int]:
    return [event.revision async for event in events]


async def test_closing_with_events_still_pending_does_not_claim_them() -> None:
    events = open_watch(Wire([created(), batch(1, 2, 3)]))
    await anext(events)
    await events.aclose()
    assert [event async for event in events] == []
    assert events.revision == 1


async def test_an_event_that_cannot_be_read_ends_the_watch_instead_of_being_skipped() -> None:
    broken = batch(1)
    broken.events[0].created_at.seconds = 10**15
    events = open_watch(Wire([created(), broken, batch(2)]))
    with pytest.raises(errors.Error, match="no calendar"):
        await anext(events)
    assert [event async for event in events] == []
    assert events.revision == 0


async def test_data_is_read_once_it_is_used_and_may_be_refused_then() -> None:
    sent = batch(1, 2)
    sent.events[0].data, sent.events[1].data = '{"name": "one"}', "{"
    events = open_watch(Wire([created(), sent]))
    first, second = await anext(events), await anext(events)
    assert first.data == {"name": "one"}
    assert first.data is first.data
    assert first == copy.copy(first) == dataclasses.replace(first)
    with pytest.raises(errors.Error, match="cannot be read"):
        second.data  # noqa: B018  reading it is the point
    await events.aclose()
