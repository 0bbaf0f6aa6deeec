"""The checks, in the order in which they were added."""

from collections.abc import Awaitable, Callable

from tinkwell.client import Client

Check = Callable[[Client], Awaitable[None]]
CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function
