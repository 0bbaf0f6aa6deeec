"""An event loop whose clock stands still while nobody lets the process run.

Tests of what a lease or a time limit is about play within tenths of a second. On a machine that is busy elsewhere the
process may not be run for longer than that; by the real clock a lease is then over, of which the test did not tell, and
rightly so, but it is not what the test is about.
"""

import asyncio
import selectors
import time
from collections.abc import Callable
from typing import Any

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

    def jump(self, seconds: float) -> None:
        # A little more, so that a timer that is due at that time is due in spite of rounding.
        self._seconds += seconds + 1e-9


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


class _HastySelector(_Selector):
    """Does not wait for a timer if nobody but timers can wake the loop."""

    def __init__(self, clock: _Clock) -> None:
        super().__init__(clock)
        self.threads_at_work = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # The loop itself has one file: what threads wake it with.
        is_alone = not self.threads_at_work and len(self.get_map()) <= 1
        if not timeout or timeout < 0 or not is_alone:
            return super().select(timeout)
        if ready := super().select(0):
            return ready
        self._clock.jump(timeout)
        return []


class HastyLoop(PatientLoop):
    """Jumps to the next timer where there is nothing else to do. It knows of no threads but those of its executor."""

    def __init__(self) -> None:
        self._steady_clock = _Clock()
        self._hasty_selector = _HastySelector(self._steady_clock)
        asyncio.SelectorEventLoop.__init__(self, self._hasty_selector)

    def run_in_executor(  # type: ignore[override] # as typeshed has it, what it gives depends on `func`
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """Count the calls that are under way, for which the clock runs as always."""
        future = super().run_in_executor(executor, func, *args)
        self._hasty_selector.threads_at_work += 1
        future.add_done_callback(self._note_end)
        return future

    def _note_end(self, _: object) -> None:
        self._hasty_selector.threads_at_work -= 1
