"""The output of actions: appended, read, followed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import grpc
import pytest

from support import edge, waiting
from support import site as support
from support.site import ONE, RUNNING, SUCCEEDED, UNKNOWN, Flow, Site, steps
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.server.workflow.service import follower
from tinkwell.server.workflow.service import output as log
from tinkwell.server.workflow.store import output as log_line

OUT = pb.LOG_STREAM_STDOUT
ERR = pb.LOG_STREAM_STDERR


def line(flow: Flow, index: int, number: int, text: str = "", *, attempt: int = 1, **more: Any) -> pb.LogLine:
    chosen = {"action_id": flow.actions[index].id, "text": text or f"{index}/{attempt}/{number}", **more}
    return pb.LogLine(attempt=attempt, number=number, stream=OUT, **chosen)


async def append(flow: Flow, *batches: Iterable[pb.LogLine]) -> int:
    requests = [pb.AppendLogsRequest(workflow_id=flow.id, lines=lines) for lines in batches]
    return (await flow.site.stub.AppendLogs(iter_async(requests))).accepted


async def iter_async(requests: Sequence[pb.AppendLogsRequest]) -> AsyncIterator[pb.AppendLogsRequest]:
    for request in requests:
        yield request


async def refused(flow: Flow, *lines: pb.LogLine, workflow_id: str | None = None) -> edge.Refusal:
    request = pb.AppendLogsRequest(workflow_id=flow.id if workflow_id is None else workflow_id, lines=lines)
    return await edge.refused(flow.site.stub.AppendLogs(iter_async([request])))


async def read(flow: Flow, *, follow: bool = False) -> list[pb.LogLine]:
    request = pb.WatchLogsRequest(workflow_id=flow.id, follow=follow)
    return [line async for answer in flow.site.stub.WatchLogs(request) for line in answer.lines]


async def texts(flow: Flow) -> list[str]:
    return [line.text for line in await read(flow)]


class Reader:
    """Follows a workflow's output in the background."""

    def __init__(self, flow: Flow) -> None:
        self.lines: list[str] = []
        self.is_done = False
        self._flow = flow

    async def run(self) -> None:
        request = pb.WatchLogsRequest(workflow_id=self._flow.id, follow=True)
        async for answer in self._flow.site.stub.WatchLogs(request):
            self.lines.extend(line.text for line in answer.lines)
        self.is_done = True

    async def has(self, *expected: str) -> None:
        await waiting.eventually(lambda: self.lines == list(expected))


@contextlib.asynccontextmanager
async def following(flow: Flow) -> AsyncIterator[Reader]:
    reader = Reader(flow)
    task = asyncio.create_task(reader.run())
    try:
        yield reader
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_lines_are_read_in_the_order_of_action_attempt_and_number(site: Site) -> None:
    flow = await site.create(steps(3))
    assert await append(flow, [line(flow, 1, 1), line(flow, 0, 2, attempt=2), line(flow, 0, 10)]) == 3
    assert await append(flow, [line(flow, 0, 9)], [line(flow, 2, 1), line(flow, 0, 1, attempt=2)]) == 3
    assert await texts(flow) == ["0/1/9", "0/1/10", "0/2/1", "0/2/2", "1/1/1", "2/1/1"]


async def test_a_line_carries_what_is_known_of_it(site: Site) -> None:
    flow = await site.create(steps(2))
    given = pb.LogLine(action_id=flow.actions[1].id.upper(), attempt=3, number=7, stream=ERR, text="\x1b[31moh\tno✗\r")
    given.task_name = "forged"
    await append(flow, [given])
    (found,) = await read(flow)
    assert (found.action_id, found.attempt, found.number) == (flow.actions[1].id, 3, 7)
    assert (found.stream, found.text) == (ERR, "\x1b[31moh\tno✗\r")
    assert (found.task_name, found.action_name) == ("install", "step-1")
    assert found.HasField("created_at")


async def test_a_repeated_line_is_accepted_and_left_as_it_is(site: Site) -> None:
    flow = await site.create()
    lines = [line(flow, 0, 1, "first"), line(flow, 0, 1, "first again"), line(flow, 0, 2, "second")]
    assert await append(flow, lines, [line(flow, 0, 2, "other"), line(flow, 0, 3, "third")]) == 5
    assert await texts(flow) == ["first", "second", "third"]


async def test_many_pages_are_read_whole(site: Site) -> None:
    flow = await site.create(steps(3))
    expected = [(index, number) for index in range(3) for number in range(1, 901)]
    lines = [line(flow, index, number) for index, number in expected]
    await append(flow, *(lines[at : at + 1_000] for at in range(0, len(lines), 1_000)))
    assert await texts(flow) == [f"{index}/1/{number}" for index, number in expected]


async def test_answers_are_bounded_in_bytes(site: Site) -> None:
    flow = await site.create()
    lines = [line(flow, 0, number, "x" * log.MAX_LINE_BYTES) for number in range(1, 101)]
    await append(flow, lines)
    request = pb.WatchLogsRequest(workflow_id=flow.id)
    answers = [answer async for answer in site.stub.WatchLogs(request)]
    assert sum(len(answer.lines) for answer in answers) == 100
    assert len(answers) > 1
    assert all(answer.ByteSize() <= follower.MAX_BATCH_BYTES for answer in answers)


async def test_the_same_lines_from_many_writers_at_once_are_there_once(site: Site) -> None:
    flow = await site.create()
    lines = [line(flow, 0, number) for number in range(1, 201)]
    await asyncio.gather(*(append(flow, lines), *(append(flow, reversed(lines)) for _ in range(5))))
    assert len(await texts(flow)) == 200


async def test_appending_is_no_event(site: Site) -> None:
    flow = await site.create()
    before = await site.last_revision()
    await append(flow, [line(flow, 0, 1)])
    assert await site.last_revision() == before


async def test_what_is_wrong_with_a_line_is_named_and_none_is_stored(site: Site) -> None:
    flow = await site.create()
    good = line(flow, 0, 1)
    for wrong, fields in (
        (line(flow, 0, 2, action_id="x"), ["lines[1].action_id"]),
        (line(flow, 0, 2, action_id=""), ["lines[1].action_id"]),
        (line(flow, 0, 2, attempt=0), ["lines[1].attempt"]),
        (line(flow, 0, 2, attempt=2**31), ["lines[1].attempt"]),
        (line(flow, 0, 0), ["lines[1].number"]),
        (line(flow, 0, 200_002), ["lines[1].number"]),
        (line(flow, 0, 2, "a\0b"), ["lines[1].text"]),
        (line(flow, 0, 2, "✗" * 6_000), ["lines[1].text"]),
        (line(flow, 0, -1, attempt=-1), ["lines[1].attempt", "lines[1].number"]),
        (pb.LogLine(action_id=flow.actions[0].id, attempt=1, number=2), ["lines[1].stream"]),
    ):
        told = await refused(flow, good, wrong)
        assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, fields)
    told = await refused(flow, *[line(flow, 0, number) for number in range(1, 1_002)])
    assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, ["lines"])
    assert await texts(flow) == []


async def test_lines_for_nothing_are_not_found(site: Site) -> None:
    flow, other = await site.create(), await site.create()
    for told, missing in (
        (await refused(flow, line(other, 0, 1)), ("ACTION", other.actions[0].id)),
        (await refused(flow, line(flow, 0, 1, action_id=UNKNOWN)), ("ACTION", UNKNOWN)),
        (await refused(flow, line(flow, 0, 1), workflow_id=UNKNOWN), ("WORKFLOW", UNKNOWN)),
    ):
        assert told.code is grpc.StatusCode.NOT_FOUND
        assert (told.metadata["resource_type"], told.metadata["resource_id"]) == missing
    assert (await refused(flow, workflow_id="")).code is grpc.StatusCode.INVALID_ARGUMENT
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))
    assert (await refused(flow, line(flow, 0, 1))).code is grpc.StatusCode.NOT_FOUND


async def test_what_came_before_a_bad_message_is_stored(site: Site) -> None:
    flow = await site.create()
    requests = [
        pb.AppendLogsRequest(workflow_id=flow.id, lines=[line(flow, 0, 1, "kept")]),
        pb.AppendLogsRequest(workflow_id=flow.id, lines=[line(flow, 0, 0)]),
    ]
    assert (await edge.refused(site.stub.AppendLogs(iter_async(requests)))).code is grpc.StatusCode.INVALID_ARGUMENT
    assert await texts(flow) == ["kept"]


async def test_the_output_of_nothing_is_not_found(site: Site) -> None:
    flow = await site.create()
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))
    for workflow_id, code in ((flow.id, "NOT_FOUND"), (UNKNOWN, "NOT_FOUND"), ("x", "INVALID_ARGUMENT")):
        for follow in (False, True):
            call = site.stub.WatchLogs(pb.WatchLogsRequest(workflow_id=workflow_id, follow=follow))
            assert (await edge.refused(call.read())).code is grpc.StatusCode[code]


async def test_a_follower_gets_lines_as_they_come_and_ends_with_the_workflow(site: Site) -> None:
    flow = await site.create(steps(2))
    await append(flow, [line(flow, 0, 1, "before")])
    async with following(flow) as reader:
        await reader.has("before")
        await flow.report(0, RUNNING)
        await append(flow, [line(flow, 0, 2, "during")])
        await reader.has("before", "during")
        await flow.report(0, SUCCEEDED)
        await flow.report(1, RUNNING)
        await append(flow, [line(flow, 1, 1, "next")])
        await reader.has("before", "during", "next")
        assert not reader.is_done
        await append(flow, [line(flow, 1, 2, "last")])
        await flow.report(1, SUCCEEDED)
        await waiting.eventually(lambda: reader.is_done)
        await reader.has("before", "during", "next", "last")
    await waiting.eventually(lambda: site.logs.watcher_count == 0)


async def test_following_what_has_ended_ends_at_once(site: Site) -> None:
    flow = await site.create(steps(1))
    await append(flow, [line(flow, 0, 1)])
    await flow.succeed(0)
    assert [found.text for found in await read(flow, follow=True)] == ["0/1/1"]


async def test_a_follower_of_an_open_line_misses_none_of_a_full_page(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "PAGE", 2)
    flow = await site.create(steps(2))
    await append(flow, [line(flow, 0, 1, "1 %", is_open=True)])
    async with following(flow) as reader:
        await reader.has("1 %")
        more = [line(flow, index, number) for index in range(2) for number in range(2, 8)]
        await append(flow, [*more])
        await reader.has("1 %", *(each.text for each in more))
    await append(flow, [line(flow, 0, 1, "done")])
    assert (await texts(flow))[0] == "done"


async def test_a_follower_ends_when_the_workflow_is_deleted(site: Site) -> None:
    flow = await site.create()
    async with following(flow) as reader:
        await waiting.eventually(lambda: site.logs.watcher_count == 1)
        await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))
        await waiting.eventually(lambda: reader.is_done)


async def test_a_follower_hears_of_lines_that_came_in_through_another_server(site: Site) -> None:
    flow = await site.create()
    async with following(flow) as reader, support.open_peer(site) as peer:
        await append(flow, [line(flow, 0, 1, "here")])
        await reader.has("here")
        await append(Flow(peer, flow.id, flow.actions), [line(flow, 0, 2, "there")])
        await reader.has("here", "there")


async def test_an_append_wakes_followers_without_waiting_for_their_next_look(database_url: str) -> None:
    async with support.open_site(database_url, log_poll_seconds=3_600) as site:
        flow = await site.create()
        async with following(flow) as first, following(flow) as second:
            await waiting.eventually(lambda: site.logs.watcher_count == 2)
            for number in range(1, 20):
                await append(flow, [line(flow, 0, number, "x")])
                await first.has(*["x"] * number)
                await second.has(*["x"] * number)


async def test_a_line_that_comes_in_while_a_follower_looks_is_not_slept_over(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with support.open_site(database_url, log_poll_seconds=3_600) as site:
        flow = await site.create()
        look = log_line.page
        looks = 0

        async def look_and_miss(*args: Any, **kwargs: Any) -> log_line.Page:
            nonlocal looks
            looks += 1
            found = await look(*args, **kwargs)
            if looks == 1:
                await append(flow, [line(flow, 0, 1, "missed")])
            return found

        monkeypatch.setattr(log_line, "page", look_and_miss)
        async with following(flow) as reader:
            await reader.has("missed")


async def test_a_follower_that_goes_away_is_forgotten(site: Site) -> None:
    flow = await site.create()
    async with following(flow):
        await waiting.eventually(lambda: site.logs.watcher_count == 1)
    await waiting.eventually(lambda: site.logs.watcher_count == 0)


async def test_too_many_readers_are_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "MAX_WATCHERS", 1)
    flow = await site.create()
    async with following(flow):
        await waiting.eventually(lambda: site.logs.watcher_count == 1)
        told = await edge.refused(site.stub.WatchLogs(pb.WatchLogsRequest(workflow_id=flow.id)).read())
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
    await waiting.eventually(lambda: site.logs.watcher_count == 0)
    assert await texts(flow) == []


async def test_followers_that_join_while_lines_stream_in_miss_none(site: Site) -> None:
    flow = await site.create()
    await flow.report(0, RUNNING, worker_id=ONE)

    async def write() -> None:
        for number in range(1, 301, 3):
            await append(flow, [line(flow, 0, number + more) for more in range(3)])
        await flow.report(0, SUCCEEDED)

    writing = asyncio.create_task(write())
    found = await asyncio.gather(*(read(flow, follow=True) for _ in range(5)))
    await writing
    for lines in found:
        assert [line.number for line in lines] == list(range(1, 301))


async def test_followers_are_told_when_the_server_stops(site: Site) -> None:
    flow = await site.create()
    call = site.stub.WatchLogs(pb.WatchLogsRequest(workflow_id=flow.id, follow=True))
    await waiting.eventually(lambda: site.logs.watcher_count == 1)
    site.logs.close()
    assert (await edge.refused(call.read())).code is grpc.StatusCode.UNAVAILABLE
