"""Work in threads keeps to its limit, whatever becomes of those who wait for it."""

import asyncio
import contextlib
import threading

import pytest

from support import waiting
from tinkwell.server.database import offload


class Work:
    """A function that runs until it is let go, and counts who is in it."""

    def __init__(self) -> None:
        self.inside = 0
        self.entered = 0
        self.let_go = threading.Event()
        self._lock = threading.Lock()

    def __call__(self) -> int:
        with self._lock:
            self.inside += 1
            self.entered += 1
        try:
            if not self.let_go.wait(timeout=10):
                raise AssertionError("nobody let it go")
        finally:
            with self._lock:
                self.inside -= 1
        return threading.get_ident()


async def test_it_runs_in_another_thread_and_returns_the_result() -> None:
    assert await offload.Aside(1).run(threading.get_ident) != threading.get_ident()
    assert await offload.Aside(1).run(int, "12", base=8) == 10


async def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await offload.Aside(1).run(int, "x")


async def test_no_more_than_the_limit_run_at_a_time() -> None:
    work, limited = Work(), offload.Aside(2)
    calls = [asyncio.create_task(limited.run(work)) for _ in range(4)]
    await waiting.eventually(lambda: work.inside == 2)
    work.let_go.set()
    await asyncio.gather(*calls)
    assert work.entered == 4


async def test_a_cancelled_caller_frees_no_turn_while_its_thread_goes_on() -> None:
    work, limited = Work(), offload.Aside(1)
    call = asyncio.create_task(limited.run(work))
    await waiting.eventually(lambda: work.inside == 1)
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call
    second = asyncio.create_task(limited.run(threading.get_ident))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not second.done()
    work.let_go.set()
    await second


async def test_an_error_that_nobody_waits_for_any_more_frees_the_turn_quietly() -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    hold = threading.Event()

    def fail() -> None:
        hold.wait(timeout=10)
        raise ValueError("too late")

    limited = offload.Aside(1)
    call = asyncio.create_task(limited.run(fail))
    await asyncio.sleep(0)
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call
    hold.set()
    await limited.run(int)
    del call
    assert complaints == []


async def test_others_have_their_turn_between_pieces() -> None:
    order: list[str] = []

    async def other() -> None:
        while True:
            order.append("other")
            await asyncio.sleep(0)

    def make(number: int) -> int:
        order.append("made")
        return number * 2

    beside = asyncio.ensure_future(other())
    assert await offload.each(make, range(3 * offload.PIECE)) == [number * 2 for number in range(3 * offload.PIECE)]
    beside.cancel()
    await asyncio.gather(beside, return_exceptions=True)
    assert order == [*["made"] * offload.PIECE, "other"] * 3
    assert await offload.each(make, ()) == []
