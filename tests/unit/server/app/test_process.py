"""What a process does on a signal, and with errors that come together."""

import asyncio
import os
import resource
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


def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def work() -> tuple[int, int]:
        return resource.getrlimit(resource.RLIMIT_NOFILE)

    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    try:
        assert process.run(work()) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_limit_that_cannot_be_raised_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: int, limits: tuple[int, int]) -> None:
        raise ValueError("not allowed to raise maximum limit")

    async def work() -> int:
        return 42

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert process.run(work()) == 42
