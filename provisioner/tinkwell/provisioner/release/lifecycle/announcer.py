"""Emits the events of a preparation, including core events, and records the result of each."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.run import Outcome
from tinkwell.provisioner.release.lifecycle.lifecycle import Lifecycle, Settle
from tinkwell.provisioner.release.lifecycle.occasion import Emitted
from tinkwell.sandbox.errors import SandboxError

T = TypeVar("T")


class Announcer:
    """Emits the events of the preparation. Core events of a release without charts are not recorded."""

    def __init__(self, lifecycle: Lifecycle, *, record: Callable[[Emitted], None]) -> None:
        self.lifecycle = lifecycle
        self._record = record

    async def announce(self, event: Event, chart: str, *, settle: Settle | None = None) -> None:
        """Emit an event of a chart, and take over its handlers' changes; raises `lifecycle.Failed`.

        `settle` is called before the event is recorded, and may raise.
        """
        await self.lifecycle.announce(event, chart, record=self._record, settle=settle)

    async def core(self, event: CoreEvent, chart: str, work: Awaitable[T]) -> T:
        """Do the work of a core event; raises the errors of the work."""
        began = time.monotonic()
        outcome, message = Outcome.FAILED, ""
        try:
            found = await work
            outcome = Outcome.SUCCEEDED
        except (errors.InvalidField, SandboxError) as error:
            message = str(error)
            raise
        finally:
            if chart and (message or outcome is Outcome.SUCCEEDED):
                seconds = time.monotonic() - began
                self._record(Emitted(event=event.value, chart=chart, outcome=outcome, message=message, seconds=seconds))
        return found
