"""Which lines are written, and which are only counted."""

import logging
import threading
from collections.abc import Iterator

import pytest

from tinkwell.core.process_log.repetition import COUNTED, MOST, PERIOD_SECONDS, Repetition


@pytest.fixture
def written() -> list[logging.LogRecord]:
    return []


@pytest.fixture
def counter(written: list[logging.LogRecord]) -> Iterator[Repetition]:
    counting = Repetition(written.append)
    yield counting
    counting.tell()


def record(
    message: str = "it is full", *, line: int = 7, level: int = logging.WARNING, at: float = 0.0, error: object = None
) -> logging.LogRecord:
    exc_info = (type(error), error, None) if isinstance(error, Exception) else None
    made = logging.LogRecord("a.library", level, "/library.py", line, message, (), exc_info)
    made.created = at
    return made


def told(records: list[logging.LogRecord]) -> list[tuple[str, object, object]]:
    return [(line.getMessage(), vars(line).get("lines"), vars(line).get("like")) for line in records]


def test_a_line_that_comes_over_and_over_is_counted_and_told_of_once(
    counter: Repetition, written: list[logging.LogRecord]
) -> None:
    results = [counter.is_written(record(f"it is full: {number}\nmore of it")) for number in range(MOST + 1_000)]
    assert results == [True] * MOST + [False] * 1_000
    counter.tell()
    assert told(written) == [(COUNTED, 1_000, f"it is full: {MOST + 999}")]
    assert (written[0].name, written[0].levelname) == ("a.library", "WARNING")
    assert counter.is_written(written[0])
    assert counter.is_written(record())
    counter.tell()
    assert len(written) == 1


def test_lines_from_other_places_with_other_errors_and_of_ordinary_work_are_written(counter: Repetition) -> None:
    for _ in range(MOST):
        assert counter.is_written(record(error=OSError()))
    assert not counter.is_written(record(error=OSError()))
    assert counter.is_written(record(error=LookupError()))
    assert counter.is_written(record())
    assert counter.is_written(record(line=8, error=OSError()))
    assert all(counter.is_written(record(level=logging.INFO)) for _ in range(2 * MOST))


def test_a_line_that_comes_now_and_then_is_always_written(counter: Repetition) -> None:
    for number in range(10 * MOST):
        assert counter.is_written(record(at=number * PERIOD_SECONDS / MOST))


def test_they_are_told_of_by_themselves_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Timer:
        daemon = False

        def __init__(self, seconds: float, tell: object) -> None:
            self.seconds, self.tell = seconds, tell

        def start(self) -> None:
            assert self.daemon
            started.append((self.seconds, self.tell))

        def cancel(self) -> None:
            return

    monkeypatch.setattr(threading, "Timer", Timer)
    counter = Repetition(print)
    for _ in range(MOST + 10):
        counter.is_written(record())
    assert started == [(PERIOD_SECONDS, counter.tell)]


def test_a_line_whose_arguments_do_not_fit_is_told_of_as_it_stands(
    counter: Repetition, written: list[logging.LogRecord]
) -> None:
    for _ in range(MOST + 1):
        counter.is_written(logging.LogRecord("a", logging.ERROR, "/x.py", 1, "%d and %d", ("one",), None))
    counter.tell()
    assert told(written) == [(COUNTED, 1, "%d and %d")]
