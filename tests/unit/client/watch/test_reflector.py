"""A list, then events, then another list where history was lost."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.client import Event, backoff, errors
from tinkwell.client.watch import reflector, selection, watch


class Source:
    """Watches and lists from scripts; both write down when they are used."""

    def __init__(self, watches: list[list[pb.WatchResponse | errors.Error]], lists: list[list[str] | errors.Error]):
        self._watches = watches
        self._lists = lists
        self.log: list[str] = []

    def open_watch(self) -> watch.Watch:
        script = self._watches.pop(0)
        pause = backoff.Backoff(draw=lambda *_: 0.0)
        wanted = selection.Selection(now=True)
        return watch.Watch(lambda _: Connection(self, script), wanted, pause=pause, sleep=self.sleep)

    async def list_all(self) -> AsyncIterator[str]:
        self.log.append("list")
        items = self._lists.pop(0)
        if isinstance(items, errors.Error):
            raise items
        for item in items:
            yield item

    async def sleep(self, _: float) -> None:
        self.log.append("pause")

    async def take(self, count: int) -> list[tuple[str, ...] | int]:
        reflected = reflector.Reflector(self.list_all, self.open_watch, sleep=self.sleep)
        taken: list[tuple[str, ...] | int] = []
        async with asyncio.timeout(5), contextlib.aclosing(reflected.stream()) as parts:
            async for part in parts:
                taken.append(part.revision if isinstance(part, Event) else part.items)
                if len(taken) == count:
                    break
        return taken


class Connection:
    def __init__(self, source: Source, script: list[pb.WatchResponse | errors.Error]) -> None:
        self._source = source
        self._script = script

    async def read(self) -> pb.WatchResponse | None:
        item = self._script.pop(0)
        if isinstance(item, errors.Error):
            raise item
        if item.created:
            self._source.log.append("live")
        return item

    def cancel(self) -> None:
        pass


def created(revision: int, history_id: str = "h1") -> pb.WatchResponse:
    return pb.WatchResponse(created=True, revision=revision, history_id=history_id)


def batch(*revisions: int, history_id: str = "h1") -> pb.WatchResponse:
    events = [pb.Event(id=f"e{revision}", revision=revision) for revision in revisions]
    return pb.WatchResponse(events=events, revision=revisions[-1], history_id=history_id)


async def test_the_list_is_read_once_the_watch_is_live() -> None:
    source = Source([[created(4), batch(5, 6)]], [["a", "b"]])
    assert await source.take(3) == [("a", "b"), 5, 6]
    assert source.log == ["live", "list"]


@pytest.mark.parametrize("gone", [errors.Compacted("gone"), errors.OtherHistory("other"), errors.HistoryGone("gone")])
async def test_lost_history_leads_to_a_new_list(gone: errors.Error) -> None:
    source = Source([[created(4), batch(5), gone], [created(90), batch(91)]], [["a"], ["a", "b"]])
    assert await source.take(4) == [("a",), 5, ("a", "b"), 91]
    assert source.log == ["live", "list", "pause", "live", "list"]


async def test_a_new_watch_that_lags_behind_the_old_one_repeats_nothing() -> None:
    gone = errors.Compacted("gone")
    source = Source([[created(4), batch(5, 6), gone], [created(4), batch(5, 6, 7)]], [["a"], ["a"]])
    assert await source.take(5) == [("a",), 5, 6, ("a",), 7]


async def test_another_history_begins_with_its_own_revisions() -> None:
    other = errors.OtherHistory("other")
    source = Source([[created(90), batch(91), other], [created(4, "h2"), batch(5, history_id="h2")]], [["a"], ["b"]])
    assert await source.take(4) == [("a",), 91, ("b",), 5]


async def test_a_list_that_fails_is_read_again_and_never_half() -> None:
    down = errors.Unavailable("restarting")
    source = Source([[created(4), batch(5)]], [down, down, ["a"]])
    assert await source.take(2) == [("a",), 5]
    assert source.log == ["live", "list", "pause", "list", "pause", "list"]


@pytest.mark.parametrize("error", [errors.Unauthenticated("who?"), errors.Unimplemented("what?"), errors.Closed()])
async def test_what_cannot_be_mended_is_raised(error: errors.Error) -> None:
    with pytest.raises(type(error)):
        await Source([[created(4)]], [error]).take(1)
    with pytest.raises(type(error)):
        await Source([[error]], []).take(1)
