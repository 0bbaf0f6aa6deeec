"""The selection of events that a watcher wants."""

import dataclasses

from tinkwell.core.event.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType


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
