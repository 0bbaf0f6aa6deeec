"""The one task of a process that reads the log and publishes it to the hub.

    ┌────────┐ first session  ┌──────────┐ holders gone  ┌──────┐  nothing new, no gap  ┌────────┐
    │ closed │───────────────▶│ starting │──────────────▶│ awake│──────────────────────▶│ asleep │
    └────────┘                └──────────┘               └──────┘◀──────────────────────└────────┘
        ▲       another history, or events were forgotten   │      rung, or after a while
        └────────────────────────────────────────────────────┘

Awake it polls every few milliseconds and needs no notification, so that writers under load stay silent. It sleeps only
while it holds the bell, which makes every writer ring, and only when a last poll *after* it got the bell found nothing:
a silent writer keeps the bell from being had until its rows are visible.

When a connection is lost, watchers stay: the position and the gaps are kept, what was known about holders is not, and
reading goes on over a new session. Only another history, or events forgotten before they were read, end the streams.
"""

import asyncio
import dataclasses
import logging
import random
import time
from collections.abc import Callable

from tinkwell.core import errors
from tinkwell.core.log import SourceLost
from tinkwell.server.watch import source
from tinkwell.server.watch.hub import Hub
from tinkwell.server.watch.tail import Tail

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Pace:
    """How eagerly the reader works; all in seconds."""

    poll_seconds: float = 0.002
    awake_seconds: float = 0.010
    ask_again_seconds: float = 0.010
    # A sleeper compares positions this often, should a ring have been lost against all reason.
    check_seconds: float = 1.0
    # Stays below a third of the bell session's idle timeout, which frees the bell of a frozen process.
    longest_sleep_seconds: float = 5.0
    first_backoff_seconds: float = 0.05
    longest_backoff_seconds: float = 2.0
    warn_after_seconds: float = 5.0


@dataclasses.dataclass(slots=True)
class Counts:
    """What the reader has done since it was made."""

    polls: int = 0
    sleeps: int = 0
    rings: int = 0
    gap_waits: int = 0
    sessions: int = 0


class _HistoryEnded(Exception):
    """Positions mean nothing any more; carries what watchers are told."""

    def __init__(self, reason: errors.TinkwellError) -> None:
        self.reason = reason
        super().__init__(str(reason))


class Reader:
    """Reads a source and publishes to a hub until cancelled."""

    def __init__(
        self,
        log: source.Source,
        hub: Hub,
        *,
        waiting_bytes: int = 64 << 20,
        pace: Pace | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._hub = hub
        self._waiting_bytes = waiting_bytes
        self._pace = pace or Pace()
        self._clock = clock
        self._tail: Tail | None = None
        self.counts = Counts()
        self.is_connected = False

    async def run(self) -> None:
        """Follow the log; a lost connection is replaced after a pause that grows while the database stays away."""
        failures = 0
        while True:
            started = self._clock()
            try:
                async with self._log.session() as session:
                    self.counts.sessions += 1
                    await self._follow(session)
            except SourceLost as error:
                logger.warning("the event log is out of reach", extra={"cause": str(error)})
            except _HistoryEnded as ended:
                logger.warning("watchers must start over", extra={"cause": str(ended)})
                self._tail = None
                self._hub.close(ended.reason)
            finally:
                self.is_connected = False
            failures = 0 if self._clock() - started > self._pace.longest_backoff_seconds else failures + 1
            longest = min(self._pace.first_backoff_seconds * 2**failures, self._pace.longest_backoff_seconds)
            await asyncio.sleep(random.uniform(0, longest))  # noqa: S311

    async def _follow(self, session: source.Session) -> None:
        await self._join(session)
        self.is_connected = True
        quiet_since = self._clock()
        while True:
            began = self._clock()
            if await self._poll(session):
                quiet_since = self._clock()
            # At most half of the time goes into polling.
            pause = max(self._pace.poll_seconds, self._clock() - began)
            if self._clock() - quiet_since >= self._pace.awake_seconds:
                if await self._sleep(session):
                    quiet_since, pause = self._clock(), 0
                else:
                    pause = self._pace.ask_again_seconds
            await asyncio.sleep(pause)

    async def _join(self, session: source.Session) -> None:
        seen = self._tail.tail if self._tail is not None else 0
        history = await session.history(seen=seen, known=self._hub.history_id)
        if self._tail is not None:
            if history.history_id != self._hub.history_id:
                raise _HistoryEnded(
                    errors.OtherHistory("the database is another one than before", history_id=history.history_id)
                )
            self._tail.forget_holders()
            return
        last = max(await session.last_revision(), history.oldest_revision - 1)
        await self._wait_for_holders(session)
        self._tail = Tail(last=last, waiting_bytes=self._waiting_bytes)
        self._hub.open(history_id=history.history_id, last=last)
        logger.info("the event log is open", extra={"history_id": history.history_id, "revision": last})

    async def _wait_for_holders(self, session: source.Session) -> None:
        """Wait until whoever may have drawn a revision below the start has ended: from then on all of it is visible."""
        remaining = await session.holders()
        warn_at = self._clock() + self._pace.warn_after_seconds
        while remaining:
            if self._clock() >= warn_at:
                logger.warning("open transactions keep the event log closed", extra={"holders": sorted(remaining)})
                warn_at = float("inf")
            await asyncio.sleep(self._pace.ask_again_seconds)
            remaining &= await session.holders()

    async def _poll(self, session: source.Session) -> bool:
        """Read until a page is whole; return whether anything was new or is still missing."""
        tail = self._tail
        assert tail is not None
        is_busy = False
        while True:
            self.counts.polls += 1
            before = tail.tail, tail.released
            page = await session.page(gaps=tail.gaps, tail=tail.tail if tail.may_advance else None)
            if tail.is_settling:
                # Forgotten events look like rolled-back ones; this is read after the page, so it covers it.
                await self._check_kept(session, tail)
            released = tail.observe(page)
            self._hub.publish(released, released=tail.released)
            is_busy = is_busy or (tail.tail, tail.released) != before
            if tail.needs_holders:
                self.counts.gap_waits += 1
                tail.observe_holders(await session.holders())
            if not page.is_cut:
                return is_busy or bool(tail.gaps)

    async def _check_kept(self, session: source.Session, tail: Tail) -> None:
        oldest = await session.oldest_revision()
        if oldest > tail.next:
            raise _HistoryEnded(errors.Compacted(tail.next, oldest))

    async def _sleep(self, session: source.Session) -> bool:
        """Sleep until rung; return False when a writer is silent at this moment, so that nobody may sleep."""
        bell = session.bell
        # Cleared before the last poll: what rings from here on is seen after it.
        bell.clear()
        if not await bell.hush():
            return False
        try:
            if not await self._poll(session):
                self.counts.sleeps += 1
                await self._doze(session, bell)
        finally:
            await bell.release()
        return True

    async def _doze(self, session: source.Session, bell: source.Bell) -> None:
        tail = self._tail
        assert tail is not None
        wake_at = self._clock() + self._pace.longest_sleep_seconds
        while not bell.is_rung and self._clock() < wake_at:
            if await bell.wait(self._pace.check_seconds):
                self.counts.rings += 1
            elif (drawn := await session.last_drawn()) > tail.tail:
                return
            elif drawn < tail.tail:
                raise SourceLost("the log is shorter than it was")
