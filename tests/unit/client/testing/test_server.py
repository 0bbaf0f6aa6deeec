"""What the fake server does on demand, and no real one does."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tinkwell.client import Action, Client, State, Workflow, errors, testing
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.client.workflow.model import Report
from tinkwell.core import errors as core_errors

Answer = Callable[[], Awaitable[Any]]


@pytest.fixture(autouse=True)
def workflow(server: testing.FakeServer) -> None:
    """A workflow of two actions on one machine."""
    server.put(Workflow("w", total_actions=2, global_timeout_seconds=3600))
    for index in range(2):
        action = Action(f"w-{index}", "w", index, worker_id="m", task_name="task", name=f"step {index}")
        server.put(dataclasses.replace(action, timeout_seconds=60, retries=1, retry_delay_seconds=30))


def report(index: int, state: State) -> Report:
    return Report(workflow_id="w", action_id=f"w-{index}", worker_id="m", state=state, attempt=1)


async def start(client: Client) -> None:
    await client.workflows.report("w", action_id="w-0", worker_id="m", state=State.RUNNING)


async def test_deadlines_and_delays_follow_its_clock(server: testing.FakeServer, client: Client) -> None:
    await start(client)
    server.clock.advance(50)
    (running, _) = await client.workflows.actions("w")
    assert 0 < (running.remaining_seconds or 0) <= 10
    assert (await client.workflows.expire("w")).revision == 0
    server.clock.advance(41)
    assert (await client.workflows.expire("w")).revision > 0
    (waiting, _) = await client.workflows.actions("w")
    assert waiting.state is State.PENDING
    assert 20 < (waiting.wait_seconds or 0) <= 30
    server.clock.advance(30)
    assert (await client.workflows.actions("w"))[0].wait_seconds is None


async def test_where_its_clock_runs_fast_clients_are_told_to_wait_for_less(
    server: testing.FakeServer, client: Client
) -> None:
    server.clock.run(100.0)
    await start(client)
    (running, _) = await client.workflows.actions("w")
    assert 0 < (running.remaining_seconds or 0) <= 0.6
    assert running.timeout_seconds == 60


async def test_what_stands_around_a_call_may_lose_its_answer(server: testing.FakeServer, client: Client) -> None:
    async def lose_answer(call: ReceivedCall, answer: Answer) -> Any:
        response = await answer()
        if call.method == "ReportActionStatus":
            raise core_errors.Unavailable("the line is cut")
        return response

    server.gate.around = lose_answer
    with pytest.raises(errors.Unavailable):
        await start(client)
    assert (await client.workflows.actions("w"))[0].state is State.RUNNING


async def test_reports_that_come_together_pass_it_one_by_one(server: testing.FakeServer, client: Client) -> None:
    passed: list[str] = []

    async def refuse_success(call: ReceivedCall, answer: Answer) -> Any:
        passed.append(call.method)
        if call.method == "ReportActionStatus" and call.request.action_id == "w-1":
            raise core_errors.Unavailable("not now")
        return await answer()

    server.gate.around = refuse_success
    taken, refused = await client.workflows.report_together([report(0, State.RUNNING), report(1, State.RUNNING)])
    assert not isinstance(taken, errors.Error)
    assert isinstance(refused, errors.Unavailable)
    assert passed == ["ReportActionStatuses", "ReportActionStatus", "ReportActionStatus"]


async def test_what_stands_around_a_stream_keeps_it_from_beginning(server: testing.FakeServer, client: Client) -> None:
    async def refuse(call: ReceivedCall, answer: Answer) -> Any:
        raise core_errors.NotFound("WORKFLOW", call.method)

    server.gate.around = refuse
    with pytest.raises(errors.NotFound, match="ListWorkflows"):
        await anext(client.workflows.list())


async def test_a_paused_log_delivers_nothing_until_it_goes_on(server: testing.FakeServer, client: Client) -> None:
    async with client.events.watch(now=True) as events:
        server.log.pause()
        await client.events.publish("rack.opened")
        waiting = asyncio.ensure_future(anext(events))
        for _ in range(5):
            await client.workflows.get("w")
        assert not waiting.done()
        server.log.resume()
        assert (await waiting).name == "rack.opened"


async def test_a_watch_of_a_paused_log_ends_with_its_history(server: testing.FakeServer, client: Client) -> None:
    async with client.events.watch(now=True) as events:
        server.log.pause()
        server.change_history()
        with pytest.raises(errors.HistoryGone):
            await anext(events)


async def test_its_token_may_change(server: testing.FakeServer, client: Client) -> None:
    assert [each.id async for each in client.workflows.list()] == ["w"]
    server.gate.token = "another"
    with pytest.raises(errors.Unauthenticated):
        await client.workflows.get("w")
