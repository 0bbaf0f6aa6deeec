"""Events and batches as bytes. An event is encoded once, as a field of a response; a response is a concatenation.

Concatenating encoded fields is what protobuf defines for messages, so clients see ordinary `WatchResponse` messages.

They are encoded by hand: protobuf's library is told of each field by itself, which takes twice as long. Readers take
fields in any order, and integers that are longer than need be. What neighbours have in common is encoded once for all
of them. Until the end, bytes are written as characters (see `varint`); "$" is the length of a UUID, which all ids are
that are not missing.
"""

import functools
from collections.abc import Iterable, Sequence

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.event.page import Row, kind_of, row_of
from tinkwell.server.rpc.watch import varint

_RESOURCE_TYPES = {str(kind): pb.ResourceType.Value(f"RESOURCE_TYPE_{kind}") for kind in ResourceType}
_EVENT_TYPES = {str(kind): pb.EventType.Value(f"EVENT_TYPE_{kind}") for kind in EventType}
_KINDS_KEPT = 1_000
_HISTORIES_KEPT = 10
_SECOND = 1_000_000
# Before all that a row can hold.
_NEVER = -(1 << 63)


def encode_event(event: Event) -> bytes:
    """Encode the event as one `events` field of a `WatchResponse`."""
    return encode_rows((row_of(event),))


def encode_rows(rows: Iterable[Row]) -> bytes:
    """Encode events as the table gives them, as `events` fields; a million of them may go to one watcher."""
    parts: list[bytes] = []
    short, more, mask = varint.SHORT, varint.MORE, varint.MASK
    block = start_of_second = _NEVER
    low, high, moment, kind_fields = short, "", "", ""
    known = ""
    for revision, ids, kind, version, created_at, data, _ in rows:
        if revision >> varint.BITS != block:
            block = revision >> varint.BITS
            low, high = (more, varint.of(block)) if block else (short, "")
        if not 0 <= created_at - start_of_second < _SECOND:
            second = created_at // _SECOND
            start_of_second = second * _SECOND
            seconds = f"\x08{varint.of(second)}"
            moment = f"J{short[len(seconds) + 6]}{seconds}\x10"
        if kind != known:
            known = kind
            kind_fields = _kind_fields(kind)
        nanos = (created_at - start_of_second) * 1_000
        size = len(data)
        # The nanoseconds always take five bytes, which is what three out of four need.
        event = (
            f"{kind_fields}\n${ids}\x10{low[revision & mask]}{high}"
            f"\x40{short[version] if 0 <= version <= mask else varint.of(version)}"
            f"{moment}{more[nanos & mask]}{more[nanos >> 14 & mask]}{short[nanos >> 28]}"
            f"\x5a{short[size] if size <= mask else varint.of(size)}"
        )
        size += len(event)
        parts.append(f"\n{short[size] if size <= mask else varint.of(size)}{event}".encode("latin-1"))
        parts.append(data)
    return b"".join(parts)


@functools.lru_cache(_KINDS_KEPT)
def _kind_fields(kind: str) -> str:
    """Return the fields that few events differ in.

    Raises `errors.Unavailable` for a kind that only a newer release knows: skipping the event would lose it.
    """
    resource_type, event_type, name, actor = kind_of(kind)
    if resource_type not in _RESOURCE_TYPES or event_type not in _EVENT_TYPES:
        raise errors.Unavailable(
            f"this server does not know events of the kind {resource_type} {event_type}; upgrade it, or ask another one"
        )
    fields = pb.Event(
        resource_type=_RESOURCE_TYPES[resource_type],
        event_type=_EVENT_TYPES[event_type],
        name=name,
        actor=actor,
    )
    return fields.SerializeToString().decode("latin-1")


def encode_response(fields: Sequence[bytes], revision: int, history_id: str) -> bytes:
    """Encode a batch: its events, encoded before, and the bookmark that they reach."""
    return b"".join((*fields, f"\x10{varint.of(revision)}{_history_field(history_id)}".encode("latin-1")))


@functools.lru_cache(_HISTORIES_KEPT)
def _history_field(history_id: str) -> str:
    return pb.WatchResponse(history_id=history_id).SerializeToString().decode("latin-1")


def encode_created(*, revision: int, history_id: str) -> bytes:
    """Encode the first response of a watch."""
    return pb.WatchResponse(revision=revision, history_id=history_id, created=True).SerializeToString()
