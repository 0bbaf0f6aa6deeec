"""Hooks: commands that an action runs after it has failed or timed out. They do not change the action's state."""

from collections.abc import Sequence
from enum import StrEnum

from tinkwell.core.event.kinds import State


class Hook(StrEnum):
    """A hook, by the name that it has in templates."""

    ON_FAILURE = "on-failure"
    ON_TIMEOUT = "on-timeout"


def due(state: State, *, on_failure: Sequence[str], on_timeout: Sequence[str]) -> Hook | None:
    """Return the hook that runs after this end of an action, None if the action has no command for it."""
    match state:
        case State.FAILED:
            return Hook.ON_FAILURE if on_failure else None
        case State.TIMEOUT:
            return Hook.ON_TIMEOUT if on_timeout else None
        case _:
            return None
