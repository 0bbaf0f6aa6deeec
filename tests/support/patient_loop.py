"""An event loop whose clock stands still while nobody lets the process run.

Tests of what a lease or a time limit is about play within tenths of a second. On a machine that is busy elsewhere the
process may not be run for longer than that; by the real clock a lease is then over, of which the test did not tell, and
rightly so, but it is not what the test is about.
"""

import asyncio
import selectors
import time

# What the loop does between two waits counts up to this long: far less than whatever a test lets end by the clock.
LONGEST_STEP_SECONDS = 0.01


class _Clock:
    def __init__(self) -> None:
        self._seconds = time.monotonic()
        self._seen_at = self._seconds

    def now(self) -> float:
        return self._seconds + min(time.monotonic() - self._seen_at, LONGEST_STEP_SECONDS)

    def advance(self, *, at_most: float) -> None:
        now = time.monotonic()
        self._seconds += min(now - self._seen_at, at_most)
        self._seen_at = now


class _Selector(selectors.DefaultSelector):
    """Waits as any other one, and lets the clock run on by what was to be waited."""

    def __init__(self, clock: _Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._clock.advance(at_most=LONGEST_STEP_SECONDS)
        ready = super().select(timeout)
        self._clock.advance(at_most=LONGEST_STEP_SECONDS if timeout is None else max(timeout, 0.0))
        return ready


class PatientLoop(asyncio.SelectorEventLoop):
    """Its time goes on as long as it waits, and by no more than a step with each of its turns."""

    def __init__(self) -> None:
        self._steady_clock = _Clock()
        super().__init__(_Selector(self._steady_clock))

    def time(self) -> float:
        """Return the seconds of the clock."""
        return self._steady_clock.now()
