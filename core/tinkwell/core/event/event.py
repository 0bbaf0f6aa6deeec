"""One event of the log, as it is stored."""

import sys
from typing import NamedTuple

from tinkwell.core.event.kinds import EventType, ResourceType

# What an event costs beside its data: the object and its short texts.
_OVERHEAD_BYTES = 1_000


class Event(NamedTuple):
    """One change of one resource; `data` is the JSON text of the resource after it. Ids are canonical UUID text.

    `created_at` is in microseconds since 1970, as it is read and sent on.

    A tuple, since so many are made: a frozen dataclass takes several times as long.
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
        """About how much memory the event takes; one letter of another script can quadruple that of its data."""
        return _OVERHEAD_BYTES + sys.getsizeof(self.data)
