"""The event log as data: what is read from it, and which part of it a watcher wants."""

import dataclasses
from collections.abc import Sequence

from tinkwell.core.event import Event
from tinkwell.core.kind import EventType, ResourceType


class SourceLost(Exception):
    """The connection to the log is gone; another one can be opened."""


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """Events in revision order. A page that was cut short by its limits covers only up to its last event."""

    events: Sequence[Event]
    is_cut: bool

    @property
    def covers(self) -> float:
        """The revision up to which the page shows all there was to see."""
        return self.events[-1].revision if self.is_cut else float("inf")


@dataclasses.dataclass(frozen=True, slots=True)
class Replay:
    """Selected events in revision order; every selected one up to and including `revision` is among them."""

    events: Sequence[Event]
    revision: int


@dataclasses.dataclass(frozen=True, slots=True)
class History:
    """Which log this is, and from where on it is kept."""

    history_id: str
    oldest_revision: int


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """Conditions joined by "and"; an empty one holds for every event."""

    event_types: frozenset[EventType] = frozenset()
    resource_types: frozenset[ResourceType] = frozenset()
    names: frozenset[str] = frozenset()
    resource_id: str = ""

    def matches(self, event: Event) -> bool:
        """Return whether the watcher wants the event."""
        return (
            (not self.event_types or event.event_type in self.event_types)
            and (not self.resource_types or event.resource_type in self.resource_types)
            and (not self.names or event.name in self.names)
            and (not self.resource_id or self.resource_id in (event.resource_id, event.parent_id))
        )
