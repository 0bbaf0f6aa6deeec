"""Bytes to lines, whatever way they come."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.client.workflow.model import LogStream
from tinkwell.provisioner.runtime import output, stream_line

OUT, ERR = LogStream.STDOUT, LogStream.STDERR
LIMIT = stream_line.MAX_LINE_BYTES


def frame(payload: bytes, stream: LogStream = OUT) -> bytes:
    return bytes((1 if stream is OUT else 2, 0, 0, 0)) + len(payload).to_bytes(4) + payload


def read_all(*chunks: bytes, max_bytes: int = output.MAX_BYTES) -> list[output.OutputLine]:
    reader = output.OutputReader(max_bytes=max_bytes)
    return [line for chunk in chunks for line in reader.feed(chunk)] + list(reader.finish())


def read(*chunks: bytes, max_bytes: int = output.MAX_BYTES) -> list[output.OutputLine]:
    return [line for line in read_all(*chunks, max_bytes=max_bytes) if not line.is_open]


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
        ([b"dos\r\n", b"dos\r", b"\n", b"\r\n"], ["dos", "dos", ""]),
        ([b"1 %\r50 %\r100 %\n", b"done\n"], ["100 %", "done"]),
        ([b"\r1 %", b"\r50 %", b"\r100 %\r"], ["100 %"]),
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


def test_of_a_long_output_the_beginning_and_the_end_are_kept() -> None:
    payload = b"".join(b"%08d\n" % number for number in range(100))
    lines = read(frame(payload), max_bytes=8 * (8 + output.LINE_OVERHEAD_BYTES))
    assert [line.text for line in lines] == [
        *("00000000", "00000001", "00000002", "00000003"),
        "[the output is long; its last lines follow when it has ended]",
        "[828 bytes are left out here, in 92 lines]",
        *("00000096", "00000097", "00000098", "00000099"),
    ]
    assert [line.number for line in lines] == list(range(1, 11))
    assert [line.is_note for line in lines] == [*[False] * 4, True, True, *[False] * 4]


def test_where_nothing_is_left_out_nothing_is_said_of_it() -> None:
    lines = read(frame(b"12345678\n" * 8), max_bytes=8 * (8 + output.LINE_OVERHEAD_BYTES))
    assert len([line for line in lines if line.is_note]) == 1
    assert len(lines) == 9


def test_the_end_of_a_long_output_never_begins_within_a_line() -> None:
    secret = b"s" * LIMIT + b"ecret\n"
    for length in range(6 * LIMIT, 9 * LIMIT, LIMIT // 2):
        payload = b"first\n" + secret + b"x" * length + b"\nlast\n"
        lines = read(frame(payload), max_bytes=4 * LIMIT)
        texts = [line.text for line in lines]
        end = texts[texts.index("[the output is long; its last lines follow when it has ended]") + 2 :]
        assert end == ["last"]


def test_a_progress_is_an_open_line_that_comes_again_until_it_is_complete() -> None:
    chunks = [frame(b"begin\n"), frame(b"1 %\r"), frame(b"1 %\r"), frame(b"50 %\r"), frame(b"100 %\nend\n")]
    told = [(line.number, line.text, line.is_open) for line in read_all(*chunks)]
    assert told == [
        (1, "begin", False),
        (2, "1 %", True),
        (2, "50 %", True),
        (2, "100 %", False),
        (3, "end", False),
    ]


def test_a_line_of_the_other_stream_completes_a_progress() -> None:
    chunks = [frame(b"1 %\r"), frame(b"warning\n", ERR), frame(b"2 %\r"), frame(b"\n")]
    told = [(line.number, line.stream, line.text, line.is_open) for line in read_all(*chunks)]
    assert told == [
        (1, OUT, "1 %", True),
        (1, OUT, "1 %", False),
        (2, ERR, "warning", False),
        (3, OUT, "2 %", True),
        (3, OUT, "2 %", False),
    ]


def test_a_progress_without_end_takes_no_memory_and_one_number() -> None:
    reader = output.OutputReader()
    lines = [line for turn in range(200_000) for line in reader.feed(frame(b"%06d bytes\r" % turn))]
    assert {line.number for line in lines} == {1}
    assert all(line.is_open for line in lines)
    assert [line.text for line in reader.finish()] == ["199999 bytes"]


def test_newlines_alone_are_not_free() -> None:
    assert len(read(frame(b"\n" * 1_000_000))) <= output.MAX_BYTES / output.LINE_OVERHEAD_BYTES + 1


frames = st.lists(
    st.builds(
        frame,
        st.lists(
            st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"\xff", "é".encode(), b"\0", b"long" * 5000]), max_size=6
        ).map(b"".join),
        st.sampled_from([OUT, ERR]),
    ),
    max_size=8,
).map(b"".join)


@given(frames, st.lists(st.integers(0, 200_000), max_size=6))
def test_the_lines_do_not_depend_on_how_the_bytes_were_cut(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[begin:end] for begin, end in itertools.pairwise(edges)]
    assert read(*pieces, max_bytes=50_000) == read(data, max_bytes=50_000)


@given(st.lists(frames, max_size=6))
def test_an_open_line_is_the_next_one_of_its_stream(chunks: list[bytes]) -> None:
    lines = read_all(*chunks)
    for place, line in enumerate(lines):
        if line.is_open:
            following = next(other for other in lines[place + 1 :] if not other.is_open)
            assert (following.number, following.stream) == (line.number, line.stream)


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
    lines = read(frame(b"\n" * 400_000 + b"why it failed\n"), max_bytes=2**40)
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    assert lines[-1].number <= output.MAX_LINES + 2
    assert lines[-1].text == "why it failed"
    told = [line for line in lines if line.is_note]
    assert [line.number for line in told] == [output.HEAD_LINES + 1, output.HEAD_LINES + 2]
    kept = len(lines) - len(told)
    assert told[1].text == f"[{400_001 - kept:,} bytes are left out here, in {400_001 - kept:,} lines]"


def test_numbers_stay_below_those_of_hooks_wherever_they_begin() -> None:
    reader = output.OutputReader(base=output.MAX_BASE)
    lines = [reader.note("some were forgotten"), *reader.feed(frame(b"\n" * 400_000)), *reader.finish()]
    assert max(line.number for line in lines) <= 100_000


def test_the_rest_of_an_output_whose_beginning_was_read_is_its_end_alone() -> None:
    reader = output.OutputReader(base=7, is_long=True)
    lines = [*reader.feed(frame(b"one\ntwo\n")), *reader.finish()]
    assert [(line.number, line.text) for line in lines] == [(8, "one"), (9, "two")]


def test_what_a_supervisor_has_left_out_is_left_out_with_what_was_kept_before_it() -> None:
    gap = bytes((output.GAP_STREAM, 0, 0, 0)) + (16).to_bytes(4) + (7).to_bytes(8) + (70).to_bytes(8)
    data = frame(b"first\n") + frame(b"second\nbroken") + gap + frame(b" off\nlast\n")
    for cut in range(len(data)):
        lines = read(data[:cut], data[cut:])
        assert [line.text for line in lines] == [
            *("first", "second"),
            "[the output is long; its last lines follow when it has ended]",
            "[81 bytes are left out here, in 8 lines]",
            "last",
        ]
