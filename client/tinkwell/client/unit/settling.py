"""Waiting until applications are settled: until nothing runs, and nothing is due for any of their units; or are active.

There is no moment at which a client sees all units at once: while one list is read, a unit that it has shown as settled
may be told of something that another one has done. Two lists that show the same ordinals, and every unit as settled,
leave no room for that: between what both show of a unit it has run nothing, and all these spans share a moment.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

from tinkwell.client import backoff, errors
from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.unit.model import Application, Unit
from tinkwell.client.watch.watch import Watch
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.kinds import EventState, Life

# What makes a unit due without an event of its own, such as the end of a workflow on its machine, is seen so late.
_LONGEST_SECONDS = 5.0
# What a charm says of a unit that does what it is there for.
ACTIVE = "active"
_TYPES = (ResourceType.APPLICATION, ResourceType.UNIT, ResourceType.UNIT_EVENT, ResourceType.RELATION)


class Applications(Protocol):
    """The calls that waiting needs."""

    async def get(self, name: str | None = None, *, namespace: str = "") -> Application:
        """Get an application."""

    def units(self, application: str = "", *, namespace: str = "", with_settled: bool = False) -> AsyncIterator[Unit]:
        """Iterate over units."""

    def watch(self, *, resource_types: tuple[ResourceType, ...] = (), now: bool = False) -> Watch:
        """Watch events."""


@dataclass(slots=True)
class _Seen:
    """What one list shows: the newest ordinal of each unit by its id, and what all units are."""

    ordinals: dict[str, int] = field(default_factory=dict)
    is_settled: bool = True
    is_active: bool = True


async def wait(source: Applications, names: tuple[str, ...], namespace: str, *, until_active: bool = False) -> None:
    """Wait until applications are settled, or gone; raises as `ApplicationClient.settled`.

    With `until_active` those that are there must be active as well, each unit that is not being removed.
    """
    for name in names:
        await source.get(name, namespace=namespace)
    async with source.watch(resource_types=_TYPES, now=True) as events:
        await events.wait_live()
        former: _Seen | None = None
        while True:
            try:
                found = await _look(source, names, namespace)
            except errors.Unavailable:
                # The watch goes on with the next server that answers, and so does this.
                former = None
                await asyncio.sleep(backoff.LONGEST_SECONDS)
                continue
            if found.is_settled and found == former and (found.is_active or not until_active):
                return
            if not found.is_settled or found == former:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LONGEST_SECONDS):
                        await anext(events)
            former = found


async def _look(source: Applications, names: tuple[str, ...], namespace: str) -> _Seen:
    found = _Seen()
    for name in names:
        with contextlib.suppress(errors.NotFound):  # an application that is gone is settled
            async for unit in source.units(name, namespace=namespace, with_settled=True):
                if unit.event is not None and unit.event.state is EventState.ERROR and not _is_due(unit.event):
                    raise _failed(unit)
                found.ordinals[unit.id] = unit.last_ordinal
                found.is_settled &= unit.settled
                found.is_active &= unit.status.name == ACTIVE or unit.life is not Life.ALIVE
    return found


def _is_due(event: UnitEvent) -> bool:
    """Say whether somebody has asked for a failed event to be tried again, so that it is as good as running.

    It was due when that was written; the time of this side has no say in it.
    """
    return event.retry_at is not None and event.updated_at is not None and event.retry_at <= event.updated_at


def _failed(unit: Unit) -> errors.UnitInError:
    assert unit.event is not None
    event = unit.event
    name, attempt = f"{unit.name} #{event.ordinal} {event.name}", event.attempt
    times = "once" if attempt == 1 else f"{attempt} times"
    return errors.UnitInError(f"{name} failed {times}: {event.message}", code="FAILED_PRECONDITION")
