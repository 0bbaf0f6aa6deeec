"""The results of reading the event log: pages of events, rows, and the identity of the log."""

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

from tinkwell.core.event.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType


class SourceLost(Exception):
    """The connection to the log is gone; a new one can be opened."""


class Incomplete(SourceLost):
    """The database answers but lacks a part of the log, which comes back by itself as a connection does."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the database is not usable yet, as in the middle of a restore: {what}")


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """Events in revision order. A page that was cut short by its limits covers only up to its last event."""

    events: Sequence[Event]
    is_cut: bool

    @property
    def covers(self) -> float:
        """The revision up to which the page has all events."""
        return self.events[-1].revision if self.is_cut else float("inf")


# An event as the table has it, sent on without becoming an object: revision, ids (see `ids_of`), kind (see `kind_of`),
# version, created_at in microseconds since 1970, data in UTF-8, and the table's count of their bytes.
Row: TypeAlias = tuple[int, str, str, int, int, bytes, int]


# No type or name contains it; the text after the third one is the actor, with any characters.
_SEPARATOR = "\x1f"


# What protobuf writes before the resource's and the parent's id, so that the ids of a row are sent without change.
_RESOURCE_MARK, _PARENT_MARK = "\x1a$", '"$'


@dataclasses.dataclass(frozen=True, slots=True)
class Replay:
    """Selected events in revision order; it has all selected events up to and including `revision`."""

    rows: Sequence[Row]
    revision: int


@dataclasses.dataclass(frozen=True, slots=True)
class History:
    """The identity of the log, and the first revision that is kept."""

    history_id: str
    oldest_revision: int


def kind_of(kind: str) -> tuple[str, str, str, str]:
    """Return resource_type, event_type, name and actor from one text: few events differ in all of them."""
    resource_type, event_type, name, actor = kind.split(_SEPARATOR, 3)
    return resource_type, event_type, name, actor


def ids_of(ids: str) -> tuple[str, str, str]:
    """Return id, resource_id and parent_id from one text: a mark stands before each of the latter, if any."""
    own, _, parent_id = ids.partition(_PARENT_MARK)
    event_id, _, resource_id = own.partition(_RESOURCE_MARK)
    return event_id, resource_id, parent_id


def join_ids(event_id: str, resource_id: str, parent_id: str) -> str:
    """Return the text that `ids_of` reads."""
    about = f"{_RESOURCE_MARK}{resource_id}" if resource_id else ""
    parent = f"{_PARENT_MARK}{parent_id}" if parent_id else ""
    return f"{event_id}{about}{parent}"


def row_of(event: Event) -> Row:
    """Return the event as the table has it."""
    data = event.data.encode()
    return (
        event.revision,
        join_ids(event.id, event.resource_id, event.parent_id),
        _SEPARATOR.join((event.resource_type, event.event_type, event.name, event.actor)),
        event.version,
        event.created_at,
        data,
        len(data),
    )


def event_of(row: Row) -> Event:
    """Return the event of a row. Raises `ValueError` for unknown kinds."""
    revision, ids, kind, version, created_at, data, _ = row
    event_id, resource_id, parent_id = ids_of(ids)
    resource_type, event_type, name, actor = kind_of(kind)
    return Event(
        revision=revision,
        id=event_id,
        resource_type=ResourceType(resource_type),
        resource_id=resource_id,
        parent_id=parent_id,
        event_type=EventType(event_type),
        name=name,
        version=version,
        created_at=created_at,
        actor=actor,
        data=data.decode(),
    )
