"""Following an operation by the real command: on a terminal, in a pipe, over a server's absence, to its outcome."""

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.cli import running
from integration.cli.running import WAIT_SECONDS, Terminal, end, line

import tinkwell.client
from support import waiting
from support.release_provisioner import MANIFEST, REMOVAL, Provisioner, apply, step
from tinkwell.client import Client, testing
from tinkwell.core import errors as core_errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, NodeTask, StepKind
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.report import NodeReport
from tinkwell.core.release.transition.ending import follow_up_id


class Site:
    """A fake server with a client of it and a provisioner, which does what a test says."""

    def __init__(self, server: testing.FakeServer, client: Client, owner: Provisioner, manifest: str) -> None:
        self.server = server
        self.client = client
        self.owner = owner
        self.manifest = manifest

    def tinkwell(self, *args: str, **streams: Any) -> contextlib.AbstractAsyncContextManager[Process]:
        """Run `tinkwell release …`."""
        return running.tinkwell(self.server, "release", *args, **streams)

    def apply(self, *options: str, **streams: Any) -> contextlib.AbstractAsyncContextManager[Process]:
        """Run `tinkwell release apply shop …`."""
        return self.tinkwell("apply", "shop", self.manifest, *options, **streams)

    async def asked(self, method: str = "Apply", *, times: int = 1) -> str:
        """Wait until the command has begun its operation, and follows it; gives the operation's id."""

        def is_followed() -> bool:
            return bool(self.server.requests("ListNodes")) and len(self.server.requests(method)) >= times

        await waiting.eventually(is_followed, deadline_seconds=WAIT_SECONDS)
        id_: str = self.server.requests(method)[-1].operation_id
        return id_

    async def fail(self, operation_id: str) -> None:
        """Carry an operation out whose second resource fails."""
        await self.owner.begin(operation_id)
        await self.owner.install(operation_id, "role")
        await self.owner.fail(operation_id, "db", "creating", 'role "bar" exists')
        await self.owner.finish(operation_id, State.FAILED, path="db")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    path = tmp_path / "shop.yaml"
    path.write_text(MANIFEST)
    async with testing.FakeServer(bookmark_seconds=0.1) as fake, tinkwell.client.connect(fake.address) as client:
        yield Site(fake, client, await Provisioner.enter(client), str(path))


async def test_a_pipe_gets_a_line_for_each_change_until_it_has_succeeded(site: Site) -> None:
    async with site.apply() as process:
        id_ = await site.asked()
        assert await line(process) == f"OPERATION  PENDING     shop  install  {id_}"
        await site.owner.begin(id_)
        assert await line(process) == f"OPERATION  RUNNING     shop  install  {id_}"
        # No event tells of a plan.
        assert {await line(process), await line(process)} == {
            "NODE       PENDING     role",
            "NODE       PENDING     db  waits for role",
        }
        await site.owner.install(id_, "role")
        assert await line(process) == "NODE       INSTALLING  role"
        assert await line(process) == "STEP       RUNNING     role  action create"
        assert (await line(process)).startswith("STEP       SUCCEEDED   role  action create  0.")
        ready = await line(process)
        assert ready.startswith("NODE       READY       role  0.")
        assert ready.endswith("s  create")
        await site.owner.keep(id_, "db")
        await site.owner.finish(id_)
        code, stdout, stderr = await end(process)
    *_, ended, summary = stdout.splitlines()
    assert ended.partition("  ")[2].startswith(f"OPERATION  SUCCEEDED   shop  install  {id_}  2/2  ")
    assert summary.startswith("shop DEPLOYED as revision 1 in ")
    assert summary.endswith(": 1 changed, 1 unchanged")
    assert (code, stderr) == (0, "")


async def test_a_failure_tells_where_what_it_printed_and_how_to_go_on(site: Site) -> None:
    async with site.apply() as process:
        await site.fail(await site.asked())
        code, stdout, stderr = await end(process)
    assert code == 1
    assert stdout.splitlines()[-2:] == ["db | creating", 'db | role "bar" exists']
    first, second = stderr.splitlines()
    assert first == "Error: db failed at action create (exit 3): exited with code 3"
    assert second.endswith('1 changed, 1 failed; "tinkwell release resume shop" goes on from db')


async def test_a_resumption_is_followed_as_well(site: Site) -> None:
    await site.fail((await apply(site.client)).id)
    async with site.tinkwell("resume", "shop") as process:
        id_ = await site.asked("Resume")
        await site.owner.begin(id_)
        await site.owner.keep(id_, "role")
        await site.owner.install(id_, "db")
        await site.owner.finish(id_)
        code, stdout, _ = await end(process)
    assert (code, stdout.splitlines()[-1].endswith(": 1 changed, 1 unchanged")) == (0, True)


async def test_a_removal_says_what_was_removed(site: Site) -> None:
    await site.owner.deploy(await apply(site.client))
    async with site.tinkwell("uninstall", "shop") as process:
        id_ = await site.asked("Uninstall")
        await site.owner.begin(id_, REMOVAL)
        await site.owner.remove(id_, "db")
        await site.owner.report(id_, NodeReport(path="role", state=NodeState.LEFT, message="it is to be kept"))
        await site.owner.finish(id_)
        code, stdout, _ = await end(process)
    assert code == 0
    assert "LEFT        role  it is to be kept" in stdout
    assert stdout.splitlines()[-1].endswith(": 1 removed, 1 left in place")


async def test_a_rollback_goes_to_the_revision_that_is_named(site: Site) -> None:
    await site.owner.deploy(await apply(site.client))
    async with site.tinkwell("rollback", "shop", "1", "--detach") as process:
        code, stdout, _ = await end(process)
    (request,) = site.server.requests("Rollback")
    assert (code, stdout.strip(), request.revision) == (0, request.operation_id, 1)


async def test_what_was_atomic_is_followed_until_it_is_made_up_for(site: Site) -> None:
    async with site.apply("--atomic") as process:
        id_ = await site.asked()
        await site.fail(id_)
        second = follow_up_id(id_)
        await site.owner.begin(second, Plan((PlanNode(path="role", task=NodeTask.REMOVE),)))
        await site.owner.remove(second, "role")
        await site.owner.finish(second)
        code, stdout, stderr = await end(process)
    assert code == 1
    assert f"uninstall  {second}" in stdout
    first, ended, made_up = stderr.splitlines()
    assert first == "Error: db failed at action create (exit 3): exited with code 3"
    assert ended.startswith("Error: shop FAILED in ")
    assert ended.endswith(": 1 changed, 1 failed")
    assert made_up.startswith("Error: returned to the former state: shop UNINSTALLED in ")


async def test_both_failures_are_told_where_it_could_not_be_made_up_for(site: Site) -> None:
    async with site.apply("--atomic") as process:
        id_ = await site.asked()
        await site.fail(id_)
        second = follow_up_id(id_)
        await site.owner.begin(second, Plan((PlanNode(path="role", task=NodeTask.REMOVE),)))
        left = NodeReport(path="role", state=NodeState.FAILED, message="it is in use")
        await site.owner.report(second, NodeReport(path="role", state=NodeState.REMOVING), left)
        await site.owner.finish(second, State.FAILED, path="role")
        code, _, stderr = await end(process)
    assert code == 1
    assert [text.partition(" in ")[0] for text in stderr.splitlines()] == [
        "Error: db failed at action create (exit 3): exited with code 3",
        "Error: shop FAILED",
        "Error: role: it is",
        "Error: shop FAILED",
    ]


async def test_a_failure_before_the_plan_has_changed_nothing(site: Site) -> None:
    async with site.apply() as process:
        id_ = await site.asked()
        await site.client.releases.acquire(id_, site.owner.token)
        await site.owner.finish(id_, State.FAILED)
        code, _, stderr = await end(process)
    assert code == 1
    assert stderr.startswith("Error: shop FAILED in ")
    assert stderr.endswith(", before anything was changed: exited with code 3\n")


async def test_another_format_leaves_standard_output_to_the_outcome(site: Site) -> None:
    async with site.apply("-o", "json") as process:
        id_ = await site.asked()
        await site.owner.begin(id_)
        for path in ("role", "db"):
            await site.owner.keep(id_, path)
        await site.owner.finish(id_)
        code, stdout, stderr = await end(process)
    found = json.loads(stdout)
    assert (found["operation"]["id"], found["operation"]["state"], len(found["nodes"])) == (id_, "SUCCEEDED", 2)
    assert code == 0
    assert "NODE       READY       db" in stderr


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_to_stop_following_does_not_stop_the_operation(site: Site, number: signal.Signals, expected: int) -> None:
    async with site.apply("-n", "prod") as process:
        id_ = await site.asked()
        await line(process)
        process.send_signal(number)
        code, _, stderr = await end(process)
    shows, ends = (f'"tinkwell release {verb} shop -n prod"' for verb in ("watch", "cancel"))
    assert (code, stderr) == (
        expected,
        f"Stopped following; the operation goes on: {shows} shows it, {ends} ends it.\n",
    )
    assert (await site.client.releases.operation(id_)).state is State.PENDING


async def test_that_nobody_reads_how_it_ends_is_no_success(site: Site) -> None:
    reading, writing = os.pipe()
    async with site.apply(stdout=writing) as process:
        os.close(writing)
        id_ = await site.asked()
        await asyncio.to_thread(os.read, reading, 1)
        os.close(reading)
        await site.owner.begin(id_)
        assert (await end(process))[0] == 1


async def test_a_watch_ends_when_its_reader_is_gone(site: Site) -> None:
    await apply(site.client)
    reading, writing = os.pipe()
    async with site.tinkwell("watch", "shop", stdout=writing) as process:
        os.close(writing)
        assert b"PENDING" in await asyncio.to_thread(os.read, reading, 100_000)
        os.close(reading)
        assert await end(process) == (0, "", "")


async def test_what_nobody_takes_gets_a_hint(site: Site) -> None:
    async with site.apply() as process:
        assert process.stderr is not None
        hint = (await process.stderr.readline()).decode()
        assert hint == (
            'No provisioner takes operations of default; start one with "tinkwell provisioner --releases default".\n'
        )
        await site.client.releases.cancel(await site.asked())
        assert (await end(process))[0] == 1


async def test_the_hint_names_the_engine_that_a_release_belongs_to(site: Site) -> None:
    first = await apply(site.client)
    await site.client.releases.acquire(first.id, site.owner.token)
    await site.owner.submit(first.id, has_plugs=True)
    for path in ("role", "db"):
        await site.owner.keep(first.id, path)
    await site.owner.finish(first.id)
    async with site.apply() as process:
        assert process.stderr is not None
        hint = (await process.stderr.readline()).decode()
        assert hint == "shop keeps files on the engine docker:1; it waits for a provisioner there.\n"


async def test_another_operation_is_waited_for_before_this_one_begins(site: Site) -> None:
    first = await apply(site.client)
    async with site.apply("--wait-lock", "60s") as process:
        assert process.stderr is not None
        waits = (await process.stderr.readline()).decode()
        assert waits == f"Waiting for the end of operation {first.id} of shop.\n"
        await site.owner.deploy(first)
        id_ = await site.asked(times=3)
        await site.owner.begin(id_)
        for path in ("role", "db"):
            await site.owner.keep(id_, path)
        await site.owner.finish(id_)
        code, stdout, _ = await end(process)
    assert (code, stdout.splitlines()[-1].endswith(": 2 unchanged")) == (0, True)


async def test_lines_go_on_after_the_server_was_away(site: Site) -> None:
    async with site.apply() as process:
        id_ = await site.asked()
        await line(process)
        await site.server.stop()
        assert process.stderr is not None
        assert b"The connection is lost" in await process.stderr.readline()
        await site.server.start()
        await site.owner.begin(id_)
        for path in ("role", "db"):
            await site.owner.keep(id_, path)
        await site.owner.finish(id_)
        code, stdout, stderr = await end(process)
    assert (code, stderr) == (0, "The connection is back.\n")
    assert "NODE       READY       db" in stdout


async def test_a_terminal_shows_a_tree_with_output_that_is_drawn_again_in_place(site: Site, terminal: Terminal) -> None:
    async with site.apply(stdout=terminal.descriptor) as process:
        id_ = await site.asked()
        await site.owner.begin(id_)
        await terminal.shows("waits for role (PENDING)")
        await site.owner.install(id_, "role")
        await terminal.shows("batch 2 of 2")
        await site.owner.fail(id_, "db", "creating", "\x1b[2Jrole [red]exists")
        await terminal.shows("creating")
        await site.owner.finish(id_, State.FAILED, path="db")
        code, _, stderr = await end(process)
    assert (code, stderr.count("Error: ")) == (1, 2)
    assert "\x1b[2J" not in terminal.text
    assert "\\x1b[2Jrole [red]exists" in terminal.text.rpartition("\x1b[1A")[2]
    assert terminal.text.rstrip().endswith("\x1b[?25h")


async def test_the_tree_shows_calls_of_which_no_event_tells(site: Site, terminal: Terminal) -> None:
    async with site.apply(stdout=terminal.descriptor) as process:
        id_ = await site.asked()
        await site.owner.begin(id_)
        asks = step("role", 1, StepKind.STATE, State.RUNNING)
        await site.owner.report(id_, NodeReport(path="role", state=NodeState.INSTALLING), asks)
        await terminal.shows("state")
        process.send_signal(signal.SIGINT)
        assert (await end(process))[0] == 130


async def test_a_tree_goes_on_without_the_output_that_the_server_refuses(site: Site, terminal: Terminal) -> None:
    site.server.fail_next(core_errors.LimitReached("200 others are reading"), method="WatchLogs")
    async with site.apply(stdout=terminal.descriptor) as process:
        id_ = await site.asked()
        await terminal.shows("The output cannot be shown: 200 others are reading")
        await site.owner.begin(id_)
        for path in ("role", "db"):
            await site.owner.keep(id_, path)
        await site.owner.finish(id_)
        assert (await end(process))[0] == 0
    assert "shop DEPLOYED as revision 1" in terminal.text
