"""The facts about an operation that handlers see, and the result of an emitted event."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinkwell.core.release import report as release_report
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome
from tinkwell.core.release.report import LifecycleReport
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.expression.naming import Release

# The most bytes of handlers in the report of one event; the server takes at most 1 MiB of JSON.
MAX_HANDLERS_BYTES = 768 * 1024
# The size of a handler's JSON without its place.
_HANDLER_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """An operation as handlers see it: its release and its options. With `is_dry_run` nothing is changed."""

    release: Release
    wait: Wait = Wait.ORDERED
    timeout_seconds: int = 0
    is_atomic: bool = False
    is_dry_run: bool = False

    def release_as_json(self) -> JsonObject:
        """Return the release in the form that handlers see."""
        return {
            "name": self.release["name"],
            "namespace": self.release["namespace"],
            "revision": self.release["revision"],
            "is_install": self.release["is_install"],
            "is_upgrade": self.release["is_upgrade"],
        }

    def config_as_json(self) -> JsonObject:
        """Return the options in the form that handlers see; `timeout` is in seconds."""
        return {
            "dry_run": self.is_dry_run,
            "wait": self.wait.value.lower(),
            "timeout": self.timeout_seconds,
            "atomic": self.is_atomic,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """An event that was emitted. `chart` is the path of its chart; empty without charts."""

    event: str
    chart: str
    handlers: tuple[HandlerRun, ...] = ()
    outcome: Outcome = Outcome.SUCCEEDED
    message: str = ""
    seconds: float = 0.0

    def report(self) -> LifecycleReport:
        """Convert the event to a report for the server."""
        return LifecycleReport(
            event=self.event,
            chart=self.chart,
            handlers=self.handlers,
            outcome=self.outcome,
            message=release_report.fitting(self.message),
            seconds=self.seconds,
        )


def fitting(handlers: Sequence[HandlerRun]) -> tuple[HandlerRun, ...]:
    """Return as many handlers as fit in a report, always with the last one, which may have failed."""
    room, told = MAX_HANDLERS_BYTES, []
    for run in reversed(handlers):
        room -= len(run.chart.encode()) + len(run.file.encode()) + _HANDLER_BYTES
        if room < 0:
            break
        told.append(run)
    return tuple(reversed(told))
