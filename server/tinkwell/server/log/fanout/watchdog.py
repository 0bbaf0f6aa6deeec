"""One task looks at all watchers in turn: it sends bookmarks to idle ones, and ends those that are too slow.

So no watcher needs a timer of its own, and the bookmarks of ten thousand watchers go out at different moments.
"""

import asyncio
import dataclasses
import math

from tinkwell.core import errors
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.subscriber import Subscriber

# A round has at most this many steps, with a pause after each, so that no step delays events for long.
_STEPS = 50


@dataclasses.dataclass(frozen=True, slots=True)
class Patience:
    """After which time a watcher gets a bookmark, or is ended."""

    bookmark_seconds: float = 5.0
    """A watcher that has received nothing for this long gets a bookmark, if the log has new revisions."""
    quiet_seconds: float = 15.0
    """The same if the log has no new revisions: clients take a stream that is silent for a minute for dead."""
    stall_seconds: float = 60.0
    """A watcher is ended if the transport takes no response for this long."""
    lag_revisions: int = 1_000_000
    """A watcher that was live is ended if it is further behind than this and the ring no longer holds its position."""


class Sweep:
    """Looks at the watchers of a hub, round after round, until cancelled."""

    def __init__(self, hub: Hub, patience: Patience) -> None:
        self._hub = hub
        self._patience = patience
        # Two rounds in this time: a watcher gets its bookmark in the last round that is not too late.
        self._round_seconds = patience.bookmark_seconds / 2

    async def run(self) -> None:
        """Look at every watcher in every round."""
        clock = asyncio.get_running_loop().time
        while True:
            watchers = self._hub.subscribers
            size = math.ceil(len(watchers) / _STEPS) or 1
            # With few watchers a round has fewer steps, and longer pauses.
            steps = math.ceil(len(watchers) / size) or 1
            for begin in range(0, steps * size, size):
                for watcher in watchers[begin : begin + size]:
                    self.look_at(watcher, now=clock())
                await asyncio.sleep(self._round_seconds / steps)

    def look_at(self, watcher: Subscriber, *, now: float) -> None:
        """End one watcher, remind it, or leave it alone; `now` is by the loop's clock."""
        patience = self._patience
        if watcher.is_let_go:
            return
        if watcher.sending_since is not None and now - watcher.sending_since > patience.stall_seconds:
            reason = f"the watch took no response for {patience.stall_seconds:g} seconds"
            self._hub.end_slow(watcher, errors.TooSlow(f"{reason}; resume after the last revision received"))
        elif self._is_left_behind(watcher):
            reason = f"the watch is more than {patience.lag_revisions} revisions behind"
            self._hub.end_slow(watcher, errors.TooSlow(f"{reason}; resume after the last revision received"))
        elif watcher.is_waiting:
            has_news = watcher.reached > watcher.told_revision
            silence = patience.bookmark_seconds if has_news else patience.quiet_seconds
            if now - watcher.told_at >= silence - self._round_seconds:
                watcher.remind()

    def _is_left_behind(self, watcher: Subscriber) -> bool:
        # A watcher that has ended is not live either, but it takes its last batches and has no position.
        if not watcher.was_live or watcher.is_live or watcher.has_ended:
            return False
        # Millions of revisions may be dead, such as those of a partition that was closed early. So a position that the
        # ring holds is near, whatever the difference of revisions.
        is_near = self._hub.holds(watcher.position)
        return not is_near and self._hub.released - watcher.position > self._patience.lag_revisions
