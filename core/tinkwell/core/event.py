"""One event of the log, as it is stored."""

import dataclasses
import datetime

from tinkwell.core.kind import EventType, ResourceType


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """One change of one resource; `data` is the JSON text of the resource after it. Ids are canonical UUID text."""

    revision: int
    id: str
    resource_type: ResourceType
    resource_id: str
    parent_id: str
    event_type: EventType
    name: str
    version: int
    created_at: datetime.datetime
    actor: str
    data: str
