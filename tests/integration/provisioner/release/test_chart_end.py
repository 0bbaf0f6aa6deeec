"""Operations of charts that are ended before their time, in each phase: by who cancels them, and by their deadlines."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support import server as servers
from support.chart_stage import chart, packed, thing
from support.release_kill.deed import Deed, Moment
from support.release_stage import SECONDS, Stage
from support.server import Server
from support.waiting import eventually
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeKind, NodeState, ReleaseState, StepKind

LEASE_SECONDS = 5
ALL = ("shop", "shop.one", "shop.one.deep", "shop.one.deep:slow", "shop.one:after", "shop.two", "shop.two:late")
BEGUN = {"shop", "shop.one", "shop.one.deep", "shop.one.deep:slow"}


@pytest.fixture
async def server(database_url: str) -> AsyncIterator[Server]:
    """A server that soon gives up who does not come back."""
    async with servers.running(database_url, lease_seconds=LEASE_SECONDS) as running:
        yield running


async def install(stage: Stage, *, slow: dict[str, Any] | None = None, **options: Any) -> str:
    """Install a chart of which `slow` waits for a word, in a chart within one that another one waits for."""
    deep = chart("deep", {"slow": thing("slow", **(slow or {"waits": ["write-1"]}))})
    one = chart("one", {"after": thing("after")}, subcharts={"deep": deep}, waits_for=("deep",))
    two = chart("two", {"late": thing("late")})
    files = chart("shop", {}, subcharts={"one": one, "two": two}, dependencies={"two": {"depends-on": ["one"]}})
    values = {"global": {"folder": str(stage.folder)}}
    return (await stage.client.releases.install("shop", packed(files), values=values, **options)).id


async def nodes(stage: Stage, operation_id: str) -> dict[str, NodeState]:
    found = [node async for node in stage.client.releases.nodes(operation_id)]
    return {node.path: node.state for node in found if node.kind is not NodeKind.EVENT}


async def is_ended(stage: Stage, operation_id: str) -> None:
    """Make sure that what was begun has FAILED, the rest never begins, and the one that ran ended in no good way."""
    expected = {path: NodeState.FAILED if path in BEGUN else NodeState.SKIPPED for path in ALL}
    assert await nodes(stage, operation_id) == expected
    (slow,) = [node async for node in stage.client.releases.nodes(operation_id) if node.path.endswith(":slow")]
    actions = [step.state for step in slow.steps if step.kind is StepKind.ACTION]
    assert actions
    assert State.SUCCEEDED not in actions
    assert all(step.state.is_final for step in slow.steps)
    assert (await stage.client.releases.get("shop")).state is ReleaseState.FAILED
    assert [each async for each in stage.client.releases.unfinished()] == []
    assert "write-1 ends" not in stage.journal("slow")
    assert stage.journal("after") == stage.journal("late") == []


async def test_what_nobody_has_taken_is_cancelled_at_once(stage: Stage) -> None:
    operation_id = await install(stage)
    cancelled = await stage.client.releases.cancel(operation_id, reason="a mistake")
    assert cancelled.state is State.CANCELLED
    assert await nodes(stage, operation_id) == {}
    assert (await stage.client.releases.get("shop")).state is ReleaseState.FAILED
    assert [each async for each in stage.client.releases.unfinished()] == []


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.AFTER])
async def test_what_is_cancelled_while_its_plan_is_submitted_begins_no_action(stage: Stage, moment: Moment) -> None:
    folder = stage.path / "victim"
    folder.mkdir()
    (folder / "armed").touch()
    module = ("support.release_kill.victim", Deed.PLAN.value, moment.value, "1", str(folder))
    async with stage.provisioner(module=module) as provisioner:
        operation_id = await install(stage)
        await eventually((folder / "reached").exists, deadline_seconds=SECONDS)
        await stage.client.releases.cancel(operation_id, now=True)
        (folder / "go").touch()
        await eventually(lambda: is_continued(provisioner.pid), deadline_seconds=SECONDS)
        await stage.ends(operation_id, State.CANCELLED)
        assert stage.runs() == []
    assert set((await nodes(stage, operation_id)).values()) <= {NodeState.SKIPPED, NodeState.FAILED}
    assert "write-1 begins" not in stage.journal("slow")


def is_continued(pid: int) -> bool:
    """Let a process go on that stops itself, and say whether it does: it may stop after it was told to."""
    os.kill(pid, signal.SIGCONT)
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T"


async def test_what_is_cancelled_in_an_action_ends_the_charts_around_it_and_begins_no_other(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await install(stage)
        await stage.has_begun("slow", "write-1")
        await stage.client.releases.cancel(operation_id, now=True)
        await stage.ends(operation_id, State.CANCELLED)
        assert stage.runs() == []
        await is_ended(stage, operation_id)
        assert processes(stage) == []


async def test_an_action_may_end_within_the_time_that_is_left_to_it_and_nothing_begins_after_it(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await install(stage)
        await stage.has_begun("slow", "write-1")
        await stage.client.releases.cancel(operation_id)
        stage.go("slow")
        await stage.ends(operation_id, State.CANCELLED)
        assert stage.runs() == []
    found = await nodes(stage, operation_id)
    assert {path for path, state in found.items() if state is NodeState.SKIPPED} == {*ALL} - BEGUN
    assert stage.journal("after") == stage.journal("late") == []


@pytest.mark.slow
async def test_what_is_cancelled_while_no_provisioner_is_there_ends_and_the_next_one_clears_up(stage: Stage) -> None:
    async with stage.provisioner() as first:
        operation_id = await install(stage)
        await stage.has_begun("slow", "write-1")
        first.kill()
        await first.wait()
    await stage.client.releases.cancel(operation_id)
    await ends_for_who_asks(stage, operation_id, State.CANCELLED)
    await is_ended(stage, operation_id)
    async with stage.provisioner():
        await eventually(lambda: stage.runs() == [] and processes(stage) == [], deadline_seconds=SECONDS)


@pytest.mark.slow
async def test_a_deadline_ends_an_operation_in_the_action_of_a_subchart(stage: Stage) -> None:
    async with stage.provisioner(module=("support.hasty_provisioner",)):
        operation_id = await install(stage, timeout_seconds=8)
        await stage.has_begun("slow", "write-1")
        ended = await stage.ends(operation_id, State.TIMEOUT)
        await eventually(lambda: stage.runs() == [] and processes(stage) == [], deadline_seconds=SECONDS)
    assert ended.cause is not None
    assert ended.cause["reason"] == "TIMEOUT"
    await is_ended(stage, operation_id)


async def test_a_deadline_ends_what_nobody_takes(stage: Stage) -> None:
    operation_id = await install(stage, timeout_seconds=1)
    await ends_for_who_asks(stage, operation_id, State.TIMEOUT)
    assert await nodes(stage, operation_id) == {}
    assert (await stage.client.releases.get("shop")).state is ReleaseState.FAILED


async def test_a_resource_of_a_subchart_that_is_not_ready_in_time_fails_by_its_path(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await install(stage, slow={"stays": True}, readiness_timeout_seconds=1)
        ended = await stage.ends(operation_id, State.FAILED)
        assert stage.runs() == []
    assert ended.cause is not None
    assert ended.cause["path"] == "shop.one.deep:slow"
    found = await nodes(stage, operation_id)
    assert {path for path, state in found.items() if state is NodeState.FAILED} == BEGUN
    assert {path for path, state in found.items() if state is NodeState.SKIPPED} == {*ALL} - BEGUN


async def ends_for_who_asks(stage: Stage, operation_id: str, state: State) -> None:
    """Wait for the end of an operation that nobody alive holds: it ends when somebody asks for it."""
    found = State.PENDING

    async def is_final() -> bool:
        nonlocal found
        found = (await stage.client.releases.operation(operation_id)).state
        return found.is_final

    await eventually(is_final, deadline_seconds=SECONDS, interval_seconds=0.2)
    assert found is state


def processes(stage: Stage) -> list[str]:
    """The processes of calls that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"{stage.state_dir}/runs/".encode() in path.read_bytes():
                found.append(path.parent.name)
    return found
