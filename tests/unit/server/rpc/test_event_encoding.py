"""What is put together from bytes reads as the messages that protobuf would have made of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.log_event import IDS, KINDS, make_event
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import event_of, row_of
from tinkwell.server.rpc.watch import event_encoding, varint

# In microseconds since 1970.
SECOND = 1_000_000
YEAR_1900, YEAR_2026, YEAR_10000 = -2_208_988_800 * SECOND, 1_767_225_600 * SECOND, 253_402_300_800 * SECOND
texts = st.text(max_size=300)
# Also those whose fraction of a second is short.
moments = st.integers(YEAR_1900, YEAR_10000 - 1) | st.builds(
    lambda microsecond: YEAR_2026 + microsecond,
    st.integers(0, 2_200) | st.integers(268_430, 268_440) | st.just(999_999),
)
events = st.builds(
    lambda kind, **fields: Event(resource_type=kind[0], event_type=kind[1], name=kind[2], **fields),
    st.sampled_from(KINDS),
    revision=st.integers(1, 2**63 - 1),
    id=st.sampled_from(IDS[1:]),
    resource_id=st.sampled_from(IDS),
    parent_id=st.sampled_from(IDS),
    version=st.integers(0, 2**63 - 1),
    created_at=moments,
    actor=texts,
    data=texts,
)


def message(event: Event) -> pb.Event:
    made = pb.Event(
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
    made.created_at.FromMicroseconds(event.created_at)
    return made


@given(st.lists(events, max_size=4), st.integers(0, 2**63 - 1))
def test_a_response_holds_its_events_and_its_bookmark(kept: list[Event], revision: int) -> None:
    encoded = event_encoding.encode_response([event_encoding.encode_event(event) for event in kept], revision, "h")
    expected = pb.WatchResponse(events=[message(event) for event in kept], revision=revision, history_id="h")
    assert pb.WatchResponse.FromString(encoded) == expected


@given(st.lists(events, max_size=8))
def test_rows_read_as_what_protobuf_makes_of_their_events(kept: list[Event]) -> None:
    encoded = event_encoding.encode_rows(map(row_of, kept))
    expected = pb.WatchResponse(events=[message(event) for event in kept])
    # Written again, since that holds fields that are unknown, too.
    assert pb.WatchResponse.FromString(encoded).SerializeToString() == expected.SerializeToString()


@given(st.lists(events, max_size=8), st.integers(268_436, 999_999))
def test_rows_take_as_many_bytes_as_protobuf_gives_them(kept: list[Event], microsecond: int) -> None:
    """Nothing is written twice or too long, but for what protobuf leaves out, and short fractions of seconds."""
    usual = [
        event._replace(
            version=event.version or 1,
            data=event.data or "{}",
            created_at=YEAR_2026 + event.version % 1_000 * SECOND + microsecond,
        )
        for event in kept
    ]
    expected = pb.WatchResponse(events=[message(event) for event in usual])
    assert len(event_encoding.encode_rows(map(row_of, usual))) == expected.ByteSize()


# About where a number takes another byte, or another two of them.
@pytest.mark.parametrize("number", [1 << bits for bits in (7, 14, 21, 28, 35, 42, 62)])
def test_neighbours_do_not_lend_each_other_what_differs(number: int) -> None:
    one = make_event(1)
    revisions = [*range(max(number - 2, 1), number + 3), 3]
    kept = [
        one._replace(
            revision=revision,
            version=revision,
            resource_id=IDS[index % 3],
            parent_id=IDS[index % 2],
            created_at=one.created_at + index // 2 * SECOND + revision % 999_999,
            actor=f"{index // 2} ü\u65e5",
        )
        for index, revision in enumerate(revisions)
    ]
    encoded = event_encoding.encode_rows(map(row_of, kept))
    expected = pb.WatchResponse(events=[message(event) for event in kept])
    assert pb.WatchResponse.FromString(encoded).SerializeToString() == expected.SerializeToString()


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 1 << 21, 8 << 20])
@pytest.mark.parametrize("less", [0, 100, 200])
def test_data_of_any_size_reads_as_it_was(size: int, less: int) -> None:
    event = make_event(1)._replace(data="x" * max(size - less, 0))
    assert list(pb.WatchResponse.FromString(event_encoding.encode_event(event)).events) == [message(event)]


@given(st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**bits - 1 for bits in range(63)]))
def test_an_integer_takes_the_bytes_that_protobuf_gives_it(number: int) -> None:
    expected = pb.Event(revision=number).SerializeToString()[1:] or b"\0"
    assert varint.of(number).encode("latin-1") == expected


@given(events)
def test_a_row_of_the_table_reads_like_the_event_that_it_holds(event: Event) -> None:
    assert event_of(row_of(event)) == event


@given(st.lists(events, min_size=1, max_size=2), st.lists(events, max_size=2))
def test_responses_one_after_the_other_are_one_with_the_last_bookmark(one: list[Event], two: list[Event]) -> None:
    first = event_encoding.encode_response([event_encoding.encode_event(event) for event in one], 5, "h")
    second = event_encoding.encode_response([event_encoding.encode_event(event) for event in two], 9, "h")
    joined = pb.WatchResponse.FromString(first + second)
    assert list(joined.events) == [message(event) for event in (*one, *two)]
    assert (joined.revision, joined.history_id) == (9, "h")


def test_a_kind_of_a_newer_release_ends_the_watch_instead_of_the_server() -> None:
    row = (1, IDS[0], "\x1f".join(("RACK", "RACK_DOOR_OPENED", "rack.door_opened", "me")), 1, 0, b"{}", 2)
    with pytest.raises(errors.Unavailable, match="RACK RACK_DOOR_OPENED; upgrade it"):
        event_encoding.encode_rows([row])
