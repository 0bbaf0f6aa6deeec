"""The way of output to the server, and what waits for it."""

import asyncio

import pytest
from unit.provisioner.stage import Stage, action

from support.waiting import eventually
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.client.workflow.model import LogStream
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.provisioner.agent import output_shipper

RUNNING, SUCCEEDED = State.RUNNING, State.SUCCEEDED


async def test_output_is_sent_in_batches_and_in_order(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        await run.write("first\n")
        await eventually(lambda: stage.server.texts("w-0") == ["first"])
        stage.server.takes_logs.clear()
        expected = ["first"]
        for number in range(300):
            await run.write(f"{number}\n", LogStream.STDERR if number % 2 else LogStream.STDOUT)
            expected.append(str(number))
        stage.server.takes_logs.set()
        await run.exit(0)
        await stage.reaches("w", SUCCEEDED)
    assert stage.server.texts("w-0") == expected
    lines = stage.server.lines["w-0"]
    assert [line.number for line in lines] == list(range(1, 302))
    assert {line.stream for line in lines[1:]} == {LogStream.STDOUT, LogStream.STDERR}
    assert len(stage.server.batches) < 50


async def test_reading_output_waits_for_a_server_that_does_not_take_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_shipper, "QUEUE_LINES", 10)
    stage.server.takes_logs.clear()
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        await run.write("line\n" * 1000)
        await run.exit(0)
        await eventually(lambda: run.lines_read > 10)
        for _ in range(100):
            await asyncio.sleep(0)
        # The queue, the batch under way, and the line in hand.
        assert run.lines_read <= 10 + 10 + 1
        assert stage.server.states("w") == [RUNNING]
        stage.server.takes_logs.set()
        await stage.reaches("w", SUCCEEDED)
    assert len(stage.server.texts("w-0")) == 1000


async def test_the_end_is_reported_after_the_output(stage: Stage) -> None:
    stage.server.takes_logs.clear()
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        await run.write("unsent\n")
        await run.exit(0)
        await eventually(lambda: run.lines_read == 1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert stage.server.states("w") == [RUNNING]
        stage.server.takes_logs.set()
        await stage.reaches("w", SUCCEEDED)


async def test_output_that_the_server_refuses_does_not_hold_up_the_action(stage: Stage) -> None:
    async def refuse(call: ReceivedCall) -> None:
        if call.method == "AppendLogs":
            raise errors.InvalidField.of("lines", "no")

    stage.server.on_call = refuse
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        await run.write("x\n" * 2000)
        await run.exit(0)
        await stage.reaches("w", SUCCEEDED)


async def test_output_that_the_server_fails_on_does_not_hold_up_the_action(stage: Stage) -> None:
    async def fail(call: ReceivedCall) -> None:
        if call.method == "AppendLogs":
            raise errors.TinkwellError("a bug")

    stage.server.on_call = fail
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        await run.write("x\n")
        await run.exit(0)
        await stage.reaches("w", SUCCEEDED)


async def test_a_progress_is_sent_at_once_and_then_as_often_as_a_second_passes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_shipper, "OPEN_SECONDS", 3600.0)

    def told() -> list[tuple[int, str, bool]]:
        return [(line.number, line.text, line.is_open) for line in stage.server.lines.get("w-0", ())]

    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        await run.write("1 %\r")
        await eventually(lambda: told() == [(1, "1 %", True)])
        for number in range(2, 1000):
            await run.write(f"{number} %\r")
        await stage.rest()
        assert told() == [(1, "1 %", True)]
        monkeypatch.setattr(output_shipper, "OPEN_SECONDS", 0.01)
        await run.write("done\n50 %\r")
        await eventually(lambda: told() == [(1, "done", False), (2, "50 %", True)])
        await run.write("51 %\r")
        await eventually(lambda: told() == [(1, "done", False), (2, "51 %", True)])
        await run.exit(0)
        await stage.reaches("w", SUCCEEDED)
    assert told() == [(1, "done", False), (2, "51 %", False)]
    assert len(stage.server.batches) < 10
