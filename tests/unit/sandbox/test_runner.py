"""The child's side without a process: what it reads, what it writes, and when it sets its clock."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tinkwell.sandbox import frame, runner
from tinkwell.sandbox.limit import Limits

Frame = tuple[bytes, bytes]


class Pipes:
    """A runner's two pipes, and what it armed its clock with."""

    def __init__(self) -> None:
        self.source, self.calls = os.pipe()
        self.answers, self.target = os.pipe()
        self.armed: list[float] = []

    def read(self) -> Frame:
        header = os.read(self.answers, frame.HEADER.size)
        kind, size = frame.HEADER.unpack(header)
        body = b""
        while len(body) < size:
            body += os.read(self.answers, size - len(body))
        return kind, body


@contextmanager
def running(handle: Callable[..., object], limits: Limits | None = None) -> Iterator[Pipes]:
    pipes = Pipes()
    made = runner.Runner(pipes.source, pipes.target, handle, limits or Limits(), pipes.armed.append)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        yield pipes
    finally:
        os.close(pipes.calls)
        thread.join()
        for descriptor in (pipes.source, pipes.answers, pipes.target):
            os.close(descriptor)


def test_a_request_in_pieces_is_one_request() -> None:
    with running(lambda request, _: [request]) as pipes:
        for byte in frame.pack(frame.CALL, b'{"a":1}'):
            os.write(pipes.calls, bytes([byte]))
        assert pipes.read() == (frame.ANSWER, b'[{"a":1}]')


def test_the_clock_is_set_for_a_call_for_each_piece_and_for_the_answer_and_stands_while_nothing_is_done() -> None:
    def handle(_: object, begin: runner.Begin) -> object:
        begin("one")
        begin("ü" * 2000)
        return None

    with running(handle) as pipes:
        os.write(pipes.calls, frame.pack(frame.CALL, b"0"))
        assert pipes.read() == (frame.PIECE, b"one")
        kind, name = pipes.read()
        assert (kind, len(name)) == (frame.PIECE, frame.MAX_PIECE_BYTES)
        assert pipes.read() == (frame.ANSWER, b"null")
        assert pipes.armed == [1, 1, 1, 1, 0]


def test_an_answer_that_is_too_large_is_not_sent() -> None:
    with running(lambda request, _: request, Limits(answer_bytes=5)) as pipes:
        os.write(pipes.calls, frame.pack(frame.CALL, b'"12345"'))
        assert pipes.read() == (frame.TOO_LARGE, b"")
        os.write(pipes.calls, frame.pack(frame.CALL, b'"123"'))
        assert pipes.read() == (frame.ANSWER, b'"123"')


def test_what_json_has_no_form_for_is_a_defect_of_the_module() -> None:
    with running(lambda *_: float("inf")) as pipes:
        os.write(pipes.calls, frame.pack(frame.CALL, b"0"))
        kind, text = pipes.read()
        assert kind == frame.FAILED
        assert b"ValueError at" in text


def test_limits_survive_the_command_line() -> None:
    limits = Limits(memory_bytes=1, cpu_seconds=0.5, wall_seconds=2, request_bytes=3, answer_bytes=4)
    assert Limits.load(limits.dump()) == limits
