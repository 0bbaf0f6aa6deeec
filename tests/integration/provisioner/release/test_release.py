"""Releases from end to end: a real server, a provisioner as a process, and resources as processes."""

import asyncio
import signal

import pytest

from support.release_stage import SECONDS, Stage
from support.waiting import eventually
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, ReleaseState


async def test_a_manifest_is_applied_twice_changed_and_uninstalled(stage: Stage) -> None:
    releases = stage.client.releases
    second = stage.thing("b", "{{ a.state.text }} and more")
    second["dependencies"] = {"a": "first"}
    async with stage.provisioner():
        await stage.ends(await stage.apply(first=stage.thing("a", "one"), second=second))
        assert (stage.content("a"), stage.content("b")) == ("one", "one and more")
        done = ["state begins", "state ends", "write-1 begins", "write-1 ends", "state begins", "state ends"]
        assert (stage.journal("a"), stage.journal("b")) == (done, done)

        unchanged = await stage.ends(await stage.apply(first=stage.thing("a", "one"), second=second))
        assert (unchanged.revision, unchanged.changed_nodes) == (1, 0)
        assert stage.journal("a") == [*done, "state begins", "state ends"]

        changed = await stage.ends(await stage.apply(first=stage.thing("a", "two"), second=second))
        assert (changed.revision, stage.content("b")) == (2, "two and more")

        await stage.ends((await releases.uninstall("shop")).id)
        assert (stage.content("a"), stage.content("b")) == (None, None)
        assert stage.runs() == []
    assert [release async for release in releases.list()] == []


async def test_a_failure_is_told_with_the_node_the_code_and_the_output(stage: Stage) -> None:
    thing = stage.thing("a", actions=3, fails=["write-2"])
    async with stage.provisioner():
        operation_id = await stage.apply(first=thing, second=stage.thing("b") | {"dependencies": {"a": "first"}})
        operation = await stage.ends(operation_id, State.FAILED)
        assert operation.cause is not None
        assert (operation.cause["path"], operation.cause["reason"]) == ("first", "NODE_FAILED")
        assert "action write-2 FAILED (exit 7)" in operation.cause["message"]
        states = {node.path: node.state async for node in stage.client.releases.nodes(operation_id)}
        assert states == {"first": NodeState.FAILED, "second": NodeState.SKIPPED}
        lines = [line.text async for line in stage.client.releases.logs(operation_id)]
        assert lines == ["state of first", "write-1 of first", "write-2 of first"]
        release = await stage.client.releases.get("shop")
        assert (release.state, release.revision) == (ReleaseState.FAILED, 0)
        # It is put right, and gone on with.
        (stage.folder / "a").write_text("content")
        await stage.ends((await stage.client.releases.resume("shop")).id)
    assert "write-3 begins" not in stage.journal("a")
    assert stage.content("b") == "content"


async def test_a_cancellation_kills_what_runs(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(first=stage.thing("a", waits=["write-1"]))
        await stage.has_begun("a", "write-1")
        await stage.client.releases.cancel(operation_id, now=True)
        await stage.ends(operation_id, State.CANCELLED)
        assert stage.runs() == []
    assert "write-1 ends" not in stage.journal("a")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_an_action_outlives_its_provisioner_and_is_adopted(stage: Stage, end: signal.Signals) -> None:
    async with stage.provisioner() as first:
        operation_id = await stage.apply(first=stage.thing("a", waits=["write-1"]))
        await stage.has_begun("a", "write-1")
        first.send_signal(end)
        async with asyncio.timeout(SECONDS):
            await first.wait()
    async with stage.provisioner():
        stage.go("a")
        await stage.ends(operation_id)
        assert stage.runs() == []
    assert stage.journal("a").count("write-1 begins") == 1
    lines = [line.text async for line in stage.client.releases.logs(operation_id)]
    assert lines.count("write-1 of first") == 1


async def test_a_call_without_effects_is_made_anew_after_a_kill(stage: Stage) -> None:
    async with stage.provisioner() as first:
        operation_id = await stage.apply(first=stage.thing("a", waits=["state"]))
        await stage.has_begun("a", "state")
        first.kill()
        await first.wait()
    async with stage.provisioner():
        await eventually(lambda: stage.journal("a").count("state begins") == 2, deadline_seconds=SECONDS)
        stage.go("a")
        await stage.ends(operation_id)
        assert stage.runs() == []


async def test_a_resource_in_a_plug_is_a_file_of_the_release_s_own_folder(stage: Stage) -> None:
    filed = {"type": "filed", "config": {"name": "x", "text": "in a plug"}}
    async with stage.provisioner():
        await stage.ends(await stage.apply(plugs={"data": {"path": "files"}}, first=filed))
        (file,) = (stage.state_dir / "releases").glob("*/files/x")
        assert file.read_text() == "in a plug"
        await stage.ends((await stage.client.releases.uninstall("shop")).id)
    assert list((stage.state_dir / "releases").iterdir()) == []


async def test_a_granted_folder_is_written_and_one_that_is_not_granted_ends_the_operation_before(stage: Stage) -> None:
    filed = {"type": "filed", "config": {"name": "x", "text": "in a plug"}}
    granted = {"data": {"path": str(stage.folder)}}
    async with stage.provisioner("--plug", f"data={stage.folder}"):
        await stage.ends(await stage.apply(plugs=granted, first=filed))
        assert stage.content("x") == "in a plug"
        operation = await stage.ends(await stage.apply(plugs={"data": {"path": "/"}}, first=filed), State.FAILED)
    assert operation.cause is not None
    assert operation.cause["message"].startswith("VALIDATE: plugs.data")


async def test_what_is_readonly_and_stale_is_not_changed(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(first=stage.thing("a") | {"readonly": True}), State.FAILED)
    assert stage.journal("a") == ["state begins", "state ends"]


async def test_workflows_and_releases_go_on_beside_each_other_in_one_provisioner(stage: Stage) -> None:
    async with stage.provisioner("--agent-for", "all"):
        ids = [await stage.apply(f"shop-{number}", first=stage.thing(f"t{number}")) for number in range(5)]
        for operation_id in ids:
            await stage.ends(operation_id)
    assert [stage.content(f"t{number}") for number in range(5)] == ["content"] * 5


async def test_two_provisioners_share_the_work_and_no_action_runs_twice(stage: Stage) -> None:
    async with stage.provisioner(), stage.provisioner(state_dir=stage.path / "other"):
        ids = [await stage.apply(f"shop-{number}", first=stage.thing(f"t{number}")) for number in range(8)]
        for operation_id in ids:
            await stage.ends(operation_id)
    assert [stage.journal(f"t{number}").count("write-1 begins") for number in range(8)] == [1] * 8


async def test_an_ephemeral_provisioner_leaves_nothing_running(stage: Stage) -> None:
    async with stage.provisioner("--ephemeral") as process:
        await stage.apply(first=stage.thing("a", waits=["write-1"]))
        await stage.has_begun("a", "write-1")
        process.terminate()
        async with asyncio.timeout(SECONDS):
            await process.wait()
    assert stage.runs() == []
