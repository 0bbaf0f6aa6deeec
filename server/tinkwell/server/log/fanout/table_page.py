"""A piece of the table that is sent to watchers, cut into portions that fit one response.

Watchers of one selection that are near each other share a piece and its encoding::

    piece       ├──────────────────────────────────┤ revision
    portions    ├───────────┼───────────┼──────────┤   one response each, encoded once for all watchers
    parts       ├───┼───┼───┼───┼───┼───┼───┼──────┤   encoded one after another; other tasks run in between
                      ▲
                      a watcher that begins here gets its own response for the rest of this portion, and then the
                      shared ones
"""

import bisect
import itertools
import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from tinkwell.core.event.page import Replay, Row
from tinkwell.server.log.fanout.group import Respond

# The size of a part, which is encoded without letting other tasks run, and of a response.
_PART_ROWS = 200
_PART_BYTES = 128 << 10
_RESPONSE_BYTES = 512 << 10

EncodeRows = Callable[[Sequence[Row]], bytes]

# The last column of a row: how many bytes of data it has.
_size = operator.itemgetter(-1)
_revision = operator.itemgetter(0)


class Portion:
    """Rows that make one response. Every selected event up to and including `revision` is here or came before."""

    __slots__ = ("_encoded", "_response", "_waiting", "count", "revision", "rows")

    def __init__(self, parts: Sequence[Sequence[Row]], revision: int) -> None:
        self.rows = [row for part in parts for row in part]
        self.count = len(self.rows)
        self.revision = revision
        self._waiting = deque(parts)
        self._encoded: list[bytes] = []
        self._response: bytes | None = None

    def encode(self, encode_rows: EncodeRows, respond: Respond, history_id: str) -> bytes | None:
        """Encode one part and return None, or return the response once all parts are encoded.

        Any of the watchers that share the portion may call this.
        """
        if self._response is None:
            if self._waiting:
                self._encoded.append(encode_rows(self._waiting.popleft()))
                return None
            self._response = respond(self._encoded, self.revision, history_id)
            self._encoded.clear()
        return self._response


class Piece:
    """The selected events from revision `first` up to and including `revision`."""

    __slots__ = ("_part_rows", "_portions", "first", "revision")

    def __init__(
        self, first: int, replay: Replay, *, part_rows: int = _PART_ROWS, response_bytes: int = _RESPONSE_BYTES
    ) -> None:
        self.first = first
        self.revision = replay.revision
        self._part_rows = part_rows
        self._portions = list(_portions(list(_parts(replay.rows, part_rows)), replay.revision, response_bytes))

    def portions(self, position: int) -> Iterator[Portion]:
        """Return the portions for a watcher at the position: at least one, which may have only a bookmark."""
        index = bisect.bisect_left(
            self._portions, position, hi=len(self._portions) - 1, key=operator.attrgetter("revision")
        )
        portion = self._portions[index]
        if portion.rows and portion.rows[0][0] < position:
            rest = portion.rows[bisect.bisect_left(portion.rows, position, key=_revision) :]
            portion = Portion(list(_parts(rest, self._part_rows)), portion.revision)
        return itertools.chain((portion,), itertools.islice(self._portions, index + 1, None))


def _portions(parts: Sequence[Sequence[Row]], revision: int, response_bytes: int) -> Iterator[Portion]:
    taken: list[Sequence[Row]] = []
    size = 0
    for part in parts[:-1]:
        taken.append(part)
        size += sum(map(_size, part))
        if size >= response_bytes:
            yield Portion(taken, part[-1][0])
            taken, size = [], 0
    yield Portion([*taken, *parts[-1:]], revision)


def _parts(rows: Sequence[Row], part_rows: int) -> Iterator[Sequence[Row]]:
    """Cut rows into parts of limited count and limited bytes. A part may be larger only if it is a single row."""
    bytes_before = list(itertools.accumulate(map(_size, rows), initial=0))
    begin = 0
    while begin < len(rows):
        fitting = bisect.bisect_right(bytes_before, bytes_before[begin] + _PART_BYTES, begin) - 1
        end = max(begin + 1, min(begin + part_rows, fitting))
        yield rows[begin:end]
        begin = end
