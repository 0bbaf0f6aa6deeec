"""What lists lead to, so that they cost little where thousands of workflows run and none is forgotten."""

from collections import Counter

import pytest
from unit.provisioner.fake_runtime import FakeRuntime, FakeWorld
from unit.provisioner.stage import Stage, action

from support.waiting import eventually
from tinkwell.core.event.kinds import State
from tinkwell.provisioner.workflow import resync

RUNNING, SUCCEEDED = State.RUNNING, State.SUCCEEDED
OFTEN_SECONDS = 0.02


async def settle(stage: Stage, count: int) -> None:
    """Wait for so many lists."""
    before = stage.server.lists
    await eventually(lambda: stage.server.lists >= before + count)


async def looks_of_lists(stage: Stage, count: int) -> Counter[str]:
    """Return what was looked at during so many lists, of which nothing was heard; the first ones do not count."""
    await settle(stage, 3)
    before, lists = Counter(stage.server.looks), stage.server.lists
    await settle(stage, count)
    looks = Counter(stage.server.looks) - before
    # Each may still have been waiting for a look that earlier lists have led to: lists wait for no looks.
    assert looks.total() <= resync.MAX_SURE * (stage.server.lists - lists + 1) + len(looks)
    return looks


async def add_running(stage: Stage, count: int) -> list[str]:
    names = [f"w{number}" for number in range(count)]
    for name in names:
        stage.server.add_workflow(name, action(f"machine of {name}"), action(f"machine of {name}"))
        await stage.run_of(f"{name}-0")
    return names


def other() -> FakeRuntime:
    return FakeRuntime(FakeWorld())


async def test_of_what_runs_here_a_list_leads_to_a_few_looks_which_all_get_in_turn(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resync, "MAX_SURE", 2)
    async with stage.provisioner(resync_seconds=OFTEN_SECONDS, concurrency=100):
        names = await add_running(stage, 7)
        looks = await looks_of_lists(stage, 12)
    assert set(looks) == set(names)


async def test_of_what_runs_elsewhere_a_list_leads_to_a_few_looks_which_all_get_in_turn(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resync, "MAX_SURE", 2)
    async with stage.provisioner():
        names = await add_running(stage, 7)
        async with stage.provisioner(slot=1, engine="elsewhere", runtime=other(), resync_seconds=OFTEN_SECONDS):
            looks = await looks_of_lists(stage, 12)
    assert set(looks) == set(names)


async def test_what_ended_without_an_event_is_looked_at_however_much_runs(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resync, "MAX_SURE", 0)
    async with stage.provisioner(resync_seconds=OFTEN_SECONDS):
        await add_running(stage, 3)
        stage.server.log.pause()
        stage.server.cancel("w1")
        await eventually(lambda: len(stage.world.runs) == 2)


async def test_all_is_looked_at_when_events_may_have_been_missed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resync, "MAX_SURE", 0)
    async with stage.provisioner():
        names = await add_running(stage, 3)
        before = Counter(stage.server.looks)
        stage.server.lose_history()
        await eventually(lambda: set(stage.server.looks - before) == set(names))


async def test_what_a_running_workflow_has_left_here_is_seen_to_by_the_next_list(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resync, "MAX_SURE", 0)
    async with stage.provisioner(resync_seconds=OFTEN_SECONDS):
        stage.server.add_workflow("w", action(), action())
        run = await stage.run_of("w-0")
        stage.world.unremovable.add(run.key)
        await run.exit(0)
        await stage.run_of("w-1")
        await settle(stage, 3)
        assert run.key in stage.world.runs
        stage.world.unremovable.clear()
        await eventually(lambda: run.key not in stage.world.runs)
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)


@pytest.mark.parametrize("reboots", [False, True], ids=["between two actions", "in one that reboots its machine"])
async def test_what_its_owner_left_without_anybody_being_told_is_taken_up_by_the_next_list(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, reboots: bool
) -> None:
    monkeypatch.setattr(resync, "MAX_SURE", 0)
    stage.server.leases.seconds = 10_000.0  # nobody renews, and so hears of what is lost, in this time
    token = stage.server.leases.ledger.acquire("somebody", "engine").token
    stage.server.add_workflow("w", action(reboots=reboots), action())
    await stage.report("w-0", "m-1", RUNNING, lease_token=token)
    async with stage.provisioner(resync_seconds=OFTEN_SECONDS) as heir:
        if not reboots:
            await eventually(lambda: heir._survey.is_well("w"))
            await stage.report("w-0", "m-1", SUCCEEDED, lease_token=token)
        await settle(stage, 3)
        before = len(stage.server.reports)
        assert not heir._roster.has("w")
        stage.server.leases.ledger.expire(token)
        await eventually(lambda: len(stage.server.reports) > before)
