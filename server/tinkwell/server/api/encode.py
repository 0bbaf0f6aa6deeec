"""Events and batches as bytes. An event is encoded once, as a field of a response; a response is a concatenation.

Concatenating encoded fields is what protobuf defines for messages, so clients see ordinary `WatchResponse` messages.
"""

import functools
from collections.abc import Sequence

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.core import errors, log
from tinkwell.core.event import Event
from tinkwell.core.kind import EventType, ResourceType
from tinkwell.core.log import Row

# Field 1, length-delimited: `repeated Event events = 1`.
_EVENTS_TAG = b"\x0a"
_RESOURCE_TYPES = {str(kind): pb.ResourceType.Value(f"RESOURCE_TYPE_{kind}") for kind in ResourceType}
_EVENT_TYPES = {str(kind): pb.EventType.Value(f"EVENT_TYPE_{kind}") for kind in EventType}
_KINDS_KEPT = 1_000


def encode_event(event: Event) -> bytes:
    """Encode the event as one `events` field of a `WatchResponse`."""
    return encode_row(log.row_of(event))


def encode_row(row: Row) -> bytes:
    """Encode an event as the table gives it, as one `events` field; a million of them go to one watcher."""
    revision, event_id, resource_id, parent_id, kind, version, created_at, data, _ = row
    seconds, microseconds = divmod(created_at, 1_000_000)
    fields = pb.Event(
        id=event_id,
        revision=revision,
        resource_id=resource_id,
        parent_id=parent_id,
        version=version,
        # A dictionary costs half of a message; the stubs do not know that it is taken.
        created_at={"seconds": seconds, "nanos": microseconds * 1_000},  # type: ignore[arg-type]
        data=data,
    ).SerializeToString()
    common = _encode_kind(kind)
    return _EVENTS_TAG + _varint(len(fields) + len(common)) + fields + common


@functools.lru_cache(_KINDS_KEPT)
def _encode_kind(kind: str) -> bytes:
    """Encode what few events differ in; encoded fields one after the other are those of one message.

    Raises `errors.Unavailable` for a kind that only a newer release knows: skipping the event would lose it.
    """
    resource_type, event_type, name, actor = log.kind_of(kind)
    if resource_type not in _RESOURCE_TYPES or event_type not in _EVENT_TYPES:
        raise errors.Unavailable(
            f"this server does not know events of the kind {resource_type} {event_type}; upgrade it, or ask another one"
        )
    return pb.Event(
        resource_type=_RESOURCE_TYPES[resource_type], event_type=_EVENT_TYPES[event_type], name=name, actor=actor
    ).SerializeToString()


def encode_response(fields: Sequence[bytes], revision: int, history_id: str) -> bytes:
    """Encode a batch: its events, encoded before, and the bookmark that they reach."""
    tail = pb.WatchResponse(revision=revision, history_id=history_id).SerializeToString()
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
