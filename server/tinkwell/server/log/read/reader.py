"""The task of a process that reads the log and publishes its events to the hub.

    ┌────────┐ first session  ┌──────────┐ holders gone  ┌──────┐  nothing new, no gap  ┌────────┐
    │ closed │───────────────▶│ starting │──────────────▶│ awake│──────────────────────▶│ asleep │
    └────────┘                └──────────┘               └──────┘◀──────────────────────└────────┘
        ▲       another history, or events were forgotten   │    often rung, or after a while
        └───────────────────────────────────────────────────┘

It takes the steps that `tinkwell.server.log.read.state_machine` names, and decides when. While it is awake it polls
about every millisecond and needs no notification, so writers do not ring; while single events come and the process has
nothing else to do, it polls without pauses. While it is asleep it holds the bell: every writer rings and sends its
event along, so the reader need not read a page. It stays asleep as long as the load is low.

When a connection is lost, the watchers stay. The position and the gaps are kept, the holders are not, and reading goes
on over a new session. Only another history, or events that were forgotten before they were read, end the watches.
"""

import asyncio
import contextlib
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence

from tinkwell.core.event import holder
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import SourceLost
from tinkwell.core.value import backoff
from tinkwell.server.log import source
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.read.count import Counts, Wait
from tinkwell.server.log.read.errand import Errand
from tinkwell.server.log.read.pace import Pace
from tinkwell.server.log.read.state_machine import Cycle, HistoryEnded, Step
from tinkwell.server.log.read.wake_policy import Load
from tinkwell.server.log.read.witness import Witness

logger = logging.getLogger(__name__)


class Reader:
    """Reads a source and publishes to a hub until cancelled.

    If another source has already opened the hub, the reader goes on after the hub's last event, provided that the
    history is the same.
    """

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
        self._cycle: Cycle | None = None
        self._drive: _Drive | None = None
        self.counts = Counts()
        self._witness = Witness()

    @property
    def is_connected(self) -> bool:
        """Whether the log is being read."""
        return self._drive is not None and self._drive.is_reading

    async def run(self) -> None:
        """Read the log. Replace a lost connection after a pause, which grows while the database is out of reach."""
        try:
            await self._run()
        finally:
            self.counts.wait, self.counts.closed_by = None, ""

    async def _run(self) -> None:
        first, limit = self._pace.first_backoff_seconds, self._pace.longest_backoff_seconds
        failures = 0
        while True:
            started = self._clock()
            try:
                async with self._log.session() as session:
                    self.counts.sessions += 1
                    await self._follow(session)
            except SourceLost as error:
                logger.warning("the event log is out of reach", extra={"cause": str(error)})
            except HistoryEnded as ended:
                logger.warning("watchers must start over", extra={"cause": str(ended)})
                self._cycle, self._witness = None, Witness()
                self._hub.close(ended.reason)
            finally:
                self._drive = None
                self.counts.closed_by = ""
            failures = 0 if self._clock() - started > limit else failures + 1
            await asyncio.sleep(random.uniform(0, backoff.bound_seconds(failures, first=first, limit=limit)))  # noqa: S311

    async def _follow(self, session: source.Session) -> None:
        # Another source may have published to the hub since the last session.
        if self._cycle is None or self._cycle.tail.released != self._hub.released:
            self._cycle, self._witness = Cycle(waiting_bytes=self._waiting_bytes), Witness()
            if self._hub.is_open:
                self._cycle.resume(history_id=self._hub.history_id, released=self._hub.released)
        self._cycle.connect()
        async with Errand() as errand:
            self._drive = _Drive(
                self._cycle,
                session,
                self._hub,
                errand,
                self._witness,
                pace=self._pace,
                counts=self.counts,
                clock=self._clock,
            )
            while True:
                await self._drive.take_step()


class _Drive:
    """Takes the steps of a cycle over one session."""

    def __init__(
        self,
        cycle: Cycle,
        session: source.Session,
        hub: Hub,
        errand: Errand,
        witness: Witness,
        *,
        pace: Pace,
        counts: Counts,
        clock: Callable[[], float],
    ) -> None:
        self._cycle = cycle
        self._session = session
        self._bell = session.bell
        self._hub = hub
        # Requests to the bell's session, which may take long to answer while the other sessions do not.
        self._errand = errand
        self._witness = witness
        self._pace = pace
        self._counts = counts
        self._clock = clock
        # When a warning may be logged again, and the missing revision of the last warning.
        self._warn_at = clock() + pace.warn_after_seconds
        self._warned_of = 0
        # Since when nothing was new, and when the reader may ask for the bell again.
        self._quiet_since = self._ask_at = clock()
        # When it may silence writers again, and when it verifies the log next.
        self._silence_at = self._verify_at = clock()
        # When a poll last found something, how many events have been released since the last pause, and the processor
        # seconds that the loop's other tasks used during that pause.
        self._found_at = -math.inf
        self._released_count = 0
        self._others_used = 0.0
        # The processor seconds of this thread when the last pause or doze ended. The pauses follow these, not the time
        # that passes: waiting for PostgreSQL, or for a busy processor, is no reason for a longer pause.
        self._used_before = time.thread_time()
        self._load = Load(pace.limits, now=clock())
        # When this sleep must end, and when the reader stops waiting for the ring of a missing event.
        self._leave_at = 0.0
        self._linger_until = 0.0
        self._is_asleep = False
        # Whether the next page is read because of a comparison of positions, and not because of a ring.
        self._is_checking = False
        self.is_reading = False
        self._takes = self._methods()

    async def take_step(self) -> None:
        """Take the step that the cycle names. Raises `SourceLost` and `HistoryEnded`."""
        await self._takes[self._cycle.step]()

    def _methods(self) -> dict[Step, Callable[[], Awaitable[None]]]:
        return {
            Step.HISTORY: self._identify,
            Step.LAST: self._begin,
            Step.OWNERS: self._wait_for_owners,
            Step.OPEN: self._open,
            Step.READ: self._read,
            Step.KEPT: self._check_kept,
            Step.HOLDERS: self._ask_holders,
            Step.PAUSE: self._rest,
            Step.CLEAR: self._clear,
            Step.REQUEST: self._request_bell,
            Step.DOZE: self._doze,
            Step.LINGER: self._linger,
            Step.COMPARE: self._compare,
            Step.RELEASE: self._release,
        }

    async def _identify(self) -> None:
        # The database may have crashed meanwhile, and lost the last events.
        await self._is_verified([*self._witness.delivered, *self._cycle.tail.waiting])
        self._cycle.identify(await self._session.history(seen=self._cycle.seen, known=self._hub.history_id))

    async def _is_verified(self, delivered: Sequence[tuple[int, str]]) -> bool:
        self._verify_at = self._clock() + self._pace.check_seconds
        known, dead = self._hub.history_id, list(self._witness.dead)
        is_verified = await self._session.verify(known=known, delivered=delivered, dead=dead)
        if not is_verified:
            logger.error("events that were delivered are gone, or their revisions were drawn again")
        return is_verified

    async def _verify(self) -> None:
        """Raise `SourceLost` if the log has lost delivered events, so that the next session asks for its history."""
        if not await self._is_verified(list(self._witness.delivered)[-1:]):
            raise SourceLost("the log is not what it was")

    async def _begin(self) -> None:
        self._cycle.begin(await self._session.last_revision())

    async def _wait_for_owners(self) -> None:
        self._cycle.observe_owners(await self._session.holders())
        if owners := self._cycle.owners:
            if self._clock() >= self._warn_at:
                self._warn_at = self._clock() + self._pace.warn_again_seconds
                names = await self._name(owners, "open transactions keep the event log closed")
                self._counts.closed_by = "; ".join(names)
            await asyncio.sleep(self._pace.ask_again_seconds)

    async def _open(self) -> None:
        history_id, revision = self._cycle.history_id, self._cycle.tail.released
        self._counts.closed_by = ""
        self._hub.open(history_id=history_id, last=revision)
        logger.info("the event log is open", extra={"history_id": history_id, "revision": revision})
        self._cycle.opened()

    async def _read(self) -> None:
        self._is_asleep = False
        self._counts.polls += 1
        tail = self._cycle.tail
        page = await self._session.page(gaps=tail.gaps, tail=tail.tail if tail.may_advance else None)
        self.is_reading = True
        self._publish(self._cycle.observe(page))
        # Count only a check that found an event or a gap: dead revisions raise the highest drawn one without a ring.
        self._counts.checks += self._is_checking and self._cycle.is_busy
        self._is_checking = False

    async def _check_kept(self) -> None:
        self._publish(self._cycle.observe_oldest(await self._session.oldest_revision()))

    def _publish(self, events: Sequence[Event]) -> None:
        self._released_count += len(events)
        self._load.release(len(events), now=self._clock())
        if self._cycle.tail.released > self._hub.released:
            self._witness.note(events, before=self._hub.released, released=self._cycle.tail.released)
            self._hub.publish(events, released=self._cycle.tail.released)
        self._note_wait()

    async def _ask_holders(self) -> None:
        self._counts.gap_waits += 1
        self._cycle.observe_holders(await self._session.holders())
        self._note_wait()
        wait, holders = self._counts.wait, self._cycle.tail.holders
        if wait is None or not holders or self._clock() - wait.since < self._pace.warn_after_seconds:
            return
        if wait.revision != self._warned_of or self._clock() >= self._warn_at:
            self._warned_of, self._warn_at = wait.revision, self._clock() + self._pace.warn_again_seconds
            fields = {"revision": wait.revision, "missing_seconds": round(self._clock() - wait.since, 1)}
            await self._name(holders, "open transactions hold the delivery of events", **fields)

    async def _name(self, transactions: frozenset[str], message: str, **fields: float) -> list[str]:
        """Log the sessions of the transactions, unless all have ended meanwhile; return their names."""
        names = holder.names(await self._session.who(transactions))
        if names:
            logger.warning(message, extra={**fields, "holders": names})
        return names

    def _note_wait(self) -> None:
        tail, before = self._cycle.tail, self._counts.wait
        gap = tail.oldest_gap
        if gap is None and before is None:
            return
        since = now = self._clock()
        if before is not None:
            if gap is not None and gap.first == before.revision:
                since = before.since
            else:
                self._counts.gap_seconds += now - before.since
        self._counts.wait = Wait(gap.first, since, len(tail.holders)) if gap is not None else None

    async def _rest(self) -> None:
        now, used = self._clock(), time.thread_time()
        if self._cycle.is_busy:
            self._quiet_since = now
        if self._cycle.has_found:
            self._found_at = now
        if self._hub.watched.is_set():
            await asyncio.sleep(self._pause_seconds(now, used))
        else:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pace.unwatched_seconds):
                    await self._hub.watched.wait()
        if self._clock() >= self._verify_at:
            self._cycle.check_length(await self._session.last_drawn())
            await self._verify()
        self._released_count = 0
        self._used_before, now = time.thread_time(), self._clock()
        self._others_used = self._used_before - used
        may_ask = now >= self._ask_at
        self._cycle.rested(
            is_quiet=may_ask and (self._is_quiet(now) or self._is_calm(now)),
            is_rung=now >= self._silence_at and self._bell.is_rung,
        )

    def _pause_seconds(self, now: float, used: float) -> float:
        # While the hub pauses between batches, an earlier poll would gain nothing. But a poll may settle a missing
        # revision, for which all later events wait.
        wait = self._counts.wait
        least = self._hub.pause_seconds if wait is None else self._pace.gap_pause_seconds(now - wait.since)
        if self._is_eager(now):
            return least
        return max(self._pace.poll_seconds, used - self._used_before, least)

    def _is_quiet(self, now: float) -> bool:
        return not self._cycle.is_busy and now - self._quiet_since >= self._pace.awake_seconds

    def _is_calm(self, now: float) -> bool:
        return not self._hub.is_spreading and self._load.is_calm(now=now)

    def _is_eager(self, now: float) -> bool:
        return (
            now - self._found_at < self._pace.eager_seconds
            and self._released_count <= self._pace.eager_events
            and self._others_used < self._pace.eager_others_seconds
        )

    async def _clear(self) -> None:
        self._bell.clear()
        self._cycle.cleared()

    async def _request_bell(self) -> None:
        done = await self._errand.wait(self._bell.request, self._pace.bell_seconds)
        if done is None:
            self._cycle.delayed()
            return
        is_granted = done.result()
        self._counts.refusals += not is_granted
        now = self._clock()
        self._ask_at, self._leave_at = now + self._pace.ask_again_seconds, now + self._pace.longest_sleep_seconds
        self._cycle.asked(is_granted=is_granted)

    async def _doze(self) -> None:
        self._counts.sleeps += not self._is_asleep
        self._is_asleep = True
        began = self._clock()
        is_rung = await self._bell.wait(min(self._pace.check_seconds, max(self._leave_at - began, 0)), self._hear)
        self._counts.rings += is_rung
        self._quiet_since = now = self._clock()
        self._used_before = time.thread_time()
        self._linger_until = now + self._pace.linger_seconds
        if self._cycle.step is not Step.DOZE:
            return
        is_over = now >= self._leave_at
        is_loaded = is_rung and now - began < self._pace.calm_seconds
        if self._load.must_check and not (is_rung or is_over):
            is_loaded = await self._is_busy()
            if not is_loaded:
                return
        self._counts.timeouts += is_over and not is_rung
        self._cycle.dozed(is_rung=is_rung, leaves=is_over or is_loaded)

    async def _is_busy(self) -> bool:
        if self._load.must_look:
            self._load.look(await self._session.waiting())
        return self._load.is_busy(now=self._clock(), is_spread=self._hub.is_spreading)

    async def _linger(self) -> None:
        self._counts.rings += await self._bell.wait(max(self._linger_until - self._clock(), 0), self._hear)
        if self._cycle.step is Step.LINGER:
            self._cycle.lingered()

    def _hear(self, event: Event) -> bool:
        """Take an event that came in a ring; return whether the reader stays in its present step."""
        step = self._cycle.step
        self._counts.told += 1
        self._publish(self._cycle.told(event))
        return self._cycle.step is step and not self._load.must_check

    async def _compare(self) -> None:
        if self._clock() >= self._verify_at:
            await self._verify()
        self._cycle.compared(await self._session.last_drawn())
        self._is_checking = self._cycle.step is Step.CLEAR

    async def _release(self) -> None:
        done = await self._errand.wait(self._give_back, self._pace.bell_seconds)
        if done is None:
            self._cycle.delayed()
            return
        done.result()
        now = self._clock()
        self._ask_at, self._silence_at = now + self._pace.ask_again_seconds, now + self._pace.silence_seconds
        self._cycle.released()

    async def _give_back(self) -> bool:
        await self._bell.release()
        return True
