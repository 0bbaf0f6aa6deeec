"""The thread in which the blocking client lives, with its event loop."""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from tinkwell.client import errors

T = TypeVar("T")


class Runner:
    """A thread with an event loop, in which other threads run coroutines."""

    def __init__(self) -> None:
        self._started = threading.Event()
        # Over the next two, so that nothing is taken once the loop is about to end. A finalizer or a signal handler may
        # call again in the middle of a call, in the same thread.
        self._lock = threading.RLock()
        self._is_open = True
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._thread = threading.Thread(target=self._loop_until_stopped, name="tinkwell-client", daemon=True)
        self._thread.start()
        self._started.wait()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for it; an interrupt here cancels it there."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("a hook of a watch may not call the blocking client: it would wait for itself")
        future = self._take(coroutine)
        try:
            return future.result()
        except concurrent.futures.CancelledError as error:
            raise errors.Closed from error
        finally:
            self._waiting.discard(future)
            future.cancel()

    def iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """Iterate over what an asynchronous iterator there gives; leaving early ends it."""
        try:
            while (item := self.run(next_item(source))) is not None:
                yield item
        finally:
            with contextlib.suppress(errors.Closed):
                self.run(close(source))

    def stop(self) -> None:
        """End the loop, with all that still runs in it, and the thread."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _take(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        with self._lock:
            if not self._is_open:
                coroutine.close()
                raise errors.Closed
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            self._waiting.add(future)
            return future

    def _loop_until_stopped(self) -> None:
        try:
            asyncio.run(self._live())
        finally:
            for future in tuple(self._waiting):
                future.cancel()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._started.set()
        try:
            await self._stopping.wait()
        finally:
            if self._is_open:  # a hook has ended the loop, with SystemExit
                with self._lock:
                    self._is_open = False


async def next_item(source: AsyncIterator[T]) -> T | None:
    """Give the next item of an asynchronous iterator, None at its end."""
    # None is the end: nothing that is iterated over here is ever None, and StopIteration cannot leave a coroutine.
    return await anext(source, None)


async def close(source: AsyncIterator[Any]) -> None:
    """End an asynchronous iterator before its time."""
    end = getattr(source, "aclose", None)
    if end is not None:
        await end()
