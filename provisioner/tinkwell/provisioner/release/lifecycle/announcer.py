"""Emits the events of a preparation, core ones among them, and tells what came of each."""

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
    """Emits what is emitted before anything runs. Without charts a core event is nothing to be told."""

    def __init__(self, lifecycle: Lifecycle, *, record: Callable[[Emitted], None]) -> None:
        self.lifecycle = lifecycle
        self._record = record

    async def announce(self, event: Event, chart: str, *, settle: Settle | None = None) -> None:
        """Emit an event of a chart, and take over what its handlers change; raises `lifecycle.Failed`.

        `settle` is called, and may raise, before anything is told of it.
        """
        await self.lifecycle.announce(event, chart, record=self._record, settle=settle)

    async def core(self, event: CoreEvent, chart: str, work: Awaitable[T]) -> T:
        """Do the work that a core event is; raises what that raises."""
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
