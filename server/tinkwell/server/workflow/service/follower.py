"""The watchers of output: of a workflow, of an operation on a release, and of anything else that writes lines in order.

A watcher reads page after page. When no lines are left, it waits. A call that adds lines through this server wakes it.
Lines may also be added through another server, so the watcher looks again twice a second. It keeps nothing but its
position, so a slow watcher costs no memory.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from tinkwell.core import errors

MAX_BATCH_BYTES = 256 * 1024
MAX_WATCHERS = 200
# A line has at most 16 KiB, so a page takes at most 4 MiB.
PAGE = 256
POLL_SECONDS = 0.5

# The bytes of a line on the wire besides its texts.
_FIELDS_BYTES = 100

L = TypeVar("L")
L_co = TypeVar("L_co", covariant=True)


class Page(Protocol[L_co]):
    """A page of lines in order, and whether their source was over when the page was read."""

    @property
    def lines(self) -> Sequence[L_co]:
        """At most a page of lines, plus one line before them that has changed."""

    @property
    def is_over(self) -> bool:
        """Whether no more lines will follow, except those that did not fit into a full page."""


class Followers:
    """The watchers of one kind of output through this server, by the id of the source."""

    def __init__(self, *, poll_seconds: float = POLL_SECONDS, page: int = PAGE) -> None:
        self._poll_seconds = poll_seconds
        self._page = page
        # The entry of an id is removed with its last watcher.
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._is_closed = False

    def close(self) -> None:
        """End all watchers that wait for more lines. Their clients may go on at another server."""
        self._is_closed = True
        for key in self._waiting:
            self.wake(key)

    @property
    def count(self) -> int:
        """The number of watchers now."""
        return sum(len(watchers) for watchers in self._waiting.values())

    def wake(self, key: str) -> None:
        """Wake the watchers that wait for lines of this id."""
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
        """Yield lines in batches. With `follow`, go on until the source is over and all of its lines are sent.

        `read` returns the page after a line, or the first page. `size` returns the bytes of a line's texts. Raises
        `errors.LimitReached` if there are too many watchers, and `errors.Unavailable` after `close`.
        """
        with self._watching(key) as woken:
            last: L | None = None
            while True:
                # Cleared before the page is read, so that lines which are added later wake this watcher again.
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
