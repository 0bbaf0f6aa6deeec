"""Events as PostgreSQL gives them: as a row of the log, and as the text that a ring tells."""

import datetime
from collections.abc import Iterable
from typing import Any

from tinkwell.core.event import Event
from tinkwell.core.kind import EventType, ResourceType

# Far cheaper than calling the enumerations, for every event that is read.
_RESOURCE_TYPES = {str(kind): kind for kind in ResourceType}
_EVENT_TYPES = {str(kind): kind for kind in EventType}
_SEPARATOR = "\x1f"
_FIELDS = 11
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)


class UnknownKind(ValueError):
    """The event is of a kind that this release does not know."""


def event(row: Iterable[Any]) -> Event:
    """Read a row of `page.sql` or `tail.sql`. Raises `UnknownKind`."""
    revision, event_id, resource_type, resource_id, parent_id, event_type, name, version, created_at, actor, data, _ = (
        row
    )
    try:
        about, kind = _RESOURCE_TYPES[resource_type], _EVENT_TYPES[event_type]
    except KeyError as error:
        raise UnknownKind(str(error)) from error
    return Event(revision, event_id, about, resource_id, parent_id, kind, name, version, created_at, actor, data)


def parse(payload: str) -> Event:
    """Read what `ring_bell` tells. Raises `UnknownKind`, or, for anything else, `ValueError` or `OverflowError`."""
    revision, event_id, resource_type, resource_id, parent_id, event_type, name, version, micros, data, actor = (
        payload.split(_SEPARATOR, _FIELDS - 1)
    )
    created_at = _EPOCH + datetime.timedelta(microseconds=int(micros))
    row = (int(revision), event_id, resource_type, resource_id, parent_id, event_type, name, int(version), created_at)
    return event((*row, actor, data, len(data)))
