"""Reads events from protobuf, and converts their types."""

from collections.abc import Mapping

from tinkwell.api.v1 import (
    event_service_pb2,
)
from tinkwell.client.value import field
from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType

RESOURCE_TYPES = {kind: event_service_pb2.ResourceType.Value(f"RESOURCE_TYPE_{kind}") for kind in ResourceType}


EVENT_TYPES = {kind: event_service_pb2.EventType.Value(f"EVENT_TYPE_{kind}") for kind in EventType}


_RESOURCE_TYPE_OF: Mapping[int, ResourceType] = {number: kind for kind, number in RESOURCE_TYPES.items()}


_EVENT_TYPE_OF: Mapping[int, EventType] = {number: kind for kind, number in EVENT_TYPES.items()}


def event(source: event_service_pb2.Event) -> Event:
    """Read an event; its data stays text."""
    return Event.unread(
        source.data,
        source.id,
        source.revision,
        _RESOURCE_TYPE_OF.get(source.resource_type, ResourceType.CUSTOM),
        _EVENT_TYPE_OF.get(source.event_type, EventType.UPDATED),
        source.name,
        source.resource_id,
        source.parent_id,
        source.version,
        field.time(source, "created_at"),
        source.actor,
    )
