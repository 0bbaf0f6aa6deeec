"""The log of each process: what is told, by whom, in which form, and without secrets."""

import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tinkwell.core.process_log import redaction, repetition, setup

SECRET = 'c4n4ry in a "log"'


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave what happens to warnings, and to errors that nobody catches, as it was."""
    for place, name in ((sys, "excepthook"), (threading, "excepthook"), (sys, "unraisablehook")):
        monkeypatch.setattr(place, name, getattr(place, name))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    redaction.register(SECRET)
    yield
    logging.captureWarnings(False)


def written(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_the_text_log_has_the_fields_of_an_event_behind_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    setup.set_up("info")
    fields = {"grpc": "[::1]:5", "cause": "no x", "seconds": 1.25, "empty": ""}
    logging.getLogger("tinkwell.server.app.main").info("the server is ready", extra=fields)
    line = "INFO    the server is ready grpc=[::1]:5 cause='no x' seconds=1.2 empty=''\n"
    assert written(capsys).split(" ", 2)[2] == line


def test_the_json_log_has_one_object_a_line_with_fields_and_exception(capsys: pytest.CaptureFixture[str]) -> None:
    setup.set_up("warning", log_format="json", worker=3)
    logger = logging.getLogger("tinkwell.test")
    logger.info("not told")
    try:
        sys.exit("line one\nline two")
    except SystemExit:
        logger.exception("it failed", extra={"revision": 7, "parts": ("a", 1.5, {"b": None})})
    (line,) = written(capsys).splitlines()
    told = json.loads(line)
    assert told.pop("exception").endswith("SystemExit: line one\nline two")
    del told["time"]
    assert told == {
        "level": "error",
        "logger": "tinkwell.test",
        "message": "it failed",
        "revision": 7,
        "parts": ["a", 1.5, {"b": None}],
        "worker": 3,
    }


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_nothing_in_the_log_is_obeyed_by_a_terminal(capsys: pytest.CaptureFixture[str], log_format: Any) -> None:
    setup.set_up("warning", log_format=log_format)
    text = "\x1b]0;title\x07\x9b2J\u202e\x7f"
    error = ValueError(text)
    fields = {"cause": text, "parts": [text]}
    logging.getLogger("library").error("it failed: %s", text, exc_info=error, extra=fields)
    told = written(capsys)
    assert "title" in told
    assert told.replace("\n", "").isprintable()


@pytest.mark.parametrize("level", ["debug", "info"])
def test_libraries_tell_of_warnings_and_worse_whatever_we_tell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    setup.set_up(level)
    forward = logging.getLogger("forward_library")
    monkeypatch.setattr(forward, "level", logging.DEBUG)
    for name in ("httpx", "httpcore.connection", "asyncio", "docker.auth", "forward_library", "tinkwell_like"):
        logging.getLogger(name).debug("%s debugs", name)
        logging.getLogger(name).info("%s informs", name)
        logging.getLogger(name).warning("%s warns", name)
    logging.getLogger("tinkwell.server").info("ours")
    logging.getLogger("urllib3.connectionpool").warning("a connection beside the pool")
    told = [line.split(maxsplit=3)[3] for line in written(capsys).splitlines()]
    assert told == [
        *("httpx warns", "httpcore.connection warns", "asyncio warns", "docker.auth warns"),
        *("forward_library warns", "tinkwell_like warns", "ours"),
    ]


def test_a_higher_level_holds_for_libraries_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    setup.set_up("error")
    for name in ("httpx", "tinkwell.server"):
        logging.getLogger(name).warning("%s warns", name)
        logging.getLogger(name).error("%s errs", name)
    assert [line.split(maxsplit=3)[3] for line in written(capsys).splitlines()] == [
        "httpx errs",
        "tinkwell.server errs",
    ]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_secret_is_written_wherever_it_stands(capsys: pytest.CaptureFixture[str], log_format: str) -> None:
    setup.set_up("debug", log_format="json" if log_format == "json" else "text")
    logger = logging.getLogger("a.library")
    logger.warning("with %s and %r", SECRET, SECRET, extra={"field": SECRET, "fields": [{"deep": SECRET}]})
    error = RuntimeError(SECRET)
    error.__cause__ = ValueError(f"connect to https://me:pw-of-mine@host failed: {SECRET!r}")
    logger.error(SECRET, exc_info=error)
    said = written(capsys)
    assert "c4n4ry" not in said
    assert "pw-of-mine" not in said
    assert "RuntimeError: ***" in said


def test_errors_that_nobody_catches_and_warnings_are_logged_without_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    setup.set_up("info")

    def fail() -> None:
        raise ValueError(SECRET)

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    try:
        fail()
    except ValueError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"careful: {SECRET}", stacklevel=1)
    said = written(capsys)
    assert said.count("CRITICAL an error was not caught") == 2
    assert said.count("ValueError: ***") == 2
    assert "careful: ***" in said
    assert "c4n4ry" not in said


def test_what_a_tests_runner_waits_for_is_left_to_it() -> None:
    def theirs(*_: object) -> None:
        raise AssertionError("nothing has failed")

    sys.excepthook = theirs
    setup.set_up("info")
    assert sys.excepthook is theirs


def test_a_warning_that_is_repeated_all_the_time_is_counted_and_told_of_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = logging.getLogger().handlers[:]
    setup.set_up("info", worker=3)
    for number in range(repetition.MOST + 500):
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received, %d.", number)
    logging.getLogger("tinkwell.server").info("another one")
    for handler in logging.getLogger().handlers:
        if handler not in before:
            handler.close()
    *lines, one_of_ours, last = written(capsys).splitlines()
    assert len(lines) == repetition.MOST
    assert "another one" in one_of_ours
    said = f"lines=500 like='Invalid HTTP request received, {repetition.MOST + 499}.' worker=3"
    assert last.endswith(f"WARNING {repetition.COUNTED} {said}")
