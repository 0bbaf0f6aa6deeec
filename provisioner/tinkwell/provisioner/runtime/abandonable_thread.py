"""Runs blocking calls in threads, for callers in asyncio. A cancelled caller waits for the call, or abandons it."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TypeVar

T = TypeVar("T")


async def run(executor: Executor, function: Callable[[], T]) -> T:
    """Run a blocking function, which must have a time limit of its own.

    A call that has begun cannot be stopped. So a cancelled caller still waits for its end, and code that runs later
    sees the call's full effect.
    """
    call = executor.submit(function)
    end = asyncio.wrap_future(call)
    try:
        return await asyncio.shield(end)
    except asyncio.CancelledError:
        if not call.cancel():  # Not `end.cancel()`, which returns True even if the thread goes on.
            end.add_done_callback(_hear)
            await asyncio.wait([end])
        raise


def _hear(end: asyncio.Future[T]) -> None:
    """Read the error of a call that nobody waits for, so that the loop does not log it as never retrieved."""
    if not end.cancelled():
        end.exception()


class AbandonableThreads:
    """Threads for calls that may wait long for another program, and whose result is dropped if the caller has gone.

    At most `limit` calls are under way, abandoned ones included; `run` raises `OSError` beyond that. The threads do not
    keep the process from ending.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._free = threading.BoundedSemaphore(limit)
        self._name = name

    async def run(self, function: Callable[[], T], *, release: Callable[[T], object]) -> T:
        """Run a blocking function. A cancelled caller goes on at once; `release` gets a result that comes later."""
        if not self._free.acquire(blocking=False):
            raise OSError("too many calls wait for an answer already")
        call: Future[T] = Future()

        def work() -> None:
            try:
                _settle(call, function, release)
            finally:
                self._free.release()

        threading.Thread(target=work, name=self._name, daemon=True).start()
        try:
            return await asyncio.wrap_future(call)
        except asyncio.CancelledError:
            if not call.cancel():  # The call has just ended.
                call.add_done_callback(lambda ended: None if ended.exception() else release(ended.result()))
            raise


def _settle(call: Future[T], function: Callable[[], T], release: Callable[[T], object]) -> None:
    """Call the function, and hand its result to the caller, or to `release` if the caller has gone."""
    try:
        result = function()
    except Exception as error:  # The thread's outermost frame: the caller gets any error.
        if call.set_running_or_notify_cancel():
            call.set_exception(error)
        return
    if call.set_running_or_notify_cancel():
        call.set_result(result)
    else:
        release(result)
