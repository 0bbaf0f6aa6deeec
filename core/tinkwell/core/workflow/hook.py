"""Hooks: commands that run after an action has failed or timed out. They do not change the action's state."""

from collections.abc import Sequence
from enum import StrEnum

from tinkwell.core.event.kinds import State


class Hook(StrEnum):
    """A hook, by the name that it has in templates."""

    ON_FAILURE = "on-failure"
    ON_TIMEOUT = "on-timeout"


def due(state: State, *, on_failure: Sequence[str], on_timeout: Sequence[str]) -> Hook | None:
    """Return the hook that runs after an action has ended in this state; None if it has no command for that."""
    match state:
        case State.FAILED:
            return Hook.ON_FAILURE if on_failure else None
        case State.TIMEOUT:
            return Hook.ON_TIMEOUT if on_timeout else None
        case _:
            return None
