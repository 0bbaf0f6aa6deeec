"""Blocking calls from asyncio, made to their end, or abandoned."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TypeVar

T = TypeVar("T")


async def run(executor: Executor, function: Callable[[], T]) -> T:
    """Run a blocking function, which must have a time limit of its own.

    A call that has begun has its effect whether somebody waits or not. So a cancelled caller still waits for its end:
    whoever looks afterwards then sees what became of it.
    """
    call = executor.submit(function)
    end = asyncio.wrap_future(call)
    try:
        return await asyncio.shield(end)
    except asyncio.CancelledError:
        if not call.cancel():  # the call, not its asyncio future: that one says yes whatever the thread does
            end.add_done_callback(_hear)
            await asyncio.wait([end])
        raise


def _hear(end: asyncio.Future[T]) -> None:
    """Take an error that nobody waits for any more, or the loop would log it as one that was overlooked."""
    if not end.cancelled():
        end.exception()


class AbandonableThreads:
    """Threads for calls that wait long for somebody else, and whose result nobody needs once the caller has gone.

    At most `limit` calls are under way, abandoned ones included; where there are as many, `run` raises `OSError`. They
    do not keep the process from ending.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._free = threading.BoundedSemaphore(limit)
        self._name = name

    async def run(self, function: Callable[[], T], *, release: Callable[[T], object]) -> T:
        """Run a blocking function; a cancelled caller goes at once, and a result that comes later is released."""
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
            if not call.cancel():  # it has ended this very moment
                call.add_done_callback(lambda ended: None if ended.exception() else release(ended.result()))
            raise


def _settle(call: Future[T], function: Callable[[], T], release: Callable[[T], object]) -> None:
    """Call, and give the result to who waits for it, or back."""
    try:
        result = function()
    except Exception as error:  # the thread's outermost frame: whatever it was, who waits must hear of it
        if call.set_running_or_notify_cancel():
            call.set_exception(error)
        return
    if call.set_running_or_notify_cancel():
        call.set_result(result)
    else:
        release(result)
