"""An event loop without waiting: when nothing can go on, the time is moved to where something can."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the work in virtual time. It must wait for nothing from outside."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


def virtual(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test run in virtual time."""

    @functools.wraps(test)
    def run_test() -> None:
        run(test())

    return run_test


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds


class _Selector(selectors.SelectSelector):
    def __init__(self, loop: _Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "everybody waits, and for nothing that could happen"
        # A little more, so that what was due at that time is due in spite of rounding.
        self._loop.advance(timeout + 1e-9 if timeout > 0 else 0)
        return []
