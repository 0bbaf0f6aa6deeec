"""Events and batches as bytes. An event is encoded once, as a field of a response; a response is a concatenation.

Concatenating encoded fields is what protobuf defines for messages, so clients see ordinary `WatchResponse` messages.

Events are encoded by hand, to the bytes that protobuf's library makes of them: that is told of each field by itself,
which takes half as long again. What neighbours have in common is encoded once for all of them. Until the end, bytes are
written as characters (see `varint`); "$" is the length of a UUID, which all ids are that are not missing.
"""

import functools
from collections.abc import Iterable, Sequence

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.core import errors, log
from tinkwell.core.event import Event
from tinkwell.core.kind import EventType, ResourceType
from tinkwell.core.log import Row
from tinkwell.server.api import varint

_RESOURCE_TYPES = {str(kind): pb.ResourceType.Value(f"RESOURCE_TYPE_{kind}") for kind in ResourceType}
_EVENT_TYPES = {str(kind): pb.EventType.Value(f"EVENT_TYPE_{kind}") for kind in EventType}
_KINDS_KEPT = 1_000
_SECOND = 1_000_000
# A varint of less takes four bytes at most.
_FIVE_BYTES = 1 << 28
# Before all that a row can hold.
_NEVER = -(1 << 63)


def encode_event(event: Event) -> bytes:
    """Encode the event as one `events` field of a `WatchResponse`."""
    return encode_rows((log.row_of(event),))


def encode_rows(rows: Iterable[Row]) -> bytes:
    """Encode events as the table gives them, as `events` fields; a million of them may go to one watcher."""
    parts: list[bytes] = []
    short, more, mask = varint.SHORT, varint.MORE, varint.MASK
    block = second = _NEVER
    low, high, seconds, start, types, actor = short, "", "", "", "", ""
    known = ""
    for revision, event_id, resource_id, parent_id, kind, version, created_at, data, _ in rows:
        if revision >> varint.BITS != block:
            block = revision >> varint.BITS
            low, high = (more, varint.of(block)) if block else (short, "")
        if created_at // _SECOND != second:
            second = created_at // _SECOND
            seconds = f"\x08{varint.of(second)}" if second else ""
            # All of a moment but a fraction of five bytes, which is what three out of four have.
            start = f"J{short[len(seconds) + 6]}{seconds}\x10"
        nanos = (created_at - second * _SECOND) * 1_000
        if nanos >= _FIVE_BYTES:
            moment = f"{start}{more[nanos & mask]}{more[nanos >> 14 & mask]}{short[nanos >> 28]}"
        else:
            moment = _moment(seconds, nanos)
        about = f"\x1a${resource_id}" if resource_id else ""
        if parent_id:
            about = f'{about}"${parent_id}'
        if kind != known:
            known = kind
            types, actor = _kind_fields(kind)
        size = len(data)
        event = (
            f"\n${event_id}\x10{low[revision & mask]}{high}{about}{types}"
            f"\x40{short[version] if 0 <= version <= mask else varint.of(version)}{moment}{actor}"
            f"\x5a{short[size] if size <= mask else varint.of(size)}"
        )
        size += len(event)
        parts.append(f"\n{short[size] if size <= mask else varint.of(size)}{event}".encode("latin-1"))
        parts.append(data)
    return b"".join(parts)


def _moment(seconds: str, nanos: int) -> str:
    """Return the field of a moment whose seconds are encoded."""
    if nanos:
        seconds = f"{seconds}\x10{varint.of(nanos)}"
    return f"J{varint.SHORT[len(seconds)]}{seconds}"


@functools.lru_cache(_KINDS_KEPT)
def _kind_fields(kind: str) -> tuple[str, str]:
    """Return the fields that few events differ in: what comes before the version, and the actor, which comes last.

    Raises `errors.Unavailable` for a kind that only a newer release knows: skipping the event would lose it.
    """
    resource_type, event_type, name, actor = log.kind_of(kind)
    if resource_type not in _RESOURCE_TYPES or event_type not in _EVENT_TYPES:
        raise errors.Unavailable(
            f"this server does not know events of the kind {resource_type} {event_type}; upgrade it, or ask another one"
        )
    types = pb.Event(
        resource_type=_RESOURCE_TYPES[resource_type],
        event_type=_EVENT_TYPES[event_type],
        name=name,
    )
    return types.SerializeToString().decode("latin-1"), pb.Event(actor=actor).SerializeToString().decode("latin-1")


def encode_response(fields: Sequence[bytes], revision: int, history_id: str) -> bytes:
    """Encode a batch: its events, encoded before, and the bookmark that they reach."""
    tail = pb.WatchResponse(revision=revision, history_id=history_id).SerializeToString()
    return b"".join((*fields, tail))


def encode_created(*, revision: int, history_id: str) -> bytes:
    """Encode the first response of a watch."""
    return pb.WatchResponse(revision=revision, history_id=history_id, created=True).SerializeToString()
