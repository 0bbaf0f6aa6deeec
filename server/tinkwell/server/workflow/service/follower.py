"""Those who watch output: of a workflow, of an operation on a release, of whatever writes one line after another.

A watcher reads page after page. With nothing left it waits: whoever adds lines through this server wakes it, and as
lines may also come in through another server it looks again twice a second. It holds nothing but its place, so it may
be as slow as it likes.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from tinkwell.core import errors

MAX_BATCH_BYTES = 256 * 1024
MAX_WATCHERS = 200
# Lines may have 16 KiB each, so that a page takes 4 MiB at most.
PAGE = 256
POLL_SECONDS = 0.5

# What a line takes on the wire besides its texts.
_FIELDS_BYTES = 100

L = TypeVar("L")
L_co = TypeVar("L_co", covariant=True)


class Page(Protocol[L_co]):
    """Lines in their order, and whether what wrote them was over when they were read."""

    @property
    def lines(self) -> Sequence[L_co]:
        """At most a page of lines, and one more that has changed."""

    @property
    def is_over(self) -> bool:
        """Whether no more lines will follow these, but for those that a full page has left out."""


class Followers:
    """The watchers of one kind of output through this server, by the id of what writes it."""

    def __init__(self, *, poll_seconds: float = POLL_SECONDS, page: int = PAGE) -> None:
        self._poll_seconds = poll_seconds
        self._page = page
        # An entry goes with its last watcher.
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._is_closed = False

    def close(self) -> None:
        """End every watcher that waits for more; it may go on at another server."""
        self._is_closed = True
        for key in self._waiting:
            self.wake(key)

    @property
    def count(self) -> int:
        """The number of watchers at this moment."""
        return sum(len(watchers) for watchers in self._waiting.values())

    def wake(self, key: str) -> None:
        """Have those look who wait for lines of this."""
        for woken in self._waiting.get(key, ()):
            woken.set()

    async def watch(
        self,
        key: str,
        read: Callable[[L | None], Awaitable[Page[L]]],
        size: Callable[[L], int],
        *,
        follow: bool,
    ) -> AsyncGenerator[Sequence[L], None]:
        """Yield lines in batches; with `follow`, go on until it is over and all is sent.

        `read` returns the page after a line, or the first one, and `size` the bytes of a line's texts. Raises
        `errors.LimitReached` for too many watchers, and `errors.Unavailable` once closed.
        """
        with self._watching(key) as woken:
            last: L | None = None
            while True:
                # Before the page is read: what comes in later than the page wakes this watcher again.
                woken.clear()
                page = await read(last)
                for batch in _batches(page.lines, size):
                    last = batch[-1]
                    yield batch
                if len(page.lines) >= self._page:
                    continue
                if page.is_over or not follow:
                    return
                await _wait(woken, self._poll_seconds)
                if self._is_closed:
                    raise errors.Unavailable("the server is stopping; try again")

    @contextlib.contextmanager
    def _watching(self, key: str) -> Iterator[asyncio.Event]:
        if self.count >= MAX_WATCHERS:
            raise errors.LimitReached(f"{MAX_WATCHERS} others are reading output through this server; try again")
        woken = asyncio.Event()
        self._waiting.setdefault(key, set()).add(woken)
        try:
            yield woken
        finally:
            self._waiting[key].discard(woken)
            if not self._waiting[key]:
                del self._waiting[key]


async def _wait(woken: asyncio.Event, timeout_seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_seconds):
            await woken.wait()


def _batches(lines: Sequence[L], size: Callable[[L], int]) -> Iterator[Sequence[L]]:
    batch: list[L] = []
    room = MAX_BATCH_BYTES
    for line in lines:
        needed = size(line) + _FIELDS_BYTES
        if batch and needed > room:
            yield batch
            batch, room = [], MAX_BATCH_BYTES
        batch.append(line)
        room -= needed
    if batch:
        yield batch
