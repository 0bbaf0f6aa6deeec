"""How a piece of the table is cut into responses, and what watchers who begin somewhere in it get of them."""

from hypothesis import given
from hypothesis import strategies as st

from support.log_event import make_event
from support.log_table import encode_rows, parse, respond
from tinkwell.core.event.page import Replay, Row, row_of
from tinkwell.server.log.fanout import table_page
from tinkwell.server.log.fanout.table_page import Piece


def encoded(portion: table_page.Portion) -> tuple[list[int], int]:
    while (response := portion.encode(encode_rows, respond, "h")) is None:
        pass
    return parse(response)


def rows_of(revisions: list[int]) -> list[Row]:
    return [row_of(make_event(revision)) for revision in revisions]


def piece(first: int, replay: Replay) -> Piece:
    """Cut what was read into parts of two rows and responses of five bytes."""
    return Piece(first, replay, part_rows=2, response_bytes=5)


@given(st.sets(st.integers(1, 40)), st.integers(0, 5), st.data())
def test_who_begins_in_a_piece_gets_the_rest_of_it_in_order(kept: set[int], dead: int, data: st.DataObject) -> None:
    revisions = sorted(kept)
    last = max(kept, default=1) + dead
    whole = piece(1, Replay(rows_of(revisions), last))
    for position in data.draw(st.lists(st.integers(1, last), min_size=1, max_size=4)):
        responses = [encoded(portion) for portion in whole.portions(position)]
        assert [revision for part, _ in responses for revision in part] == [n for n in revisions if n >= position]
        bookmarks = [bookmark for _, bookmark in responses]
        assert bookmarks == sorted(bookmarks)
        assert bookmarks[-1] == last
        for part, bookmark in responses[:-1]:
            assert part[-1] == bookmark, "what comes between two responses is in the second"


def test_who_shares_a_piece_shares_what_was_encoded() -> None:
    parts: list[list[int]] = []

    def noting(rows: list[Row]) -> bytes:
        parts.append([row[0] for row in rows])
        return encode_rows(rows)

    whole = piece(1, Replay(rows_of([1, 2, 3, 4, 5, 6, 7]), 9))
    # Both take turns, as two watchers do.
    first, second = next(whole.portions(1)), next(whole.portions(1))
    responses: list[bytes] = []
    while len(responses) < 2:
        responses = [
            response
            for portion in (first, second)
            if (response := portion.encode(noting, respond, "h")) is not None  # type: ignore[arg-type]
        ]
    assert responses[0] is responses[1]
    assert parts == [[1, 2], [3, 4]]
    # Who begins in the middle of a response encodes the rest of that, and no more.
    assert [encoded(portion) for portion in whole.portions(2)] == [([2, 3, 4], 4), ([5, 6, 7], 9)]
