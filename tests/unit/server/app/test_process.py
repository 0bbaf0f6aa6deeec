"""What a process does on a signal, with errors that come together, and with its log."""

import asyncio
import json
import logging
import os
import signal
import sys

import pytest

from tinkwell.server.app import process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_work_and_lets_it_clean_up(number: signal.Signals) -> None:
    cleaned = []

    async def work() -> str:
        try:
            os.kill(os.getpid(), number)
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)
        return "unreachable"

    assert process.run(work()) is None
    assert cleaned == [True]


def test_the_result_of_finished_work_is_returned() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 42

    assert process.run(work()) == 42


def test_an_error_inside_of_groups_is_raised_by_itself() -> None:
    async def fail() -> None:
        raise LookupError("the cause")

    async def work() -> None:
        async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
            outer.create_task(asyncio.sleep(3600))
            inner.create_task(fail())

    with pytest.raises(LookupError, match="the cause"):
        process.run(work())


@pytest.fixture
def restored_logging() -> object:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.mark.usefixtures("restored_logging")
def test_the_text_log_has_the_fields_of_an_event_behind_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    process.configure_logging(log_format="text", log_level="info")
    logging.getLogger("tinkwell.server.app.main").info(
        "the server is ready", extra={"grpc": "[::1]:5", "cause": "no x"}
    )
    assert capsys.readouterr().err.split(" ", 2)[2] == "INFO    the server is ready grpc=[::1]:5 cause='no x'\n"


@pytest.mark.usefixtures("restored_logging")
def test_the_json_log_has_one_object_a_line_with_fields_and_exception(capsys: pytest.CaptureFixture[str]) -> None:
    process.configure_logging(log_format="json", log_level="warning")
    logger = logging.getLogger("tinkwell.test")
    logger.info("not told")
    try:
        sys.exit("line one\nline two")
    except SystemExit:
        logger.exception("it failed", extra={"revision": 7})
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert {name: told[name] for name in ("level", "logger", "message", "revision")} == {
        "level": "error",
        "logger": "tinkwell.test",
        "message": "it failed",
        "revision": 7,
    }
    assert told["exception"].endswith("SystemExit: line one\nline two")
