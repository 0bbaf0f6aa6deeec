"""Bytes to lines, whatever way they come."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.client.workflow.model import LogStream
from tinkwell.provisioner.runtime import output

OUT, ERR = LogStream.STDOUT, LogStream.STDERR
LIMIT = output.MAX_LINE_BYTES


def frame(payload: bytes, stream: LogStream = OUT) -> bytes:
    return bytes((1 if stream is OUT else 2, 0, 0, 0)) + len(payload).to_bytes(4) + payload


def read(*chunks: bytes, max_bytes: int = output.MAX_BYTES) -> list[output.OutputLine]:
    reader = output.OutputReader(max_bytes=max_bytes)
    return [line for chunk in chunks for line in reader.feed(chunk)] + list(reader.finish())


def texts(*payloads: bytes) -> list[str]:
    return [line.text for line in read(*(frame(payload) for payload in payloads))]


@pytest.mark.parametrize(
    ("payloads", "expected"),
    [
        ([], []),
        ([b""], []),
        ([b"\n"], [""]),
        ([b"a\n\nb"], ["a", "", "b"]),
        ([b"one li", b"ne\ntwo"], ["one line", "two"]),
        ([b"dos\r\n", b"bare\rreturn\n"], ["dos", "bare\rreturn"]),
        ([b"caf\xc3", b"\xa9\n"], ["café"]),
        ([b"\xff\n"], ["\ufffd"]),
        ([b"a\0b\n"], ["a\ufffdb"]),
        ([b"x" * LIMIT + b"\n"], ["x" * LIMIT]),
        ([b"x" * (LIMIT + 1) + b"\n"], ["x" * LIMIT, "x"]),
        ([b"x" * LIMIT, b"\n", b"y"], ["x" * LIMIT, "y"]),
        ([b"x" * (LIMIT - 1) + "é".encode() + b"\n"], ["x" * (LIMIT - 1), "é"]),
    ],
)
def test_lines_are_joined_split_and_made_text(payloads: list[bytes], expected: list[str]) -> None:
    assert texts(*payloads) == expected


def test_streams_are_kept_apart_and_numbered_together() -> None:
    chunks = [frame(b"out ", OUT), frame(b"err ", ERR), frame(b"A\n", OUT), frame(b"B\n", ERR)]
    assert read(*chunks) == [output.OutputLine(1, OUT, "out A"), output.OutputLine(2, ERR, "err B")]


def test_a_line_is_never_longer_than_it_may_be_though_replacing_makes_it_longer() -> None:
    lines = texts(b"\xff" * (LIMIT + 5))
    assert all(len(line.encode()) <= LIMIT for line in lines)
    assert sum(map(len, lines)) == LIMIT + 5


def test_a_line_that_is_too_long_says_of_each_part_whether_it_goes_on() -> None:
    lines = read(frame(b"a" * (2 * LIMIT + 1) + b"\nshort\n" + b"\xff" * LIMIT))
    assert [line.is_cut for line in lines if line.text[0] == "a"] == [True, True, False]
    assert [line.is_cut for line in lines if line.text == "short"] == [False]
    assert [line.is_cut for line in lines if line.text[0] == "\ufffd"] == [True, True, True, False]


def test_what_is_too_much_is_dropped_with_a_note() -> None:
    lines = read(frame(b"12345678\n" * 100), max_bytes=3 * (8 + output.LINE_OVERHEAD_BYTES))
    assert [line.text for line in lines[:-1]] == ["12345678"] * 3
    assert lines[-1].number == 4
    assert lines[-1].stream is ERR
    assert "dropped" in lines[-1].text


def test_newlines_alone_are_not_free() -> None:
    assert len(read(frame(b"\n" * 1_000_000))) <= output.MAX_BYTES / output.LINE_OVERHEAD_BYTES + 1


frames = st.lists(
    st.builds(
        frame,
        st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xff", "é".encode(), b"\0", b"long" * 5000]), max_size=6).map(
            b"".join
        ),
        st.sampled_from([OUT, ERR]),
    ),
    max_size=8,
).map(b"".join)


@given(frames, st.lists(st.integers(0, 200_000), max_size=6))
def test_the_lines_do_not_depend_on_how_the_bytes_were_cut(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[begin:end] for begin, end in itertools.pairwise(edges)]
    assert read(*pieces, max_bytes=50_000) == read(data, max_bytes=50_000)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
def test_bytes_that_are_no_frames_do_no_harm(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[begin:end] for begin, end in itertools.pairwise(edges)]
    assert read(*pieces) == read(data)


@given(frames)
def test_every_line_is_text_that_can_be_stored_and_numbers_have_no_gaps(data: bytes) -> None:
    lines = read(data)
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    for line in lines:
        assert len(line.text.encode()) <= LIMIT
        assert "\0" not in line.text
        assert "\n" not in line.text


def stamped(second: int, payload: bytes) -> bytes:
    return frame(f"2026-01-01T00:00:{second:02}.000000000Z ".encode() + payload)


def test_stamps_are_no_output_however_they_are_cut() -> None:
    whole = stamped(1, b"on") + stamped(2, b"e\n") + stamped(3, b"\n") + stamped(4, b"two")
    for size in range(1, len(whole)):
        reader = output.OutputReader(base=7, has_stamps=True)
        pieces = [whole[begin : begin + size] for begin in range(0, len(whole), size)]
        lines = [line for piece in pieces for line in reader.feed(piece)] + list(reader.finish())
        assert [(line.number, line.text) for line in lines] == [(8, "one"), (9, ""), (10, "two")]


def test_the_first_stamp_is_known_once_all_of_it_is_there() -> None:
    whole = stamped(5, b"x")
    needed = len(whole) - len(b"x")
    for size in range(needed):
        assert output.first_stamp(whole[:size]) is None
    assert output.first_stamp(whole[:needed]) == "2026-01-01T00:00:05.000000000Z"
    assert output.first_stamp(frame(b"none\n")) == ""


@pytest.mark.parametrize("stamp", ["2026-01-01T00:00:05Z", "2026-01-01T00:00:05.123+02:00"])
def test_stamps_of_any_length_are_no_output(stamp: str) -> None:
    reader = output.OutputReader(has_stamps=True)
    lines = list(reader.feed(frame(f"{stamp} a b\n".encode()) + frame(f"{stamp} \n".encode())))
    assert [line.text for line in lines] == ["a b", ""]


def test_there_are_no_more_lines_than_a_server_takes() -> None:
    lines = read(frame(b"\n" * (output.MAX_LINES + 1)))
    assert len(lines) == output.MAX_LINES + 1 < 100_000
    assert lines[-1].text == "[the rest of the output was dropped: it has more than 99,998 lines]"
