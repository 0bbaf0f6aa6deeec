"""One task that goes round all watchers: it reminds those that are idle, and ends those that are too slow.

So a watcher that waits needs no timer of its own, and ten thousand bookmarks do not all go out at the same moment.
"""

import asyncio
import dataclasses
import math

from tinkwell.core import errors
from tinkwell.server.log.fanout.hub import Hub
from tinkwell.server.log.fanout.subscriber import Subscriber

# A round is divided into so many steps at most, so that none of them keeps the events waiting.
_STEPS = 50


@dataclasses.dataclass(frozen=True, slots=True)
class Patience:
    """How long watchers are let be."""

    bookmark_seconds: float = 5.0
    """A watcher is told by then how far the log is, where that has changed since it was told."""
    quiet_seconds: float = 15.0
    """The same where nothing has changed: clients take a stream that is silent for a minute for dead."""
    stall_seconds: float = 60.0
    """A watcher that takes no response for so long is ended."""
    lag_revisions: int = 1_000_000
    """A watcher that has been live and falls behind by more, beyond what is in memory, is ended."""


class Sweep:
    """Goes round the watchers of a hub until cancelled."""

    def __init__(self, hub: Hub, patience: Patience) -> None:
        self._hub = hub
        self._patience = patience
        # Twice while a watcher may be silent: it is reminded in the round that finds it silent for half of the time.
        self._round_seconds = patience.bookmark_seconds / 2

    async def run(self) -> None:
        """Look at every watcher in every round."""
        clock = asyncio.get_running_loop().time
        while True:
            watchers = self._hub.subscribers
            size = math.ceil(len(watchers) / _STEPS) or 1
            # A server with few watchers, or none, sleeps in between.
            steps = math.ceil(len(watchers) / size) or 1
            for begin in range(0, steps * size, size):
                for watcher in watchers[begin : begin + size]:
                    self.look_at(watcher, now=clock())
                await asyncio.sleep(self._round_seconds / steps)

    def look_at(self, watcher: Subscriber, *, now: float) -> None:
        """Do what is due about one watcher; `now` is by the loop's clock."""
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
        # One that has ended is not live either, but takes the rest of what it is due, and has no position.
        if not watcher.was_live or watcher.is_live or watcher.has_ended:
            return False
        # Millions of revisions may be dead, as those of a partition that was closed early: what is in memory is near.
        is_near = self._hub.holds(watcher.position)
        return not is_near and self._hub.released - watcher.position > self._patience.lag_revisions
