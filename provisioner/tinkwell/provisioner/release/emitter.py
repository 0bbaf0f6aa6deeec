"""What has the events of charts heard while an operation goes on: what a walk needs of it."""

from collections.abc import Collection, Mapping
from typing import Protocol

from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome
from tinkwell.core.release.report import LifecycleReport


class Emitted(Protocol):
    """What came of an event; `report.LifecycleReport` is one."""

    @property
    def handlers(self) -> tuple[HandlerRun, ...]: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def message(self) -> str: ...
    @property
    def seconds(self) -> float: ...


class Emitter(Protocol):
    """Knows who hears the events of charts, and has them heard."""

    def heard(self) -> Mapping[str, Collection[str]]:
        """Return the events that handlers hear, by the paths of the charts whose events they are."""

    async def emit(self, chart: str, event: str) -> Emitted:
        """Have all handlers of an event run, and say what came of that; it may be cancelled, and begun anew."""


def told(chart: str, event: str, emitted: Emitted) -> LifecycleReport:
    """Return how an event is reported."""
    return LifecycleReport(
        event=event,
        chart=chart,
        handlers=emitted.handlers,
        outcome=emitted.outcome,
        message=emitted.message,
        seconds=emitted.seconds,
    )
