"""Events and batches as bytes. An event is encoded once, as a field of a response; a response is a concatenation.

Concatenating encoded fields is what protobuf defines for messages, so clients see ordinary `WatchResponse` messages.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.core import errors, log
from tinkwell.core.event import Event
from tinkwell.core.kind import EventType, ResourceType
from tinkwell.core.log import Row

_RESOURCE_TYPES = {str(kind): pb.ResourceType.Value(f"RESOURCE_TYPE_{kind}") for kind in ResourceType}
_EVENT_TYPES = {str(kind): pb.EventType.Value(f"EVENT_TYPE_{kind}") for kind in EventType}
_KINDS_KEPT = 1_000


def encode_event(event: Event) -> bytes:
    """Encode the event as one `events` field of a `WatchResponse`."""
    return encode_rows((log.row_of(event),))


def encode_rows(rows: Iterable[Row]) -> bytes:
    """Encode events as the table gives them, as `events` fields; a million of them go to one watcher.

    They are put into one message, which protobuf then encodes at once: message by message takes half as long again.
    Setting fields one by one takes less than naming them all to `add`.
    """
    response = pb.WatchResponse()
    add = response.events.add
    for revision, event_id, resource_id, parent_id, kind, version, created_at, data, _ in rows:
        event = add(**_kind_fields(kind))
        event.id = event_id
        event.revision = revision
        event.resource_id = resource_id
        event.parent_id = parent_id
        event.version = version
        event.data = data
        moment = event.created_at
        moment.seconds, microseconds = divmod(created_at, 1_000_000)
        moment.nanos = microseconds * 1_000
    return response.SerializeToString()


@functools.lru_cache(_KINDS_KEPT)
def _kind_fields(kind: str) -> dict[str, Any]:
    """Return the fields that few events differ in; nobody may change them.

    Raises `errors.Unavailable` for a kind that only a newer release knows: skipping the event would lose it.
    """
    resource_type, event_type, name, actor = log.kind_of(kind)
    if resource_type not in _RESOURCE_TYPES or event_type not in _EVENT_TYPES:
        raise errors.Unavailable(
            f"this server does not know events of the kind {resource_type} {event_type}; upgrade it, or ask another one"
        )
    return {
        "resource_type": _RESOURCE_TYPES[resource_type],
        "event_type": _EVENT_TYPES[event_type],
        "name": name,
        "actor": actor,
    }


def encode_response(fields: Sequence[bytes], revision: int, history_id: str) -> bytes:
    """Encode a batch: its events, encoded before, and the bookmark that they reach."""
    tail = pb.WatchResponse(revision=revision, history_id=history_id).SerializeToString()
    return b"".join((*fields, tail))


def encode_created(*, revision: int, history_id: str) -> bytes:
    """Encode the first response of a watch."""
    return pb.WatchResponse(revision=revision, history_id=history_id, created=True).SerializeToString()
