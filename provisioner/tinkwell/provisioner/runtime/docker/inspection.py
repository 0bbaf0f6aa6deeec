"""The state of a container, read from the engine's answer to an inspection."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# The log driver that keeps nothing.
NO_LOG = "none"
_RUNNING = frozenset({"running", "paused", "restarting"})
_OVER = frozenset({"exited", "dead", "removing"})
_NEVER = "0001-01-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The state of a container. `seconds` is how long it ran by the engine's clock, None before it has ended."""

    id: str
    image_id: str
    status: str
    labels: Mapping[str, str]
    was_started: bool
    exit_code: int
    seconds: float | None
    note: str
    takes_input: bool
    keeps_output: bool

    @property
    def is_over(self) -> bool:
        """Whether the container ran and has ended. The exit code of one that never ran means nothing."""
        return self.was_started and self.status in _OVER

    @property
    def is_running(self) -> bool:
        """Whether the container can be killed. One that was never started is neither running nor over."""
        return self.status in _RUNNING


def read(found: Mapping[str, Any]) -> Container:
    """Read the engine's answer to an inspection."""
    state = found["State"]
    was_started = not state["StartedAt"].startswith(_NEVER)
    is_over = was_started and state["Status"] in _OVER
    return Container(
        id=found["Id"],
        image_id=found["Image"],
        status=state["Status"],
        labels=found["Config"]["Labels"] or {},
        was_started=was_started,
        exit_code=state["ExitCode"],
        seconds=_seconds_between(state["StartedAt"], state["FinishedAt"]) if is_over else None,
        note="out of memory" if state["OOMKilled"] else state["Error"],
        takes_input=found["Config"]["OpenStdin"],
        keeps_output=found["HostConfig"]["LogConfig"]["Type"] != NO_LOG,
    )


def _seconds_between(began: str, ended: str) -> float:
    return max((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds(), 0.0)
