"""The elected server's part: publishes what its hub releases, in order, behind what the stream already holds.

It is a watcher of its own hub, one that wants everything, so that order and completeness are those of every watch: it
takes what is live, and reads on in memory or in the table where it is behind. Each message names the message that it
must follow: where two servers both believe that they were elected, the stream takes the one's and refuses the other's,
and that one steps down.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from tinkwell.core import errors
from tinkwell.core.event.page import Replay, row_of
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.group import MAX_BYTES, MAX_COUNT
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.ring import Entry
from tinkwell.server.log.fanout.subscriber import Subscriber
from tinkwell.server.log.relay import envelope
from tinkwell.server.log.relay.broker import Delivery, Leadership, Session
from tinkwell.server.log.relay.count import Counts
from tinkwell.server.log.source import Source

logger = logging.getLogger(__name__)

_REACH_POLL_SECONDS = 0.01


class Publisher:
    """Publishes one term after the other; an idle log gives a sign of life every `alive_seconds`."""

    def __init__(
        self,
        hub: Hub,
        log: Source,
        counts: Counts,
        *,
        is_fed: Callable[[], bool],
        alive_seconds: float,
        confirm_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._hub = hub
        self._log = log
        self._counts = counts
        # Whether the hub is fed from the database at this moment.
        self._is_fed = is_fed
        self._alive_seconds = alive_seconds
        self._confirm_seconds = confirm_seconds
        self._clock = clock
        # Whether what would continue the stream could not be had.
        self._leaves_break = False

    async def lead(self, session: Session, leadership: Leadership) -> None:
        """Publish until the leadership is lost, the hub is no longer fed, or it ends the watch.

        Raises `BrokerLost`, `Refused` and `SourceLost`.
        """
        term = _Term(session, leadership, self._counts, confirm_seconds=self._confirm_seconds, clock=self._clock)
        start = await self._start(await term.begin())
        self._leaves_break = False
        try:
            await self._publish(term, start)
        except errors.Unavailable:
            # The server is stopping, or looks for its place in the log; the next term goes on where this one ended.
            return
        except errors.TinkwellError as ended:
            # Another history, or events that are no longer kept. Readers see that the stream does not go on where they
            # are, and go by the database until they have reached what comes after the break.
            self._leaves_break = True
            logger.warning("the relay leaves a break in its stream", extra={"cause": str(ended)})

    async def _start(self, last: Delivery) -> int:
        """Return the revision to go on behind: what the stream has come to, or else what is released here."""
        letter = last.letter
        if self._leaves_break or letter is None or letter.history_id != self._hub.history_id:
            return self._hub.released
        with contextlib.suppress(TimeoutError):
            # What the stream has, the database had: our reader reaches it soon. If not, the stream is not believed.
            async with asyncio.timeout(self._alive_seconds):
                while self._hub.released < letter.through:  # noqa: ASYNC110 the hub tells watchers of events alone
                    await asyncio.sleep(_REACH_POLL_SECONDS)
        return min(letter.through, self._hub.released)

    async def _publish(self, term: "_Term", after: int) -> None:
        subscriber = self._hub.subscribe(Selection(), position=after + 1, is_counted=False)
        fed_at = self._clock()
        try:
            while await term.is_confirmed():
                if self._is_fed():
                    fed_at = self._clock()
                elif self._clock() - fed_at > self._confirm_seconds:
                    # Signs of life from one who hears nothing would keep the others from what they could read.
                    logger.warning("this server publishes no more: it cannot read the log")
                    return
                piece = await self._next(subscriber)
                after = await term.send(piece, history_id=subscriber.history_id, after=after)
        finally:
            subscriber.close()

    async def _next(self, subscriber: Subscriber) -> Replay:
        """Return what comes next, after at most `alive_seconds` nothing but how far the log has come."""
        alive_at = self._clock() + self._alive_seconds
        while True:
            if batches := subscriber.take(max_bytes=MAX_BYTES):
                return _piece([entry for batch in batches for entry in batch.entries], batches[-1].revision)
            if not subscriber.is_live:
                excerpt = self._hub.catch_up(subscriber)
                return _piece(excerpt.entries, excerpt.revision) if excerpt else await self._read_table(subscriber)
            if (remaining := alive_at - self._clock()) <= 0:
                # It is live and has taken everything.
                return Replay((), subscriber.reached)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(remaining):
                    await subscriber.wait()

    async def _read_table(self, subscriber: Subscriber) -> Replay:
        piece = await self._log.replay(
            history_id=subscriber.history_id,
            first=subscriber.position,
            last=self._hub.released,
            selection=subscriber.selection,
            max_count=MAX_COUNT,
            max_bytes=MAX_BYTES,
        )
        # What was read may belong to a history that began meanwhile.
        subscriber.check()
        subscriber.position = piece.revision + 1
        return piece


def _piece(entries: Sequence[Entry], revision: int) -> Replay:
    return Replay([row_of(entry.event) for entry in entries], revision)


class _Term:
    """One stay in office: the end of the stream as this publisher knows it."""

    def __init__(
        self,
        session: Session,
        leadership: Leadership,
        counts: Counts,
        *,
        confirm_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._session = session
        self._leadership = leadership
        self._counts = counts
        self._confirm_seconds = confirm_seconds
        self._clock = clock
        self._confirmed_at = clock()
        self._sequence = 0

    async def begin(self) -> Delivery:
        """Return the stream's last message; whatever is published follows it."""
        last = await self._session.last()
        self._sequence = last.sequence
        return last

    async def is_confirmed(self) -> bool:
        """Return whether this server is still the one to publish, asking only now and then."""
        now = self._clock()
        if now - self._confirmed_at < self._confirm_seconds:
            return True
        self._confirmed_at = now
        return await self._leadership.confirm()

    async def send(self, piece: Replay, *, history_id: str, after: int) -> int:
        """Publish what follows the revision, and return the revision that the stream has then come to."""
        letters = envelope.letters(
            piece.rows,
            history_id=history_id,
            after=after,
            through=piece.revision,
            payload_bytes=self._session.payload_bytes,
        )
        for letter in letters:
            self._sequence = await self._session.publish(letter, expected=self._sequence)
            self._counts.published_batches += 1
            after = letter.through
        self._counts.published_events += len(piece.rows)
        return after
