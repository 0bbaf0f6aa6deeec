"""What a unit waits for, for the report: asked from time to time while a case does not come to its end."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

from tinkwell import client
from tinkwell.client import errors

_INTERVAL_SECONDS = 15.0
_CALL_SECONDS = 10.0
_LOG_LINES = 12


class Look:
    """Looks at one unit, and tells what it saw. `step` is what the case is about to do."""

    def __init__(self, connected: client.Client, unit: str) -> None:
        self.step = "deploys"
        self.notes: list[str] = []
        self._applications = connected.applications
        self._unit = unit
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the case has taken so far."""
        return time.monotonic() - self._began

    @contextlib.asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """Look until the block ends."""
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._run())
            try:
                yield
            finally:
                task.cancel()

    async def tell(self) -> list[str]:
        """Say what it waits for now, and the events that it was told."""
        await self._note()
        events = list[str]()
        with contextlib.suppress(errors.Error, TimeoutError):
            async with asyncio.timeout(_CALL_SECONDS):
                async for event in self._applications.events(self._unit):
                    events.append(f"#{event.ordinal} {event.name} {event.state} attempt {event.attempt}")
        return [*self.notes, "events: " + "; ".join(reversed(events))]

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL_SECONDS)
            await self._note()

    async def _note(self) -> None:
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                found = await self._applications.explain(self._unit)
            behind = f"; behind: {', '.join(found.behind)}" if found.behind else ""
            agent = "an agent" if found.unit.has_agent else "no agent"
            text = f"{found.sentence} ({agent}, settled {found.unit.settled}{behind})"
        except (errors.Error, TimeoutError) as error:
            text = f"no answer: {type(error).__name__} {error}"
        self.notes.append(f"after {self.seconds:.0f} s, while it {self.step}: {text}")


def tail(log: Path) -> list[str]:
    """The last lines of a log."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return [f"{log.name}: there is none"]
    return [f"{log.name}: {line[:300]}" for line in lines[-_LOG_LINES:]]
