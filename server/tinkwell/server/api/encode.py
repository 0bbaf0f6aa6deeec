"""Events and batches as bytes. An event is encoded once, as a field of a response; a response is a concatenation.

Concatenating encoded fields is what protobuf defines for messages, so clients see ordinary `WatchResponse` messages.
"""

from collections.abc import Sequence

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.core.event import Event
from tinkwell.server.watch.history import Excerpt

# Field 1, length-delimited: `repeated Event events = 1`.
_EVENTS_TAG = b"\x0a"


def encode_event(event: Event) -> bytes:
    """Encode the event as one `events` field of a `WatchResponse`."""
    message = pb.Event(
        id=event.id,
        revision=event.revision,
        resource_id=event.resource_id,
        parent_id=event.parent_id,
        resource_type=pb.ResourceType.Value(f"RESOURCE_TYPE_{event.resource_type}"),
        event_type=pb.EventType.Value(f"EVENT_TYPE_{event.event_type}"),
        name=event.name,
        version=event.version,
        actor=event.actor,
        data=event.data,
    )
    message.created_at.FromDatetime(event.created_at)
    body = message.SerializeToString()
    return _EVENTS_TAG + _varint(len(body)) + body


def encode_excerpt(excerpt: Excerpt, history_id: str) -> bytes:
    """Encode a batch: its events, and the bookmark that they reach."""
    tail = pb.WatchResponse(revision=excerpt.revision, history_id=history_id).SerializeToString()
    fields: Sequence[bytes] = [entry.encoded for entry in excerpt.entries]
    return b"".join((*fields, tail))


def encode_created(*, revision: int, history_id: str) -> bytes:
    """Encode the first response of a watch."""
    return pb.WatchResponse(revision=revision, history_id=history_id, created=True).SerializeToString()


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
