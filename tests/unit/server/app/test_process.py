"""What a process does on a signal, and with errors that come together."""

import asyncio
import os
import signal

import pytest

from tinkwell.server.app import process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_work_and_lets_it_clean_up(number: signal.Signals) -> None:
    cleaned = []

    async def work() -> str:
        try:
            os.kill(os.getpid(), number)
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)
        return "unreachable"

    assert process.run(work()) is None
    assert cleaned == [True]


def test_the_result_of_finished_work_is_returned() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 42

    assert process.run(work()) == 42


def test_an_error_inside_of_groups_is_raised_by_itself() -> None:
    async def fail() -> None:
        raise LookupError("the cause")

    async def work() -> None:
        async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
            outer.create_task(asyncio.sleep(3600))
            inner.create_task(fail())

    with pytest.raises(LookupError, match="the cause"):
        process.run(work())
