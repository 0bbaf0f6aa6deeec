"""An event of the log, as it is stored."""

import sys
from typing import NamedTuple

from tinkwell.core.event.kinds import EventType, ResourceType

# The memory of an event beside its data: the object and its short texts.
_OVERHEAD_BYTES = 1_000


class Event(NamedTuple):
    """A change of a resource; `data` is the JSON text of the resource after the change.

    Ids are canonical UUID text. `created_at` is in microseconds since 1970, as it is read and sent on. It is a tuple,
    because very many are made, and a frozen dataclass is several times slower.
    """

    revision: int
    id: str
    resource_type: ResourceType
    resource_id: str
    parent_id: str
    event_type: EventType
    name: str
    version: int
    created_at: int
    actor: str
    data: str

    @property
    def memory_bytes(self) -> int:
        """The approximate memory of the event; a single letter of another script can quadruple that of its data."""
        return _OVERHEAD_BYTES + sys.getsizeof(self.data)
