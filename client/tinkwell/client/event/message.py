"""Named positions, read from protobuf."""

from tinkwell.api.v1 import (
    event_service_pb2,
)
from tinkwell.client.event.model import Position
from tinkwell.client.value import field


def position(source: event_service_pb2.Position) -> Position:
    """Read a named position."""
    return Position(
        name=source.name,
        revision=source.revision,
        history_id=source.history_id,
        token=source.token,
        updated_at=field.time(source, "updated_at"),
    )
