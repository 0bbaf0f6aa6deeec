"""The real command in a process of its own: pipes, terminals and signals."""

import asyncio
import contextlib
import dataclasses
import json
import os
import pty
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from integration.cli.running import Terminal

from tinkwell.client import Action, Hardware, LogLine, Workflow, testing
from tinkwell.core.event.kinds import EventType, State

TINKWELL = str(Path(sys.executable).with_name("tinkwell"))
WAIT_SECONDS = 20
ID = "6f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"


@pytest.fixture
async def server() -> AsyncIterator[testing.FakeServer]:
    async with testing.FakeServer(bookmark_seconds=0.1) as fake:
        yield fake


@contextlib.asynccontextmanager
async def tinkwell(
    server: testing.FakeServer, *args: str, stdout: int = asyncio.subprocess.PIPE, **env: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the command; it is killed where the test leaves it running."""
    environment = {**os.environ, "TINKWELL_SERVER": server.address, "TERM": "xterm", **env}
    environment.pop("NO_COLOR", None) if "NO_COLOR" not in env else None
    process = await asyncio.create_subprocess_exec(
        *(TINKWELL, *args),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode()


async def end(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    stdout, stderr = await process.communicate()
    return process.returncode or 0, (stdout or b"").decode(), stderr.decode()


async def test_each_event_comes_through_a_pipe_at_once(server: testing.FakeServer) -> None:
    async with tinkwell(server, "events", "watch", "-o", "jsonl") as process:
        for revision in (1, 2, 3):
            server.emit(EventType.CUSTOM, name="a.b")
            assert json.loads(await line(process))["revision"] == revision


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_watch_that_is_stopped_is_a_success(server: testing.FakeServer, number: signal.Signals) -> None:
    server.emit(EventType.CUSTOM, name="a.b")
    async with tinkwell(server, "events", "watch") as process:
        assert "a.b" in await line(process)
        process.send_signal(number)
        assert await end(process) == (0, "", "")


async def test_a_watch_ends_when_its_reader_is_gone_although_nothing_happens(server: testing.FakeServer) -> None:
    server.emit(EventType.CUSTOM, name="a.b")
    reading, writing = os.pipe()
    async with tinkwell(server, "events", "watch", "-o", "jsonl", stdout=writing) as process:
        os.close(writing)
        assert json.loads(await asyncio.to_thread(os.read, reading, 100_000))["revision"] == 1
        os.close(reading)
        assert await end(process) == (0, "", "")


async def test_a_list_whose_reader_is_gone_ends_without_a_word(server: testing.FakeServer) -> None:
    server.put(Hardware(id=ID))
    reading, writing = os.pipe()
    os.close(reading)
    async with tinkwell(server, "hardware", "list", stdout=writing) as process:
        os.close(writing)
        assert await end(process) == (0, "", "")


async def test_an_id_is_never_cut_and_nothing_is_coloured_in_a_pipe(server: testing.FakeServer) -> None:
    server.put(Workflow(id=ID, template_name="t" * 150, state=State.FAILED))
    async with tinkwell(server, "workflow", "list", COLUMNS="40") as process:
        code, stdout, stderr = await end(process)
    assert (code, stderr) == (0, "")
    assert stdout.splitlines()[1].startswith(f"{ID}  {'t' * 150}  FAILED  0/0")


@pytest.mark.parametrize(("env", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
async def test_states_are_coloured_on_a_terminal_unless_the_user_does_not_want_it(
    server: testing.FakeServer, env: dict[str, str], is_coloured: bool
) -> None:
    server.put(Workflow(id=ID, template_name="t", state=State.FAILED))
    controller, terminal = pty.openpty()
    async with tinkwell(server, "workflow", "list", stdout=terminal, **env) as process:
        os.close(terminal)
        code, _, stderr = await end(process)
    shown = os.read(controller, 100_000).decode()
    os.close(controller)
    assert (code, stderr) == (0, "")
    assert ("\x1b[31mFAILED\x1b[0m" in shown) is is_coloured
    assert ("\x1b" in shown) is is_coloured


async def test_a_watch_goes_on_after_the_server_was_away(server: testing.FakeServer) -> None:
    server.emit(EventType.CUSTOM, name="a.b")
    async with tinkwell(server, "events", "watch", "--count", "2", "-o", "jsonl") as process:
        assert json.loads(await line(process))["revision"] == 1
        await server.stop()
        await server.start()
        server.emit(EventType.CUSTOM, name="a.c")
        code, stdout, stderr = await end(process)
    assert (code, json.loads(stdout)["name"]) == (0, "a.c")
    assert stderr == (
        "The connection is lost; events after revision 1 come once it is back.\nThe connection is back.\n"
    )


@pytest.mark.parametrize("is_terminal", [True, False])
async def test_an_open_line_is_written_over_on_a_terminal_and_left_out_elsewhere(
    server: testing.FakeServer, is_terminal: bool
) -> None:
    workflow = server.put(Workflow(id=ID, state=State.RUNNING))
    action = server.put(Action(id="a0000000-0000-4000-8000-000000000001", workflow_id=ID, task_name="t", name="a"))
    lines = server.world.lines.setdefault(ID, [])
    lines += [LogLine(action.id, 1, 1, "begin"), LogLine(action.id, 1, 2, "1 %" * 60, is_open=True)]
    reading, writing = pty.openpty() if is_terminal else os.pipe()
    async with tinkwell(server, "workflow", "logs", ID, "-f", "--no-prefix", stdout=writing, COLUMNS="80") as process:
        os.close(writing)
        shown = b""
        while (b"1 %" if is_terminal else b"begin") not in shown:
            shown += await asyncio.to_thread(os.read, reading, 100_000)
        lines[1] = LogLine(action.id, 1, 2, "done")
        lines.append(LogLine(action.id, 1, 3, "99 %", is_open=True))
        server.put(dataclasses.replace(workflow, state=State.SUCCEEDED))
        code, _, stderr = await end(process)
    with contextlib.suppress(OSError):  # a terminal's last reader is told so
        shown += os.read(reading, 100_000)
    os.close(reading)
    assert (code, stderr) == (0, "")
    clear = "\r\x1b[K"
    expected = f"begin\r\n{clear}{('1 %' * 60)[:79]}{clear}done\r\n{clear}99 %{clear}99 %\r\n"
    assert shown.decode() == (expected if is_terminal else "begin\ndone\n99 %\n")


async def test_followed_logs_go_on_after_the_server_was_away_with_each_line_once(server: testing.FakeServer) -> None:
    workflow = server.put(Workflow(id=ID, state=State.RUNNING))
    action = server.put(Action(id="a0000000-0000-4000-8000-000000000001", workflow_id=ID, task_name="t", name="a"))
    lines = server.world.lines.setdefault(ID, [])
    lines.append(LogLine(action.id, 1, 1, "first"))
    async with tinkwell(server, "workflow", "logs", ID, "-f", "--no-prefix") as process:
        assert await line(process) == "first\n"
        await server.stop()
        lines.append(LogLine(action.id, 1, 2, "second"))
        await server.start()
        assert await line(process) == "second\n"
        server.put(dataclasses.replace(workflow, state=State.SUCCEEDED))
        code, stdout, stderr = await end(process)
    assert (code, stdout) == (0, "")
    assert stderr == "The connection is lost; the output goes on once the server is back.\n"


@pytest.mark.parametrize("is_raw", [False, True])
async def test_logs_on_a_terminal_are_as_printed_only_where_that_is_asked_for(
    server: testing.FakeServer, terminal: Terminal, *, is_raw: bool
) -> None:
    server.put(Workflow(id=ID, state=State.FAILED))
    action = server.put(Action(id="a0000000-0000-4000-8000-000000000001", workflow_id=ID, task_name="t", name="a"))
    server.world.lines[ID] = [LogLine(action.id, 1, 1, "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J\u202e")]
    words = ("workflow", "logs", ID, "--no-prefix", *(["--raw"] if is_raw else []))
    async with tinkwell(server, *words, stdout=terminal.descriptor) as process:
        await terminal.shows("red")
        assert (await end(process))[0] == 0
    expected = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J\u202e" if is_raw else "red\\x1b]0;title\\x07\\x9b2J\\u202e"
    assert terminal.text == f"{expected}\r\n"


async def test_ctrl_c_during_an_ordinary_command_is_no_success(server: testing.FakeServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        async with tinkwell(server, "hardware", "list", "--server", address) as process:
            connection, _ = await asyncio.get_running_loop().sock_accept(silent)
            with connection:
                process.send_signal(signal.SIGINT)
                assert await end(process) == (130, "", "")


async def test_a_full_disk_is_a_failure_with_its_reason(server: testing.FakeServer) -> None:
    server.put(Hardware(id=ID))
    full = os.open("/dev/full", os.O_WRONLY)
    async with tinkwell(server, "hardware", "list", stdout=full) as process:
        os.close(full)
        code, _, stderr = await end(process)
    assert (code, stderr) == (1, "Error: No space left on device\n")
