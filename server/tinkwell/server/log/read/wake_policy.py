"""Whether rings are worth their price: pure, and told the time.

A ring costs a writer some time, and while it commits no other that rings can. So rings are for logs that have little to
do, where they bring an event sooner than the next poll would; a busy log is polled, and its writers are silent. Where
events are handed on in batches anyway, since many watch, less is much.
"""

import dataclasses
from collections import deque


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """Up to which load a reader sleeps; rates are events a second."""

    # Below the first one a reader that is awake goes to sleep, above the second one that sleeps wakes; above the third
    # one where events are spread, and there none goes to sleep as long as any come.
    calm_rate: float = 1_500
    busy_rate: float = 2_500
    spread_rate: float = 250
    # A rate is judged after so long, or after so many events if it is high.
    window_seconds: float = 0.1
    busy_events: int = 32
    # Once for so many events it is checked whether it had better wake. Only some of these checks look whether writers
    # wait for others' rings, since each is a statement: those that follow one that found somebody, and else one of so
    # many. So many looks are judged.
    events_for_check: int = 32
    checks_for_look: int = 8
    looks: int = 8
    # When all of them find somebody, commits are slower than they need be: behind a slow disk two writers do, where at
    # 1,000 commits/s on a quick one every third look does. Then it is tried again after the first time, and after twice
    # as long whenever that has not gone well for the longest.
    first_crowded_seconds: float = 1.0
    longest_crowded_seconds: float = 30.0


class Load:
    """What one reader knows of the writers' load."""

    def __init__(self, limits: Limits, *, now: float) -> None:
        self._limits = limits
        self._since = now
        self._events = 0
        self._is_calm = False
        self._unchecked = 0
        self._checks = limits.checks_for_look
        self._waited: deque[bool] = deque(maxlen=limits.looks)
        self._crowded_seconds = 0.0
        self._crowded_until = now

    @property
    def must_check(self) -> bool:
        """Whether it is time to find out whether a reader that sleeps had better wake."""
        return self._unchecked >= self._limits.events_for_check

    @property
    def must_look(self) -> bool:
        """Whether the next check is to know whether writers wait."""
        return self._checks >= self._limits.checks_for_look or (bool(self._waited) and self._waited[-1])

    def release(self, events: int, *, now: float) -> None:
        """Take note of events, polled or told of."""
        self._judge(now)
        self._events += events
        self._unchecked += events

    def look(self, waiting: int) -> None:
        """Take note of how many writers wait for others' rings."""
        self._checks = 0
        self._waited.append(waiting > 0)

    def is_calm(self, *, now: float) -> bool:
        """Whether a reader that is awake may as well sleep, though there are events."""
        self._judge(now)
        return self._is_calm and now >= self._crowded_until

    def is_busy(self, *, now: float, is_spread: bool) -> bool:
        """Whether a reader that sleeps had better wake; it is not calm again for a while then."""
        limits = self._limits
        self._unchecked = 0
        self._checks += 1
        if sum(self._waited) == limits.looks:
            self._waited.clear()
            self._stay_awake(now)
            return True
        rate = limits.spread_rate if is_spread else limits.busy_rate
        if self._events < limits.busy_events or self._events <= (now - self._since) * rate:
            return False
        self._begin(now, is_calm=False)
        return True

    def _stay_awake(self, now: float) -> None:
        limits = self._limits
        # The next trial is to show soon whether it is in vain.
        self._checks = limits.checks_for_look
        was_in_vain = now < self._crowded_until + limits.longest_crowded_seconds
        wanted = 2 * self._crowded_seconds if was_in_vain else 0.0
        self._crowded_seconds = min(max(wanted, limits.first_crowded_seconds), limits.longest_crowded_seconds)
        self._crowded_until = now + self._crowded_seconds

    def _judge(self, now: float) -> None:
        elapsed = now - self._since
        if elapsed >= self._limits.window_seconds:
            self._begin(now, is_calm=self._events < elapsed * self._limits.calm_rate)

    def _begin(self, now: float, *, is_calm: bool) -> None:
        self._since, self._events, self._is_calm = now, 0, is_calm
