"""Waits until applications are settled, so that no event of their units runs or is due, or until they are active.

A client cannot see all units at one moment: while it reads a list, a unit that the list has shown as settled may get an
event that another unit causes. So the client reads two lists. If both show every unit as settled with the same
ordinals, no unit has run an event between its two appearances, and the spans of all units share a moment.
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

# The longest time until the wait notices a change that is no event of the unit, such as a workflow's end on its
# machine.
_LONGEST_SECONDS = 5.0
# The status of a unit that does its work.
ACTIVE = "active"
_TYPES = (ResourceType.APPLICATION, ResourceType.UNIT, ResourceType.UNIT_EVENT, ResourceType.RELATION)


class Applications(Protocol):
    """The calls that the wait uses."""

    async def get(self, name: str | None = None, *, namespace: str = "") -> Application:
        """Get an application."""

    def units(self, application: str = "", *, namespace: str = "", with_settled: bool = False) -> AsyncIterator[Unit]:
        """Iterate over units."""

    def watch(self, *, resource_types: tuple[ResourceType, ...] = (), now: bool = False) -> Watch:
        """Watch events."""


@dataclass(slots=True)
class _Seen:
    """The content of one list: the newest ordinal of each unit by its id, and the state of all units together."""

    ordinals: dict[str, int] = field(default_factory=dict)
    is_settled: bool = True
    is_active: bool = True


async def wait(source: Applications, names: tuple[str, ...], namespace: str, *, until_active: bool = False) -> None:
    """Wait until applications are settled, or gone; raises what `ApplicationClient.settled` raises.

    With `until_active`, each unit that is not being removed must be active as well.
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
                # The watch goes on with the next server that answers, and so must the lists.
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
    """Say whether a user has asked to retry a failed event, so that it counts as running.

    The event's own times show that; the client's clock is not used.
    """
    return event.retry_at is not None and event.updated_at is not None and event.retry_at <= event.updated_at


def _failed(unit: Unit) -> errors.UnitInError:
    assert unit.event is not None
    event = unit.event
    name, attempt = f"{unit.name} #{event.ordinal} {event.name}", event.attempt
    times = "once" if attempt == 1 else f"{attempt} times"
    return errors.UnitInError(f"{name} failed {times}: {event.message}", code="FAILED_PRECONDITION")
