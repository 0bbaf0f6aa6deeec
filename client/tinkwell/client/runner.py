"""The background thread of the blocking client, with its event loop."""

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
        # Guards the next two fields: no coroutine is accepted once the loop is about to end. The lock is reentrant,
        # because a finalizer or a signal handler may call in the same thread in the middle of a call.
        self._lock = threading.RLock()
        self._is_open = True
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._thread = threading.Thread(target=self._loop_until_stopped, name="tinkwell-client", daemon=True)
        self._thread.start()
        self._started.wait()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread and wait for its end. An interrupt of the caller cancels the coroutine."""
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
        """Iterate over an asynchronous iterator that runs in the thread. Leaving the loop early closes it."""
        try:
            while (item := self.run(next_item(source))) is not None:
                yield item
        finally:
            with contextlib.suppress(errors.Closed):
                self.run(close(source))

    def stop(self) -> None:
        """Cancel everything that runs in the loop, and end the loop and the thread."""
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
            if self._is_open:  # a hook has ended the loop by raising SystemExit
                with self._lock:
                    self._is_open = False


async def next_item(source: AsyncIterator[T]) -> T | None:
    """Return the next item of an asynchronous iterator, None at its end."""
    # None means the end, because StopIteration cannot leave a coroutine. No item is ever None.
    return await anext(source, None)


async def close(source: AsyncIterator[Any]) -> None:
    """Close an asynchronous iterator before its end."""
    end = getattr(source, "aclose", None)
    if end is not None:
        await end()
