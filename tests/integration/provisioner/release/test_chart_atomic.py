"""Atomic changes of charts from end to end: what a failure in the last of three batches has changed is made up for."""

import asyncio
from typing import Any

import pytest

from support.chart_stage import chart, thing
from support.chart_story import archive_file, install, order, three, tinkwell, upgrade
from support.release_stage import SECONDS, Stage
from tinkwell import client as client_library
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeTask, OperationKind, ReleaseState, ResourceStatus, RevisionState

BAD: dict[str, Any] = {"bad": thing("bad", fails=["write-1"], dependencies={"first": "own"})}
# It is there before it is installed, so that it is written only when it is rolled back to.
UNWRITABLE: dict[str, Any] = {"a": thing("a", "one", fails=["write-1"])}


async def fails(handle: client_library.OperationHandle) -> client_library.ReleaseFailed:
    """Wait until an operation has failed, and the one that makes up for it has ended."""
    async with asyncio.timeout(2 * SECONDS):
        with pytest.raises(client_library.ReleaseFailed) as caught:
            await handle.result()
    return caught.value


async def release(stage: Stage) -> tuple[ReleaseState, int, dict[int, RevisionState]]:
    """Return the state of the release, what is deployed of it, and the states of all its revisions."""
    found = await stage.client.releases.get("shop")
    revisions = {each.revision: each.state async for each in stage.client.releases.history("shop")}
    return found.state, found.revision, revisions


async def test_what_a_failed_installation_has_made_is_removed_in_reverse(stage: Stage) -> None:
    async with stage.provisioner():
        failed = await fails(await install(stage, three(own=BAD), atomic=True))
        assert "shop:bad failed at action write-1 (exit 7)" in str(failed)
        assert failed.follow_up is not None
        assert (failed.follow_up.kind, failed.follow_up.state) == (OperationKind.UNINSTALL, State.SUCCEEDED)
        removed = await order(stage, failed.follow_up.id, NodeTask.REMOVE)
        assert stage.runs() == []
    assert removed == ["shop:bad", "shop:own", "shop.b:b", "shop.a:a"]
    assert [stage.content(name) for name in ("a", "b", "own", "bad")] == [None] * 4
    assert [found async for found in stage.client.releases.list()] == []


async def test_what_was_there_before_a_failed_installation_stays(stage: Stage) -> None:
    (stage.folder / "b").write_text("one")
    async with stage.provisioner():
        failed = await fails(await install(stage, three(own=BAD), atomic=True))
        assert failed.follow_up is not None
        assert failed.follow_up.state is State.SUCCEEDED
    assert [stage.content(name) for name in ("a", "b", "own", "bad")] == [None, "one", None, None]


async def test_after_a_failed_upgrade_the_former_state_is_valid_again(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends((await install(stage, three())).id)
        failed = await fails(await upgrade(stage, three("two", b={"new": thing("new")}, own=BAD), atomic=True))
        assert failed.node is not None
        assert failed.node.path == "shop:bad"
        assert failed.follow_up is not None
        assert (failed.follow_up.kind, failed.follow_up.state) == (OperationKind.ROLLBACK, State.SUCCEEDED)
        back = await order(stage, failed.follow_up.id)
        removed = await order(stage, failed.follow_up.id, NodeTask.REMOVE)
        statuses = {each.path: each.status async for each in stage.client.releases.resources("shop")}
    assert back == ["shop.a:a", "shop.b:b", "shop:own"]
    assert removed == ["shop:bad", "shop.b:new"]
    assert [stage.content(name) for name in ("a", "b", "own", "new", "bad")] == ["one", "one", "one", None, None]
    assert statuses == dict.fromkeys(("shop.a:a", "shop.b:b", "shop:own"), ResourceStatus.VALID)
    states = {1: RevisionState.DEPLOYED, 2: RevisionState.FAILED}
    assert await release(stage) == (ReleaseState.DEPLOYED, 1, states)


async def test_of_a_rollback_that_fails_too_both_errors_are_told(stage: Stage) -> None:
    (stage.folder / "a").write_text("one")
    async with stage.provisioner():
        await stage.ends((await install(stage, three(a=UNWRITABLE))).id)
        broken = archive_file(stage, three("two", own=BAD))
        code, told = await tinkwell(stage, "release", "upgrade", "shop", broken, "--atomic")
        operations = [each async for each in stage.client.releases.operations("shop")]
    assert code == 1
    first, second = told.index("shop:bad failed at action write-1 (exit 7)"), told.index("shop.a:a failed at action")
    assert first < second
    assert {each.kind: each.state for each in operations} == {
        OperationKind.INSTALL: State.SUCCEEDED,
        OperationKind.UPGRADE: State.FAILED,
        OperationKind.ROLLBACK: State.FAILED,
    }
    # What is deployed is still the first, and what there is of it is left as it failed.
    states = {1: RevisionState.DEPLOYED, 2: RevisionState.FAILED}
    assert await release(stage) == (ReleaseState.FAILED, 1, states)
    assert [stage.content(name) for name in ("a", "b", "own")] == ["two", "two", "two"]


@pytest.mark.slow
async def test_what_makes_up_for_an_operation_past_its_deadline_has_its_own_time(stage: Stage) -> None:
    slow = {"slow": thing("slow", waits=["write-1"], dependencies={"first": "own"})}
    async with stage.provisioner():
        await stage.ends((await install(stage, chart("shop", {"own": thing("own", "one")}))).id)
        second = chart("shop", {"own": thing("own", "two"), **slow})
        handle = await upgrade(stage, second, atomic=True, timeout_seconds=15)
        await stage.has_begun("slow", "write-1")
        await stage.is_late(handle.id)
        # Its action has time to end of its own; nothing else begins.
        stage.go("slow")
        failed = await fails(handle)
    assert failed.operation.state is State.TIMEOUT
    assert failed.follow_up is not None
    assert (failed.follow_up.kind, failed.follow_up.state) == (OperationKind.ROLLBACK, State.SUCCEEDED)
    assert (stage.content("own"), stage.content("slow")) == ("one", None)
    assert (await release(stage))[:2] == (ReleaseState.DEPLOYED, 1)


async def test_what_a_cancelled_upgrade_has_changed_is_made_up_for(stage: Stage) -> None:
    slow = {"slow": thing("slow", waits=["write-1"])}
    async with stage.provisioner():
        await stage.ends((await install(stage, three())).id)
        handle = await upgrade(stage, three("two", b=slow), atomic=True)
        await stage.has_begun("slow", "write-1")
        await stage.client.releases.cancel(handle.id, now=True, reason="it is late")
        failed = await fails(handle)
        assert stage.runs() == []
    assert failed.operation.state is State.CANCELLED
    assert failed.follow_up is not None
    assert failed.follow_up.state is State.SUCCEEDED
    assert [stage.content(name) for name in ("a", "b", "own", "slow")] == ["one", "one", "one", None]
    assert (await release(stage))[:2] == (ReleaseState.DEPLOYED, 1)
