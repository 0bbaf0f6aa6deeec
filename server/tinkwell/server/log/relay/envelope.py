"""Events as the payload of a message and back, and batches cut to the size of messages."""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tinkwell.core.event.event import Event
from tinkwell.core.event.page import Row, event_of, ids_of, join_ids
from tinkwell.server.log.relay.broker import Letter

_UUID = re.compile(r"[0-9a-f-]{36}")


class Malformed(Exception):
    """A payload is not one of ours."""


def letters(rows: Sequence[Row], *, history_id: str, after: int, through: int, payload_bytes: int) -> Iterator[Letter]:
    """Put the events, all that the history holds in the range, into as few letters as fit; at least one.

    An event that is larger than a payload may be gets a letter that names its revision and does not enclose it.
    """
    enclosed: list[bytes] = []
    size = 0
    last = after
    for row in rows:
        revision, encoded = row[0], _encode(row)
        # Each event costs a separator; the brackets cost what one of them does not need, and one byte.
        if enclosed and size + len(encoded) + 2 > payload_bytes:
            yield Letter(history_id, after, last, _join(enclosed))
            enclosed, size, after = [], 0, last
        if len(encoded) + 2 > payload_bytes:
            yield Letter(history_id, after, revision, None)
            after = revision
        else:
            enclosed.append(encoded)
            size += len(encoded) + 1
        last = revision
    if enclosed or through > last or not rows:
        yield Letter(history_id, after, through, _join(enclosed))


def decode(letter: Letter) -> list[Event]:
    """Return the events that the letter encloses; raises `Malformed`, also where they are not what the letter says."""
    assert letter.payload is not None
    try:
        events = [_decode(fields) for fields in json.loads(letter.payload)]
        revisions = [letter.after, *(event.revision for event in events), letter.through + 1]
        is_ordered = all(before < after for before, after in itertools.pairwise(revisions))
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Malformed("a message holds something else than events") from error
    if not is_ordered:
        raise Malformed("a message holds other events than it says")
    return events


def _join(encoded: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(encoded) + b"]"


def _encode(row: Row) -> bytes:
    # A list, whose order is the same in every release.
    revision, ids, kind, version, created_at, data, _ = row
    fields = (revision, *ids_of(ids), kind, version, created_at, data.decode())
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def _decode(fields: Sequence[Any]) -> Event:
    revision, event_id, resource_id, parent_id, kind, version, created_at, data = fields
    # Who encodes the event for watchers relies on it.
    if not all(map(_UUID.fullmatch, (event_id, resource_id or event_id, parent_id or event_id))):
        raise ValueError("an id is not a UUID")
    ids = join_ids(event_id, resource_id, parent_id)
    return event_of((revision, ids, kind, version, created_at, data.encode(), 0))
