"""Decides whether a reader sleeps, and so makes writers ring, or stays awake and polls.

It does no I/O, and its callers tell it the time. A ring costs a writer some time, and no other ringing writer can
commit while one does. So a reader sleeps while the log has few events: a ring brings an event sooner than the next poll
would. It polls a busy log, so that writers stay silent. If many watchers get events in batches with pauses in between,
a ring gains nothing at a much lower load.
"""

import dataclasses
from collections import deque


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The load up to which a reader sleeps. Rates are events per second."""

    # An awake reader may sleep below `calm_rate`. A sleeping one wakes above `busy_rate`; or above `spread_rate` if the
    # hub spreads events, that is, sends them to many watchers with pauses. While it does, an awake reader may sleep
    # only once events stop.
    calm_rate: float = 1_500
    busy_rate: float = 2_500
    spread_rate: float = 250
    # The time over which an awake reader measures the rate, and the number of events below which a sleeping one does
    # not wake for it.
    window_seconds: float = 0.1
    busy_events: int = 32
    # A sleeping reader checks after each `events_for_check` events whether it should wake. Some checks also look
    # whether writers wait for the commit of another one that rings, which takes a statement: one of `checks_for_look`
    # checks, and each check after a look that found such writers. The reader wakes if the last `looks` looks all found
    # some.
    events_for_check: int = 32
    checks_for_look: int = 8
    looks: int = 8
    # Then rings slow commits down: two writers do on a slow disk; on a quick disk 1,000 commits/s make only every third
    # look find a waiting writer. The reader may sleep again after `first_crowded_seconds`. If it wakes for the same
    # reason within `longest_crowded_seconds` after that, it stays awake twice as long, up to that bound.
    first_crowded_seconds: float = 1.0
    longest_crowded_seconds: float = 30.0


class Load:
    """The load that one reader has measured."""

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
        """Whether it is time to ask `is_busy`."""
        return self._unchecked >= self._limits.events_for_check

    @property
    def must_look(self) -> bool:
        """Whether `look` must be called before the next `is_busy`."""
        return self._checks >= self._limits.checks_for_look or (bool(self._waited) and self._waited[-1])

    def release(self, events: int, *, now: float) -> None:
        """Count released events, which came from a page or in rings."""
        self._judge(now)
        self._events += events
        self._unchecked += events

    def look(self, waiting: int) -> None:
        """Take the number of writers that wait for the commit of another one that rings."""
        self._checks = 0
        self._waited.append(waiting > 0)

    def is_calm(self, *, now: float) -> bool:
        """Whether an awake reader may sleep although there are events."""
        self._judge(now)
        return self._is_calm and now >= self._crowded_until

    def is_busy(self, *, now: float, is_spread: bool) -> bool:
        """Whether a sleeping reader must wake. If so, `is_calm` is false for a while."""
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
        # The first check after the next falling asleep looks at once.
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
