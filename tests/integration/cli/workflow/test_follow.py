"""Following one workflow by the real command: on a terminal, in a pipe, over a server's absence, and to its outcome."""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from typing import Any

import pytest
from integration.cli import running
from integration.cli.running import WAIT_SECONDS, Terminal, end, line

from support import waiting
from support.command_line import CommandLine
from tinkwell.client import Action, Hardware, LogLine, Template, Workflow, testing
from tinkwell.core import errors as core_errors
from tinkwell.core.event.kinds import State

ID = "6f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"
OTHER = "7f1c2b1e-8a54-4b7e-9a53-6f3f1f0f2a11"
WORKER = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"
ACTIONS = ("a0000000-0000-4000-8000-000000000000", "a0000000-0000-4000-8000-000000000001")
TEMPLATE = """version: "0.1"
name: hello
tasks:
  - name: os
    worker: "{{.device_1}}"
    actions:
      - {name: disk, image: hello-world}
"""


class Site:
    """A fake server with a workflow of two actions."""

    def __init__(self, server: testing.FakeServer) -> None:
        self.server = server
        server.put(Workflow(id=ID, template_name="hello", total_actions=2))
        for index, name in enumerate(("disk", "kexec")):
            server.put(Action(ACTIONS[index], workflow_id=ID, index=index, task_name="os", name=name, worker_id=WORKER))

    def change(self, index: int | None, **fields: Any) -> None:
        """Change an action, or the workflow."""
        world = self.server.world
        if index is None:
            self.server.put(dataclasses.replace(world.find(Workflow, ID), **fields))
        else:
            self.server.put(dataclasses.replace(world.find(Action, ACTIONS[index]), **fields))

    def begin(self) -> None:
        self.change(None, state=State.RUNNING)
        self.change(0, state=State.RUNNING, attempt=1)

    def fail(self) -> None:
        where = {"action_id": ACTIONS[0], "task_name": "os", "action_name": "disk"}
        cause = {"reason": "ACTION_FAILED", "message": "no \x1b[2Jspace", "exit_code": 28, **where}
        self.change(0, state=State.FAILED, exit_code=28, message="no space")
        self.change(1, state=State.CANCELLED)
        self.change(None, state=State.FAILED, cause=cause)

    def succeed(self) -> None:
        for index in (0, 1):
            self.change(index, state=State.SUCCEEDED, attempt=1, exit_code=0)
        self.change(None, state=State.SUCCEEDED, completed_actions=2)

    def prints(self, *texts: str) -> None:
        lines = [LogLine(ACTIONS[0], 1, number, text) for number, text in enumerate(texts, 1)]
        self.server.world.lines[ID] = lines
        self.server.log.wake()

    async def is_watched(self) -> None:
        """Wait until somebody asks for the actions, which comes after the watch."""
        await waiting.eventually(
            lambda: bool(self.server.requests("GetWorkflowActions")), deadline_seconds=WAIT_SECONDS
        )


FAILURE = f"Error: workflow {ID} ended as FAILED: action os/disk failed with exit code 28: no \\x1b[2Jspace\n"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with testing.FakeServer(bookmark_seconds=0.1) as fake:
        yield Site(fake)


def tinkwell(site: Site, *args: str, **streams: Any) -> contextlib.AbstractAsyncContextManager[Process]:
    """Run the command for the site's server."""
    return running.tinkwell(site.server, *args, **streams)


async def test_a_pipe_gets_a_line_for_each_change_until_the_workflow_has_succeeded(site: Site) -> None:
    async with tinkwell(site, "workflow", "watch", ID) as process:
        assert await line(process) == f"WORKFLOW  PENDING    {ID}  hello  0/2"
        assert await line(process) == f"ACTION    PENDING    os/disk  not started, waits for worker {WORKER}"
        site.begin()
        assert await line(process) == f"WORKFLOW  RUNNING    {ID}  hello  0/2"
        assert await line(process) == "ACTION    RUNNING    os/disk  attempt 1"
        site.succeed()
        code, stdout, stderr = await end(process)
    assert [told.split("  ", 1)[1] for told in stdout.splitlines()] == [
        "ACTION    SUCCEEDED  os/disk  attempt 1  exit 0",
        "ACTION    SUCCEEDED  os/kexec  attempt 1  exit 0",
        f"WORKFLOW  SUCCEEDED  {ID}  hello  2/2",
    ]
    assert (code, stderr) == (0, "")


async def test_the_exit_code_and_a_sentence_tell_that_a_workflow_failed(site: Site) -> None:
    async with tinkwell(site, "workflow", "watch", ID) as process:
        await site.is_watched()
        site.begin()
        site.fail()
        code, stdout, stderr = await end(process)
    assert (code, stderr) == (1, FAILURE)
    assert "ACTION    CANCELLED  os/kexec" in stdout
    assert stdout.splitlines()[-1].split("  ", 1)[1].startswith(f"WORKFLOW  FAILED     {ID}")


async def test_lines_go_on_after_the_server_was_away(site: Site) -> None:
    async with tinkwell(site, "workflow", "watch", ID) as process:
        await line(process)
        await line(process)
        await site.server.stop()
        site.begin()
        await site.server.start()
        assert await line(process) == f"WORKFLOW  RUNNING    {ID}  hello  0/2"
        site.succeed()
        code, stdout, stderr = await end(process)
    assert code == 0
    assert stdout.count("SUCCEEDED") == 3
    assert stderr == (
        "The connection is lost; what happens meanwhile is told once it is back.\nThe connection is back.\n"
    )


async def test_lines_go_on_where_the_history_was_lost_meanwhile(site: Site) -> None:
    async with tinkwell(site, "workflow", "watch", ID) as process:
        await line(process)
        await line(process)
        await site.server.stop()
        site.begin()
        site.server.change_history()
        await site.server.start()
        assert await line(process) == f"WORKFLOW  RUNNING    {ID}  hello  0/2"
        assert await line(process) == "ACTION    RUNNING    os/disk  attempt 1"
        site.succeed()
        assert (await end(process))[0] == 0


async def test_a_line_tells_which_workflow_is_waited_for_also_where_that_changes(site: Site) -> None:
    other = site.server.put(Workflow(id=OTHER, state=State.RUNNING))
    site.server.put(Action(OTHER, workflow_id=OTHER, worker_id=WORKER))
    async with tinkwell(site, "workflow", "watch", ID) as process:
        await line(process)
        waits = f"not started, waits for workflow {OTHER}, which runs on worker {WORKER}"
        assert await line(process) == f"ACTION    PENDING    os/disk  {waits}"
        site.server.put(dataclasses.replace(other, state=State.SUCCEEDED))
        assert await line(process) == f"ACTION    PENDING    os/disk  not started, waits for worker {WORKER}"
        site.succeed()
        assert (await end(process))[0] == 0


async def test_a_workflow_that_is_deleted_meanwhile_is_a_failure(site: Site) -> None:
    async with tinkwell(site, "workflow", "watch", ID) as process:
        await line(process)
        site.server.remove(site.server.world.find(Workflow, ID))
        code, _, stderr = await end(process)
    assert (code, stderr) == (1, f"Error: workflow {ID} was deleted before it was finished\n")


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_stopping_a_watch_of_one_workflow_is_no_success_of_it(
    site: Site, number: signal.Signals, expected: int
) -> None:
    async with tinkwell(site, "workflow", "watch", ID) as process:
        await line(process)
        process.send_signal(number)
        code, _, stderr = await end(process)
    assert (code, stderr) == (expected, "")


async def test_a_watch_of_one_workflow_ends_when_its_reader_is_gone(site: Site) -> None:
    reading, writing = os.pipe()
    async with tinkwell(site, "workflow", "watch", ID, stdout=writing) as process:
        os.close(writing)
        assert b"PENDING" in await asyncio.to_thread(os.read, reading, 100_000)
        os.close(reading)
        assert await end(process) == (0, "", "")


async def test_a_terminal_shows_a_tree_with_output_that_is_drawn_again_in_place(site: Site, terminal: Terminal) -> None:
    async with tinkwell(site, "workflow", "watch", ID, stdout=terminal.descriptor) as process:
        await terminal.shows(f"not started, waits for worker {WORKER}")
        site.begin()
        site.prints("copied 1 MB", "\x1b[2Jcopied [red]2 MB")
        await terminal.shows("copied 1 MB")
        await terminal.shows("waits for os/disk")
        site.fail()
        code, _, stderr = await end(process)
    assert (code, stderr) == (1, FAILURE)
    assert "\x1b[2J" not in terminal.text
    assert "\\x1b[2Jcopied [red]2 MB" in terminal.text
    assert "\x1b[1A" in terminal.text
    last = terminal.text.rpartition("\x1b[1A")[2]
    assert "FAILED" in last
    assert "copied 1 MB" in last
    assert terminal.text.rstrip().endswith("\x1b[?25h")


async def test_the_tree_says_that_the_connection_is_lost_and_goes_on(site: Site, terminal: Terminal) -> None:
    async with tinkwell(site, "workflow", "watch", ID, stdout=terminal.descriptor) as process:
        await terminal.shows("not started")
        await site.server.stop()
        await terminal.shows("The connection is lost; what happens meanwhile is told once it is back.")
        await site.server.start()
        site.begin()
        site.prints("after it was away")
        await terminal.shows("after it was away")
        site.succeed()
        assert await end(process) == (0, "", "")
    assert "connection" not in terminal.text.rpartition("\x1b[1A")[2]


async def test_the_cursor_comes_back_after_ctrl_c(site: Site, terminal: Terminal) -> None:
    async with tinkwell(site, "workflow", "watch", ID, stdout=terminal.descriptor) as process:
        await terminal.shows("not started")
        process.send_signal(signal.SIGINT)
        assert await end(process) == (130, "", "")
    assert terminal.text.rstrip().endswith("\x1b[?25h")


async def test_a_tree_goes_on_without_the_output_that_the_server_refuses(site: Site, terminal: Terminal) -> None:
    site.server.fail_next(core_errors.LimitReached("200 others are reading"), method="WatchLogs")
    async with tinkwell(site, "workflow", "watch", ID, stdout=terminal.descriptor) as process:
        await terminal.shows("The output cannot be shown: 200 others are reading")
        site.succeed()
        assert await end(process) == (0, "", "")


async def test_the_last_output_of_a_failure_is_shown_although_it_comes_late(site: Site, terminal: Terminal) -> None:
    site.begin()
    site.prints("its last words")
    site.fail()
    site.server.fail_next(core_errors.Unavailable("try again"), method="WatchLogs")
    async with tinkwell(site, "workflow", "watch", ID, stdout=terminal.descriptor) as process:
        assert (await end(process))[0] == 1
    assert "its last words" in terminal.text


async def test_in_another_format_a_watch_of_one_workflow_shows_its_events(site: Site) -> None:
    site.succeed()
    async with tinkwell(site, "workflow", "watch", ID, "-o", "jsonl") as process:
        assert process.stdout is not None
        assert json.loads(await process.stdout.readline())["name"] == "workflow.created"
        process.send_signal(signal.SIGINT)
        assert (await end(process))[::2] == (0, "")


async def test_a_terminal_that_cannot_move_its_cursor_gets_lines(site: Site, terminal: Terminal) -> None:
    site.succeed()
    async with tinkwell(site, "workflow", "watch", ID, stdout=terminal.descriptor, term="dumb") as process:
        assert await end(process) == (0, "", "")
    assert "\x1b" not in terminal.text
    assert f"WORKFLOW  SUCCEEDED  {ID}  hello  2/2" in terminal.text


CREATE = ("workflow", "create", "-t", "hello", "--device", f"device_1={WORKER}", "--wait")


def created(site: Site) -> Action:
    """The action of the workflow that the command has created."""
    return next(found for found in site.server.world.all(Action) if found.workflow_id != ID)


def report(site: Site, state: State, **fields: Any) -> None:
    """Move that action and its workflow on."""
    changed = site.server.put(dataclasses.replace(created(site), state=state, attempt=1, **fields))
    where = {"task_name": "os", "action_name": "disk"}
    cause = {"reason": "ACTION_FAILED", "message": "", "exit_code": 3, **where} if state is State.FAILED else None
    found = site.server.world.find(Workflow, changed.workflow_id)
    site.server.put(dataclasses.replace(found, state=state, cause=cause))


@pytest.fixture
def templates(site: Site) -> Site:
    site.server.put(Hardware(id=WORKER))
    site.server.put(Template(id=OTHER, name="hello", data=TEMPLATE))
    return site


async def test_waiting_leaves_standard_output_to_the_id_and_succeeds_with_the_workflow(templates: Site) -> None:
    async with tinkwell(templates, *CREATE) as process:
        assert process.stdout is not None
        workflow_id = (await process.stdout.readline()).decode().strip()
        assert workflow_id == created(templates).workflow_id
        assert (await line(process, of_stderr=True)).startswith(f"WORKFLOW  PENDING    {workflow_id}")
        report(templates, State.RUNNING)
        report(templates, State.SUCCEEDED)
        code, stdout, stderr = await end(process)
    assert (code, stdout) == (0, "")
    assert stderr.splitlines()[-1].split("  ", 1)[1].startswith(f"WORKFLOW  SUCCEEDED  {workflow_id}")


async def test_waiting_fails_with_the_workflow_and_says_why(templates: Site) -> None:
    async with tinkwell(templates, *CREATE, "-o", "yaml") as process:
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"id: ")
        workflow_id = created(templates).workflow_id
        await templates.is_watched()
        report(templates, State.FAILED)
        code, stdout, stderr = await end(process)
    assert (code, stdout.partition(":")[0]) == (1, "revision")
    sentence = f"Error: workflow {workflow_id} ended as FAILED: action os/disk failed with exit code 3"
    assert stderr.splitlines()[-1] == sentence


async def test_waiting_shows_a_tree_where_standard_error_is_a_terminal(templates: Site, terminal: Terminal) -> None:
    async with tinkwell(templates, *CREATE, stderr=terminal.descriptor) as process:
        await terminal.shows("not started, waits for worker")
        report(templates, State.SUCCEEDED)
        code, stdout, _ = await end(process)
    assert (code, stdout) == (0, f"{created(templates).workflow_id}\n")
    assert "├" in terminal.text or "└" in terminal.text


async def test_ctrl_c_ends_the_waiting_not_the_workflow_and_says_so(templates: Site) -> None:
    async with tinkwell(templates, *CREATE) as process:
        await line(process, of_stderr=True)
        process.send_signal(signal.SIGINT)
        code, stdout, stderr = await end(process)
    workflow_id = stdout.strip()
    assert code == 130
    assert stderr.splitlines()[-1] == (
        f"Stopped waiting; the workflow goes on, and tinkwell workflow watch {workflow_id} shows it."
    )
    assert templates.server.world.find(Workflow, workflow_id).state is State.PENDING


async def test_waiting_goes_on_without_a_reader_of_the_id(templates: Site) -> None:
    reading, writing = os.pipe()
    async with tinkwell(templates, *CREATE, stdout=writing) as process:
        os.close(writing)
        await line(process, of_stderr=True)
        os.close(reading)
        report(templates, State.SUCCEEDED)
        assert (await end(process))[0] == 0


async def test_that_nobody_reads_how_it_ends_is_no_success(templates: Site) -> None:
    reading, writing = os.pipe()
    async with tinkwell(templates, *CREATE, stderr=writing) as process:
        os.close(writing)
        await asyncio.to_thread(os.read, reading, 1)
        os.close(reading)
        report(templates, State.RUNNING)
        assert (await end(process))[0] == 1


def test_a_workflow_that_does_not_exist_is_told_at_once(cli: CommandLine) -> None:
    assert cli.fails("workflow", "watch", ID) == f"Error: workflow {ID} does not exist\n"


def test_a_server_that_is_not_there_is_told_at_once(cli: CommandLine) -> None:
    result = cli.run("workflow", "watch", ID, "--server", "localhost:1", "--timeout", "5s")
    assert result.exit_code == 1
    assert "start one with" in result.stderr


def test_an_option_that_chooses_events_shows_the_events_of_one_workflow(cli: CommandLine) -> None:
    cli.do(lambda server: server.put(Workflow(id=ID, state=State.SUCCEEDED)))
    assert f"CREATED               WORKFLOW     {ID}" in cli.ok("workflow", "watch", ID, "--count", "1")
    assert json.loads(cli.ok("workflow", "watch", ID, "--since", "1h", "--count", "1", "-o", "json"))["version"] == 1
