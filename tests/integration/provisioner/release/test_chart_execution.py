"""How charts are carried out from end to end: what a failure leaves undone, and each revision's own order."""

import pytest

from support.chart_stage import thing
from support.chart_story import archive_file, install, order, three, tinkwell, told, upgrade
from support.release_stage import Stage
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, NodeTask, ReleaseState, ResourceStatus, Wait

ABC = ["shop.a:a", "shop.b:b", "shop:own"]


async def test_a_failure_in_the_second_batch_is_told_with_its_place_and_the_third_never_begins(stage: Stage) -> None:
    broken = {"bad": thing("bad", fails=["write-1"]), "slow": thing("slow", waits=["write-1"])}
    file = archive_file(stage, three(b=broken))
    values = ("--set", f"global.folder={stage.folder}")
    async with stage.provisioner():
        code, _ = await tinkwell(stage, "release", "install", "shop", file, *values, "--detach")
        assert code == 0
        await stage.has_begun("slow", "write-1")
        await stage.has_failed("bad", "write-1")
        # What was begun goes on to its own end.
        stage.go("slow")
        release = await stage.client.releases.get("shop")
        await stage.ends(release.operation_id, State.FAILED)
        code, text = await tinkwell(stage, "release", "status", "shop")
        states = {path: state for path, state, _ in await told(stage, release.operation_id)}
    assert stage.journal("own") == []
    assert states == {
        **dict.fromkeys(("shop.a", "shop.a:a", "shop.b:b", "shop.b:slow"), NodeState.READY),
        **dict.fromkeys(("shop", "shop.b", "shop.b:bad"), NodeState.FAILED),
        "shop:own": NodeState.SKIPPED,
    }
    told_of = {words[1]: words for words in (line.split() for line in text.splitlines()) if len(words) > 3}
    assert (told_of["shop.b"][0], told_of["shop.b"][3]) == ("2", "FAILED")
    assert "CAUSE shop.b:bad failed at action write-1 (exit 7)" in " ".join(text.split())
    assert "not started" in " ".join(told_of["shop:own"])


async def test_a_failure_of_what_is_the_charts_own_fails_the_installation(stage: Stage) -> None:
    async with stage.provisioner():
        handle = await install(stage, three(own={"bad": thing("bad", fails=["state"])}))
        operation = await stage.ends(handle.id, State.FAILED)
        release = await stage.client.releases.get("shop")
    assert operation.cause is not None
    assert operation.cause["path"] == "shop:bad"
    assert (release.state, release.revision) == (ReleaseState.FAILED, 0)
    assert [stage.content(name) for name in ("a", "b")] == ["one", "one"]


async def test_what_is_cancelled_in_a_batch_begins_none_after_it(stage: Stage) -> None:
    async with stage.provisioner():
        handle = await install(stage, three(a={"slow": thing("slow", waits=["write-1"])}))
        await stage.has_begun("slow", "write-1")
        await stage.client.releases.cancel(handle.id)
        stage.go("slow")
        await stage.ends(handle.id, State.CANCELLED)
        states = {path: state for path, state, _ in await told(stage, handle.id)}
        assert (await stage.client.releases.get("shop")).state is ReleaseState.FAILED
    assert (stage.journal("b"), stage.journal("own")) == ([], [])
    assert {states[path] for path in ("shop.b", "shop.b:b", "shop:own")} == {NodeState.SKIPPED}


async def test_what_is_cancelled_before_anybody_takes_it_changes_nothing(stage: Stage) -> None:
    handle = await install(stage, three())
    await stage.client.releases.cancel(handle.id)
    await stage.ends(handle.id, State.CANCELLED)
    release = await stage.client.releases.get("shop")
    assert (release.state, release.revision, release.latest_revision) == (ReleaseState.FAILED, 0, 0)
    assert list(stage.folder.iterdir()) == []


async def check_is_in_order(stage: Stage, operation_id: str) -> None:
    """Check that each batch began after the former was ready."""
    events = [(path, state) for path, state, _ in await told(stage, operation_id)]
    for before, after in (("shop.a:a", "shop.b:b"), ("shop.b:b", "shop:own")):
        assert events.index((before, NodeState.READY)) < events.index((after, NodeState.INSTALLING))


async def check_waits_for_nothing(stage: Stage, operation_id: str) -> None:
    """Check that the others are ready while `a` still waits, and let it go."""
    await stage.has_begun("a", "write-1", times=1 + stage.journal("a").count("write-1 ends"))
    await stage.holds(b="two", own="two")
    assert stage.content("a") != "two"
    stage.go("a")
    await stage.ends(operation_id)
    (stage.folder / "a.go").unlink()


@pytest.mark.timeout(300)
async def test_each_revision_keeps_its_own_way_to_wait(stage: Stage) -> None:
    releases = stage.client.releases
    added = {"queue": thing("queue"), "worker": thing("worker", dependencies={"queue": "queue"})}
    unordered = three("two", a={"a": thing("a", "two", waits=["write-1"])}, b=added)
    async with stage.provisioner():
        await stage.ends((first := await install(stage, three())).id)
        second = await upgrade(stage, unordered, wait=Wait.NONE)
        await check_waits_for_nothing(stage, second.id)

        # What only the second has goes after all that the first has is there again, in reverse.
        third = await releases.rollback("shop", 1)
        await stage.ends(third.id)
        fourth = await releases.rollback("shop", 2)
        await check_waits_for_nothing(stage, fourth.id)
        fifth = await upgrade(stage, three("five"))
        await stage.ends(fifth.id)

        for ordered in (first, third, fifth):
            await check_is_in_order(stage, ordered.id)
        for dropping in (third, fifth):
            tasks = [task for _, _, task in await told(stage, dropping.id)]
            assert tasks == sorted(tasks, key=[NodeTask.INSTALL, NodeTask.REMOVE].index)
            assert await order(stage, dropping.id, NodeTask.REMOVE) == ["shop.b:worker", "shop.b:queue"]
        waits = {}
        async for operation in releases.operations("shop"):
            assert operation.options is not None
            waits[operation.id] = operation.options.wait
    assert [waits[operation.id] for operation in (first, second, fifth)] == [Wait.ORDERED, Wait.NONE, Wait.ORDERED]


async def test_what_is_kept_in_the_middle_holds_nothing_up(stage: Stage) -> None:
    kept = three(b={"b": thing("b") | {"keep": True}})
    async with stage.provisioner():
        await stage.ends((await install(stage, kept)).id)
        removal = await stage.client.releases.uninstall("shop")
        await stage.ends(removal.id)
        events = [(path, state) for path, state, _ in await told(stage, removal.id) if ":" in path]
    ends = [(path, state) for path, state in events if state.is_final]
    assert sorted(ends) == [
        ("shop.a:a", NodeState.REMOVED),
        ("shop.b:b", NodeState.LEFT),
        ("shop:own", NodeState.REMOVED),
    ]
    assert events.index(("shop:own", NodeState.REMOVED)) < events.index(("shop.a:a", NodeState.REMOVING))
    assert [stage.content(name) for name in ("a", "b", "own")] == [None, "content", None]


async def test_a_removal_that_fails_lets_nothing_before_it_go(stage: Stage) -> None:
    stays = three(b={"b": thing("b", fails=["destroy"])})
    async with stage.provisioner():
        await stage.ends((await install(stage, stays)).id)
        removal = await stage.client.releases.uninstall("shop")
        operation = await stage.ends(removal.id, State.FAILED)
        statuses = {each.path: each.status async for each in stage.client.releases.resources("shop")}
        assert (await stage.client.releases.get("shop")).state is ReleaseState.FAILED
    assert operation.cause is not None
    assert operation.cause["path"] == "shop.b:b"
    assert "destroy" in operation.cause["message"]
    assert statuses["shop.a:a"] is ResourceStatus.VALID
    assert [stage.content(name) for name in ("a", "b", "own")] == ["one", "content", None]
    assert "destroy begins" not in stage.journal("a")


async def test_a_removal_that_takes_too_long_in_the_first_batch_fails_and_no_other_begins(stage: Stage) -> None:
    slow = three(own={"own": thing("own", waits=["destroy"]) | {"timeouts": {"destroy": 1}}})
    async with stage.provisioner():
        await stage.ends((await install(stage, slow)).id)
        removal = await stage.client.releases.uninstall("shop")
        operation = await stage.ends(removal.id, State.FAILED)
        begun = await order(stage, removal.id, NodeTask.REMOVE)
        assert stage.runs() == []
    assert operation.cause is not None
    assert operation.cause["path"] == "shop:own"
    assert "TIMEOUT" in operation.cause["message"]
    assert begun == ["shop:own"]
    assert [stage.content(name) for name in ("a", "b", "own")] == ["one", "one", "content"]


@pytest.mark.slow
async def test_a_deadline_that_passes_in_a_batch_is_told_and_the_next_does_not_begin(stage: Stage) -> None:
    async with stage.provisioner():
        handle = await install(stage, three(a={"a": thing("a", waits=["write-1"])}), timeout_seconds=15)
        await stage.has_begun("a", "write-1")
        await stage.is_late(handle.id)
        stage.go("a")
        operation = await stage.ends(handle.id, State.TIMEOUT)
        states = {path: state for path, state, _ in await told(stage, handle.id)}
    assert operation.cause is not None
    assert operation.cause["message"].startswith("the operation's deadline passed")
    assert {states[path] for path in ("shop.b", "shop.b:b", "shop:own")} == {NodeState.SKIPPED}
    assert (stage.content("b"), stage.content("own")) == (None, None)
