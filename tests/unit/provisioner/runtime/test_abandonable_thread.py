"""Blocking calls from asyncio."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.waiting import eventually
from tinkwell.provisioner.runtime import abandonable_thread


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


async def test_a_call_gives_its_result_or_its_error(executor: ThreadPoolExecutor) -> None:
    assert await abandonable_thread.run(executor, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await abandonable_thread.run(executor, lambda: 1 // 0)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancelled_caller_returns_only_after_the_call_has_ended(
    executor: ThreadPoolExecutor, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    began, may_end = threading.Event(), threading.Event()
    ended = []

    def block() -> None:
        began.set()
        may_end.wait()
        ended.append(True)
        if fails:
            raise OSError

    caller = asyncio.ensure_future(abandonable_thread.run(executor, block))
    await eventually(began.is_set)
    caller.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not caller.done()
    may_end.set()
    await asyncio.wait([caller])
    assert caller.cancelled()
    assert ended == [True]
    # Futures tell of errors that nobody has heard of when they are forgotten.
    del caller
    gc.collect()
    assert not caplog.records


async def test_a_call_that_has_not_begun_is_not_made_for_a_cancelled_caller(executor: ThreadPoolExecutor) -> None:
    may_end = threading.Event()
    made = []
    first = asyncio.ensure_future(abandonable_thread.run(executor, may_end.wait))
    second = asyncio.ensure_future(abandonable_thread.run(executor, lambda: made.append(True)))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    may_end.set()
    await first
    assert made == []


async def test_an_abandonable_call_gives_its_result_or_its_error() -> None:
    threads = abandonable_thread.AbandonableThreads(1, "test")
    assert await threads.run(lambda: 7, release=lambda _: None) == 7
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0, release=lambda _: None)
    await eventually(lambda: not any(each.name == "test" for each in threading.enumerate()))


async def test_a_caller_that_is_cancelled_goes_at_once_and_the_late_result_is_released() -> None:
    threads = abandonable_thread.AbandonableThreads(1, "test")
    began, may_end = threading.Event(), threading.Event()
    released: list[int] = []

    def block() -> int:
        began.set()
        may_end.wait()
        return 7

    caller = asyncio.ensure_future(threads.run(block, release=released.append))
    await eventually(began.is_set)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    # The thread is still taken, and nobody waits for ever for another one.
    with pytest.raises(OSError, match="too many calls"):
        await threads.run(lambda: 8, release=released.append)
    may_end.set()
    await eventually(lambda: released == [7])
    await eventually(lambda: not any(each.name == "test" for each in threading.enumerate()))
    assert await threads.run(lambda: 9, release=released.append) == 9
