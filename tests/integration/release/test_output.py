"""The output of steps: appended, read in the order in which it came, followed to the end of the operation."""

import asyncio
from typing import Any

import pytest

from support import edge, waiting
from support.release_site import RUNNING, UNKNOWN, Flow, Site, finish, installs, node, step
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.api.v1 import workflow_service_pb2 as workflow_pb
from tinkwell.server.workflow.service import follower

OUT, ERR = workflow_pb.LOG_STREAM_STDOUT, workflow_pb.LOG_STREAM_STDERR


def line(flow: Flow, path: str, number: int, text: str = "", **more: Any) -> pb.StepLogLine:
    chosen = {"attempt": 1, "stream": OUT, "step_id": flow.step_id(path), **more}
    return pb.StepLogLine(number=number, text=text or f"{path} {number}", **chosen)


async def append(flow: Flow, *lines: pb.StepLogLine) -> int:
    request = pb.AppendStepLogsRequest(operation_id=flow.id, lines=lines)
    return (await flow.site.stub.AppendLogs(request)).accepted


async def read(flow: Flow, **more: Any) -> list[pb.StepLogLine]:
    request = pb.WatchStepLogsRequest(operation_id=flow.id, **more)
    return [found async for answer in flow.site.stub.WatchLogs(request) for found in answer.lines]


@pytest.fixture
async def flow(site: Site) -> Flow:
    """An operation whose two nodes are at work."""
    begun = await site.apply("role", "db")
    await begun.acquire()
    await begun.submit("role", "db")
    for path in ("role", "db"):
        await begun.report(node(path, "INSTALLING"), step(path, 1, "STATE", RUNNING, name=f"state of {path}"))
    return begun


async def test_lines_are_read_in_the_order_in_which_they_came(flow: Flow) -> None:
    assert await append(flow, line(flow, "db", 1), line(flow, "role", 1, stream=ERR)) == 2
    assert await append(flow, line(flow, "role", 2), line(flow, "db", 2, attempt=2)) == 2
    found = await read(flow)
    assert [each.text for each in found] == ["db 1", "role 1", "role 2", "db 2"]
    assert [each.path for each in found] == ["db", "role", "role", "db"]
    assert (found[1].stream, found[1].step_name, found[1].step_id) == (ERR, "state of role", flow.step_id("role"))
    assert (found[3].attempt, found[3].number) == (2, 2)
    assert [each.text for each in await read(flow, path="role")] == ["role 1", "role 2"]
    assert await read(flow, path="web") == []


async def test_a_repeated_line_stays_as_it_was(flow: Flow) -> None:
    await append(flow, line(flow, "db", 1))
    assert await append(flow, line(flow, "db", 1, "another"), line(flow, "db", 2)) == 2
    assert [each.text for each in await read(flow)] == ["db 1", "db 2"]


async def test_an_open_line_comes_again_after_the_lines_of_others(flow: Flow) -> None:
    following = asyncio.ensure_future(read(flow, follow=True))
    await waiting.eventually(lambda: flow.site.logs.watcher_count == 1)
    await append(flow, line(flow, "db", 1, "1 %", is_open=True), line(flow, "role", 1), line(flow, "role", 2))
    await append(flow, line(flow, "db", 1, "done"), line(flow, "db", 1, "late", is_open=True))
    await flow.report(*installs("role")[2:], *installs("db")[2:], finish())
    found = await asyncio.wait_for(following, 10)
    assert [each.text for each in found if each.path == "db"][-1] == "done"
    assert [each.text for each in await read(flow)] == ["role 1", "role 2", "done"]


async def test_many_lines_come_in_batches_of_a_bounded_size(flow: Flow) -> None:
    for start in range(1, 601, 200):
        await append(flow, *(line(flow, "db", number, "x" * 2_000) for number in range(start, start + 200)))
    request = pb.WatchStepLogsRequest(operation_id=flow.id)
    answers = [answer async for answer in flow.site.stub.WatchLogs(request)]
    assert all(answer.ByteSize() <= follower.MAX_BATCH_BYTES for answer in answers)
    assert [found.number for answer in answers for found in answer.lines] == list(range(1, 601))


async def test_who_follows_sees_all_until_the_operation_has_ended(flow: Flow) -> None:
    following = asyncio.ensure_future(read(flow, follow=True))
    await waiting.eventually(lambda: flow.site.logs.watcher_count == 1)
    writers = (append(flow, *(line(flow, path, n) for n in range(1, 51))) for path in ("db", "role"))
    await asyncio.gather(*writers)
    await flow.report(*installs("role")[2:], *installs("db")[2:], finish())
    await append(flow, line(flow, "db", 51))
    found = await asyncio.wait_for(following, 10)
    for path in ("db", "role"):
        assert [each.number for each in found if each.path == path][:50] == list(range(1, 51))
    assert flow.site.logs.watcher_count == 0


async def test_lines_that_are_added_side_by_side_are_all_followed(flow: Flow) -> None:
    following = asyncio.ensure_future(read(flow, follow=True))
    writers = (append(flow, line(flow, path, number)) for number in range(1, 21) for path in ("db", "role"))
    await asyncio.gather(*writers)
    await flow.report(*installs("role")[2:], *installs("db")[2:], finish())
    found = await asyncio.wait_for(following, 30)
    assert sorted((each.path, each.number) for each in found) == sorted(
        (path, number) for number in range(1, 21) for path in ("db", "role")
    )


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"step_id": "x"}, "lines[0].step_id"),
        ({"attempt": 0}, "lines[0].attempt"),
        ({"number": 0}, "lines[0].number"),
        ({"stream": 0}, "lines[0].stream"),
        ({"text": "x" * (16 * 1024 + 1)}, "lines[0].text"),
        ({"text": "\0"}, "lines[0].text"),
    ],
)
async def test_a_wrong_line_is_refused_with_its_field(flow: Flow, more: dict[str, Any], field: str) -> None:
    told = await edge.refused(append(flow, line(flow, "db", more.pop("number", 1), **more)))
    assert list(told.fields) == [field]


async def test_lines_of_others_are_refused(site: Site, flow: Flow) -> None:
    told = await edge.refused(append(flow, line(flow, "db", 1), line(flow, "db", 2, step_id=UNKNOWN)))
    assert told.metadata == {"resource_type": "STEP", "resource_id": UNKNOWN}
    assert await read(flow) == []
    nowhere = Flow(site, UNKNOWN, "shop")
    for call in (append(nowhere, line(flow, "db", 1)), read(nowhere), read(nowhere, follow=True)):
        assert (await edge.refused(call)).metadata == {"resource_type": "OPERATION", "resource_id": UNKNOWN}


async def test_more_lines_than_may_come_at_once_are_refused_before_any_is_looked_at(flow: Flow) -> None:
    assert await append(flow, *(line(flow, "db", number) for number in range(1, 1_001))) == 1_000
    told = await edge.refused(append(flow, *[line(flow, "db", 1, stream=0)] * 1_001))
    assert list(told.fields) == ["lines"]
    assert "has 1,001 lines; send at most 1,000 at once" in told.message


async def test_a_server_that_stops_ends_who_follows(flow: Flow) -> None:
    following = asyncio.ensure_future(edge.refused(read(flow, follow=True)))
    await waiting.eventually(lambda: flow.site.logs.watcher_count == 1)
    flow.site.logs.close()
    assert (await asyncio.wait_for(following, 10)).reason == "UNAVAILABLE"
