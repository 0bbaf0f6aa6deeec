"""Lines are sent while a script runs, and there are never too many of them."""

import asyncio
from collections.abc import Sequence

import pytest

from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.client.unit.model import UnitLogLine
from tinkwell.core.unit import limit
from tinkwell.provisioner.unit import journal
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.journal import Journal


class Server:
    """Takes lines while it is open."""

    def __init__(self) -> None:
        self.lines: list[UnitLogLine] = []
        self.is_open = asyncio.Event()
        self.is_open.set()

    async def send(self, lines: Sequence[UnitLogLine]) -> None:
        await self.is_open.wait()
        self.lines += lines


async def _finish(written: Journal, running: asyncio.Task[None]) -> None:
    await written.finish()
    await running


async def test_lines_are_numbered_and_come_in_order() -> None:
    server = Server()
    written = Journal(server.send, ordinal=3, attempt=2)
    running = asyncio.create_task(written.run())
    await written.hear("STDOUT", "one")
    await written.log("TRACE", "two\0")
    await written.log("CRITICAL", "x" * (limit.LOG_LINE_BYTES + 1))
    await _finish(written, running)
    assert [(line.ordinal, line.attempt, line.number, line.level) for line in server.lines] == [
        (3, 2, 1, "STDOUT"),
        (3, 2, 2, "DEBUG"),
        (3, 2, 3, "ERROR"),
    ]
    assert server.lines[1].text == "two\ufffd"
    assert len(server.lines[2].text) == limit.LOG_LINE_BYTES


async def test_beyond_the_most_the_output_is_dropped_and_the_log_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "LOG_LINES_PER_EVENT", 3)
    server = Server()
    written = Journal(server.send, ordinal=1, attempt=1)
    running = asyncio.create_task(written.run())
    for number in range(5):
        await written.hear("STDOUT", str(number))
    with pytest.raises(Refused, match="3 lines"):
        await written.log("INFO", "more")
    await _finish(written, running)
    assert [line.text for line in server.lines] == [
        "0",
        "1",
        "this attempt has reached the limit of lines; the rest of its output is dropped",
    ]


async def test_who_says_more_than_is_taken_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_WAITING_BYTES", 10)
    server = Server()
    server.is_open.clear()
    written = Journal(server.send, ordinal=1, attempt=1)
    running = asyncio.create_task(written.run())
    told = list[int]()

    async def tell() -> None:
        for number in range(5):
            await written.hear("STDOUT", "123456")
            told.append(number)

    telling = asyncio.create_task(tell())
    await eventually(lambda: len(told) == 2)  # one is being sent, and one waits
    server.is_open.set()
    await telling
    await _finish(written, running)
    assert len(server.lines) == 5


async def test_lines_that_are_refused_are_left_out() -> None:
    async def refuse(lines: Sequence[UnitLogLine]) -> None:
        raise errors.InvalidField("not these")

    written = Journal(refuse, ordinal=1, attempt=1)
    running = asyncio.create_task(written.run())
    await written.hear("STDOUT", "one")
    await _finish(written, running)


async def test_lines_that_follow_each_other_quickly_go_in_one_call() -> None:
    calls = list[int]()

    async def send(lines: Sequence[UnitLogLine]) -> None:
        calls.append(len(lines))

    written = Journal(send, ordinal=1, attempt=1, gather_seconds=3600)
    running = asyncio.create_task(written.run())
    for number in range(3):
        await written.hear("STDOUT", str(number))
        await asyncio.sleep(0)
    await _finish(written, running)
    assert calls == [3]


async def test_a_line_that_nothing_follows_is_sent_while_its_script_runs() -> None:
    server = Server()
    written = Journal(server.send, ordinal=1, attempt=1, gather_seconds=0.01)
    running = asyncio.create_task(written.run())
    await written.hear("STDOUT", "one")
    await eventually(lambda: len(server.lines) == 1)
    await _finish(written, running)
