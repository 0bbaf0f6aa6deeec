"""Makes events of what PostgreSQL sends: of rows of the log, and of the payloads of rings."""

import enum
from collections.abc import Iterable
from typing import Any, TypeVar

from tinkwell.core.event.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType

K = TypeVar("K", bound=enum.StrEnum)

_SEPARATOR = "\x1f"
_FIELDS = 11


class UnknownKind(ValueError):
    """The event is of a kind that this release does not know."""


class _Kinds(dict[str, K]):
    """The members of an enumeration by value. Looking one up is much faster than calling the enumeration."""

    def __missing__(self, kind: str) -> K:
        raise UnknownKind(kind)


_RESOURCE_TYPES = _Kinds((str(kind), kind) for kind in ResourceType)
_EVENT_TYPES = _Kinds((str(kind), kind) for kind in EventType)


def event(row: Iterable[Any]) -> Event:
    """Make an event of a row of `page.sql` or `tail.sql`. Raises `UnknownKind`."""
    revision, event_id, about, resource_id, parent_id, kind, name, version, created_at, actor, data, _ = row
    about, kind = _RESOURCE_TYPES[about], _EVENT_TYPES[kind]
    return Event(revision, event_id, about, resource_id, parent_id, kind, name, version, created_at, actor, data)


def parse(payload: str) -> Event:
    """Make an event of a payload of `ring_bell`. Raises `UnknownKind`; or `ValueError` if the form is unknown."""
    revision, event_id, about, resource_id, parent_id, kind, name, version, created_at, data, actor = payload.split(
        _SEPARATOR, _FIELDS - 1
    )
    return Event(
        int(revision),
        event_id,
        _RESOURCE_TYPES[about],
        resource_id,
        parent_id,
        _EVENT_TYPES[kind],
        name,
        int(version),
        int(created_at),
        actor,
        data,
    )
