"""Letters: what they hold, how large they are, and that nothing else is taken for one."""

import json

import hypothesis
import pytest
from hypothesis import strategies as st

from support.log_event import KINDS, make_event
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import row_of
from tinkwell.server.log.relay import envelope
from tinkwell.server.log.relay.broker import Letter

PAYLOAD_BYTES = 1_000

events = st.lists(
    st.builds(
        lambda step, kind, data, at: (step, make_event(1, kind=kind, data=data)._replace(created_at=at)),
        st.integers(1, 3),
        st.integers(0, len(KINDS) - 1),
        st.text(max_size=400) | st.just("x" * 2_000),
        st.integers(-300_000_000_000_000, 200_000_000_000_000_000),
    ),
    max_size=8,
)


def lay_out(steps: list[tuple[int, Event]]) -> list[Event]:
    """Give the events revisions that lie so far apart."""
    laid, revision = [], 10
    for step, event in steps:
        revision += step
        laid.append(event._replace(revision=revision))
    return laid


@hypothesis.given(events, st.integers(0, 3))
def test_letters_continue_each_other_and_hold_everything_that_fits(steps: list[tuple[int, Event]], rest: int) -> None:
    sent = lay_out(steps)
    through = (sent[-1].revision if sent else 10) + rest
    rows = [row_of(event) for event in sent]
    letters = list(envelope.letters(rows, history_id="h", after=10, through=through, payload_bytes=PAYLOAD_BYTES))
    after, received = 10, list[Event]()
    for letter in letters:
        assert letter.after == after
        after = letter.through
        if letter.payload is None:
            assert [event.revision for event in sent if letter.after < event.revision <= letter.through] == [after]
        else:
            assert len(letter.payload) <= PAYLOAD_BYTES
            received += envelope.decode(letter)
    assert after == through
    enclosed = [event for event in sent if event.revision not in {one.through for one in letters if not one.payload}]
    assert received == enclosed


def test_events_that_fit_a_message_together_are_one_letter() -> None:
    rows = [row_of(make_event(revision)) for revision in range(1, 4)]
    letters = envelope.letters(rows, history_id="h", after=0, through=3, payload_bytes=PAYLOAD_BYTES)
    assert [(letter.after, letter.through) for letter in letters] == [(0, 3)]


ID = "00000000-0000-0000-0000-000000000001"
KIND = "HARDWARE\x1fCREATED\x1fhardware.created\x1fme"


@pytest.mark.parametrize(
    "wrong",
    [
        {1: ""},
        {1: ID[:-1]},
        {1: ID[:-1] + "ü"},
        {1: 1},
        {2: "machine"},
        {3: ID + "0"},
        {3: [1]},
        {4: 1},
        {7: None},
        {7: "\ud800"},
    ],
)
def test_fields_that_no_watcher_could_be_sent_are_malformed(wrong: dict[int, object]) -> None:
    fields = [1, ID, ID, "", KIND, 1, 1, "{}"]
    assert envelope.decode(Letter("h", 0, 2, json.dumps([fields]).encode()))
    fields = [wrong.get(place, field) for place, field in enumerate(fields)]
    with pytest.raises(envelope.Malformed):
        envelope.decode(Letter("h", 0, 2, json.dumps([fields]).encode()))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"1",
        b"\xff",
        b"[1]",
        b"[[1]]",
        pytest.param(b"[" * 100_000 + b"]" * 100_000, id="nested"),
        b'[["1","","HARDWARE","","","CREATED","",1,1,"",""]]',
        b'[[1,"","UNHEARD_OF","","","CREATED","",1,1,"",""]]',
        b'[[1,"","HARDWARE","","","CREATED","",1,1e300,"",""]]',
        b'[[0,"","HARDWARE","","","CREATED","",1,1,"",""]]',
        b'[[3,"","HARDWARE","","","CREATED","",1,1,"",""]]',
        b'[[2,"","HARDWARE","","","CREATED","",1,1,"",""],[1,"","HARDWARE","","","CREATED","",1,1,"",""]]',
    ],
)
def test_what_is_not_a_list_of_the_events_in_the_range_is_malformed(payload: bytes) -> None:
    with pytest.raises(envelope.Malformed):
        envelope.decode(Letter("h", 0, 2, payload))
