"""Reads an HTTP answer of the engine as it comes: a thread reads into a buffer, and a task takes the buffer.

A log comes in one chunk for each line. Handing over each chunk costs more than reading it, so the thread collects
chunks and the task takes all of them at once. If the buffer is full, the thread waits, and so does the engine, because
the socket is not read.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor

import requests

MAX_GATHERED_BYTES = 256 * 1024
# How long a stream may be silent after the end of its container, in case the engine does not end it.
END_SILENCE_SECONDS = 5.0
CLOSE_SECONDS = 5.0


class BrokenStreamError(Exception):
    """The answer broke off before its end."""


class Stream:
    """One answer, with one reader. It breaks off after `silence_seconds` without a byte, never if that is None."""

    def __init__(self, response: requests.Response, threads: ThreadPoolExecutor, silence_seconds: float | None) -> None:
        self._response = response
        self._threads = threads
        self._socket: socket.socket = response.raw.connection.sock  # type: ignore[union-attr]  # it is still unread
        self._socket.settimeout(silence_seconds)
        self._loop = asyncio.get_running_loop()
        self._has_news = asyncio.Event()
        self._limit: asyncio.Timeout | None = None
        self._is_ending = False
        self._is_nudged = False
        # The lock guards what follows; the thread waits on it for room.
        self._room = threading.Condition()
        self._gathered = bytearray()
        self._is_over = False
        self._error: Exception | None = None

    def end_soon(self) -> None:
        """End the stream at the next silence of `END_SILENCE_SECONDS`, because its container has ended."""
        self._is_ending = True
        if self._limit is not None and self._limit.when() is None:
            self._limit.reschedule(self._loop.time() + END_SILENCE_SECONDS)

    def nudge(self) -> None:
        """Wake the reader: it gets a chunk, which may be empty."""
        self._is_nudged = True
        self._has_news.set()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield chunks to the end; raises `BrokenStreamError` if the answer breaks off. The user must close it."""
        reading = self._threads.submit(self._read)
        try:
            is_over = False
            while not is_over:
                await self._wait_for_news()
                chunk, is_over = self._take()
                is_nudged, self._is_nudged = self._is_nudged, False
                if chunk or is_nudged:
                    yield chunk
        finally:
            self._cut()
            if reading.cancel():
                self._response.close()
            else:
                await asyncio.wait([asyncio.wrap_future(reading)], timeout=CLOSE_SECONDS)
        if self._error is not None:
            raise BrokenStreamError(str(self._error)) from self._error

    async def _wait_for_news(self) -> None:
        try:
            async with asyncio.timeout(END_SILENCE_SECONDS if self._is_ending else None) as self._limit:
                await self._has_news.wait()
        except TimeoutError:
            self._finish()
        finally:
            self._limit = None

    def _take(self) -> tuple[bytes, bool]:
        """Return the content of the buffer, and whether no more will come."""
        with self._room:
            self._has_news.clear()
            chunk, is_over = bytes(self._gathered), self._is_over
            self._gathered.clear()
            self._room.notify()
        return chunk, is_over

    def _cut(self) -> None:
        """Shut down the socket, so that the thread ends.

        If the answer was read to its end, the connection may serve another request already, and is left alone.
        """
        self._finish()
        if self._response.raw.connection is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        """Read to the end, in the thread."""
        try:
            for chunk in self._response.iter_content(None):
                if not self._gather(chunk):
                    break
            self._finish()
        except Exception as error:  # The thread's outermost frame: the reader gets any error.
            self._finish(error)
        finally:
            self._response.close()

    def _gather(self, chunk: bytes) -> bool:
        """Add a chunk as soon as there is room; False if the reader has gone."""
        with self._room:
            self._room.wait_for(lambda: len(self._gathered) < MAX_GATHERED_BYTES or self._is_over)
            if self._is_over:
                return False
            if not self._gathered:
                self._loop.call_soon_threadsafe(self._has_news.set)
            self._gathered += chunk
        return True

    def _finish(self, error: Exception | None = None) -> None:
        """Mark the end, with an error if there was one. Only the first call counts."""
        with self._room:
            if not self._is_over:
                self._is_over = True
                self._error = error
                self._room.notify()
                self._loop.call_soon_threadsafe(self._has_news.set)
