"""Several provisioners of one server: on one engine, which is the stage's, and elsewhere."""

import asyncio
import contextlib
from collections import Counter
from typing import Any

import pytest
from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld
from unit.provisioner.stage import Stage, action, key_of

from support.waiting import eventually
from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.workflow import admission

RUNNING, SUCCEEDED, FAILED, CANCELLED = State.RUNNING, State.SUCCEEDED, State.FAILED, State.CANCELLED
SHORT_SECONDS = 0.3


@pytest.fixture(autouse=True)
def short_leases(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let owners be heard of often. Their leases end when a test says so, or by their own clocks."""
    stage.server.leases.seconds = SHORT_SECONDS
    monkeypatch.setattr(admission, "RELEASE_SECONDS", 0.02)


class Elsewhere:
    """Another engine, with runs of its own."""

    def __init__(self) -> None:
        self.world = FakeWorld()
        self.options: dict[str, Any] = {"slot": 1, "engine": "elsewhere", "runtime": FakeRuntime(self.world)}


async def test_each_action_runs_once_and_all_do_their_share(stage: Stage) -> None:
    performed: Counter[int] = Counter()

    def runtime(slot: int) -> FakeRuntime:
        def perform(run: FakeRun) -> None:
            performed[slot] += 1
            asyncio.get_running_loop().call_later(0.01, lambda: endings.append(asyncio.ensure_future(run.exit(0))))

        return FakeRuntime(stage.world, perform)

    endings: list[asyncio.Future[None]] = []
    names = [f"w{number}" for number in range(30)]
    for name in names:
        stage.server.add_workflow(name, *[action(f"machine of {name}")] * 3)
    async with (
        stage.provisioner(slot=0, runtime=runtime(0), concurrency=2),
        stage.provisioner(slot=1, runtime=runtime(1), concurrency=2),
    ):
        for name in names:
            await stage.reaches(name, SUCCEEDED)
        await stage.is_clear()
    await asyncio.gather(*endings)
    assert set(stage.world.starts.values()) == {1}
    assert len(stage.world.starts) == 3 * len(names)
    assert set(performed) == {0, 1}


async def test_a_workflow_stays_with_the_one_that_has_its_files(stage: Stage) -> None:
    elsewhere = Elsewhere()
    async with stage.provisioner(), stage.provisioner(**elsewhere.options):
        stage.server.add_workflow("w", action(), action())
        await eventually(lambda: bool(stage.world.runs or elsewhere.world.runs))
        world = stage.world if stage.world.runs else elsewhere.world
        await world.runs[key_of("w-0")].exit(0)
        await eventually(lambda: key_of("w-1") in world.runs)
        await world.runs[key_of("w-1")].exit(0)
        await stage.reaches("w", SUCCEEDED)


async def test_what_a_dead_one_ran_is_adopted_by_its_sibling_once_its_lease_is_over(stage: Stage) -> None:
    async with contextlib.AsyncExitStack() as sibling:
        async with stage.provisioner(slot=0):
            stage.server.add_workflow("w", action(), action())
            run = await stage.run_of("w-0")
            await sibling.enter_async_context(stage.provisioner(slot=1))
        before = stage.server.leases.renewals
        await eventually(lambda: stage.server.leases.renewals > before + 2)
        assert stage.claims.slots[run.key] == 0
        stage.server.leases.expire("owner/0")
        await eventually(lambda: stage.claims.slots[run.key] == 1)
        await run.exit(0)
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    assert set(stage.world.starts.values()) == {1}
    assert stage.server.reports == [(f"w-{i}", state) for i in range(2) for state in (RUNNING, SUCCEEDED)]


async def test_what_a_dead_one_ran_elsewhere_is_lost_and_its_machine_free(stage: Stage) -> None:
    elsewhere = Elsewhere()
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
    stage.server.add_workflow("next", action())
    async with stage.provisioner(**elsewhere.options):
        before = stage.server.leases.renewals
        await eventually(lambda: stage.server.leases.renewals > before + 2)
        assert stage.server.states("w") == [RUNNING]
        stage.server.leases.expire("owner/0")
        await stage.reaches("w", FAILED)
        assert stage.server.rows["w"][0].message.startswith("lost: ")
        await eventually(lambda: key_of("next-0") in elsewhere.world.runs)
    assert run.ending is None
    # Whoever comes back to where it runs clears up.
    async with stage.provisioner():
        await eventually(lambda: run.ending is not None)
        await stage.is_clear()


async def test_one_that_was_taken_for_dead_leaves_the_run_to_who_adopted_it(stage: Stage) -> None:
    async with stage.provisioner(slot=0):
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        stage.server.cut.add(0)
        stage.server.leases.expire("owner/0")
        async with stage.provisioner(slot=1):
            await eventually(lambda: stage.claims.slots[run.key] == 1)
            stage.server.cut.clear()
            await run.exit(0)
            await stage.reaches("w", SUCCEEDED)
            await stage.is_clear()
    assert stage.server.reports == [("w-0", RUNNING), ("w-0", SUCCEEDED)]
    assert stage.world.starts == {run.key: 1}


async def test_one_whose_work_was_given_to_another_discards_its_run_and_says_no_more(stage: Stage) -> None:
    elsewhere = Elsewhere()
    async with stage.provisioner():
        stage.server.add_workflow("w", action(retries=1))
        run = await stage.run_of("w-0")
        stage.server.cut.add(0)
        # By its own clock its lease is over, and another attempt may begin: what it runs must end.
        await eventually(lambda: run.ending is not None)
        stage.server.leases.expire("owner/0")
        async with stage.provisioner(**elsewhere.options):
            await eventually(lambda: key_of("w-0", 2) in elsewhere.world.runs)
            stage.server.cut.clear()
            await stage.is_clear()
            await elsewhere.world.runs[key_of("w-0", 2)].exit(0)
            await stage.reaches("w", SUCCEEDED)
    assert stage.server.reports == [("w-0", RUNNING), ("w-0", RUNNING), ("w-0", SUCCEEDED)]


async def test_what_cannot_be_repeated_goes_on_without_the_server_and_is_reported_later(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        stage.server.add_workflow("may be repeated", action("m-2", retries=1))
        run, other = await stage.run_of("w-0"), await stage.run_of("may be repeated-0")
        stage.server.is_away = True
        await eventually(lambda: other.ending is not None)
        assert run.ending is None
        await run.exit(0)
        stage.server.is_away = False
        await stage.reaches("w", SUCCEEDED)
        await stage.finish("may be repeated-0", attempt=2)
        await stage.reaches("may be repeated", SUCCEEDED)


async def test_runs_of_former_attempts_are_gone_before_the_next_one_starts(stage: Stage) -> None:
    stage.server.add_workflow("w", action(retries=1))
    async with stage.provisioner(slot=0):
        former = await stage.run_of("w-0")
    stage.claims.living.add(0)  # as if it were stopped, with its run going on
    starts: list[bool] = []
    stage.runtime.perform = lambda _: starts.append(former.ending is not None)
    async with stage.provisioner(slot=1, engine="elsewhere"):
        stage.server.leases.expire("owner/0")
        # The run is at hand, so it would be adopted, but by the server's account it was elsewhere.
        await stage.finish("w-0", attempt=2)
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    assert starts == [True]


async def test_what_a_living_sibling_watches_is_neither_cleared_nor_are_its_files_forgotten(stage: Stage) -> None:
    stage.server.add_workflow("w", action())
    stage.files.kept = {"w", "gone"}
    async with stage.provisioner(slot=0):
        run = await stage.run_of("w-0")
    stage.claims.living.add(0)
    stage.server.delete("w")
    async with stage.provisioner(slot=1, resync_seconds=0.02):
        await eventually(lambda: stage.files.kept == {"w"})
        before = len(stage.server.calls)
        await eventually(lambda: len(stage.server.calls) > before + 10)
        assert run.ending is None
        assert stage.files.kept == {"w"}
        stage.claims.living.discard(0)
        await stage.is_clear()
        await eventually(lambda: not stage.files.kept)


async def test_a_cancelled_workflow_keeps_its_machine_until_its_run_is_dead(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_die = asyncio.Event()
    kill = FakeRun.kill

    async def kill_later(run: FakeRun) -> None:
        await may_die.wait()
        await kill(run)

    monkeypatch.setattr(FakeRun, "kill", kill_later)
    elsewhere = Elsewhere()
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        async with stage.provisioner(**elsewhere.options):
            stage.server.add_workflow("next", action())
            stage.server.cancel("w")
            before = len(stage.server.calls)
            await eventually(lambda: len(stage.server.calls) > before + 20)
            assert stage.server.states("next") == [State.PENDING]
            assert run.ending is None
            may_die.set()
            await eventually(lambda: stage.server.states("next") == [RUNNING])
    assert set(stage.server.leases.released) == {"w"}
    assert run.key not in stage.world.runs


@pytest.mark.parametrize("is_deleted", [False, True], ids=["cancelled", "deleted"])
async def test_a_release_that_was_lost_with_its_owner_is_made_up_for_by_its_successor(
    stage: Stage, *, is_deleted: bool
) -> None:
    leases = stage.server.leases
    leases.loses_releases = True
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.run_of("w-0")
        (stage.server.delete if is_deleted else stage.server.cancel)("w")
        await stage.is_clear()
    stage.server.add_workflow("next", action())
    leases.loses_releases = False
    async with stage.provisioner():
        await stage.run_of("next-0")
    assert set(leases.released) == {"w"}


async def test_nothing_is_released_before_it_is_known_what_is_here(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
    stage.server.cancel("w")
    knows = False
    held = stage.runtime.held

    async def answer(kind: RunKind) -> frozenset[RunKey]:
        if not knows:
            raise port.RunError(port.Reason.UNAVAILABLE, "the engine is away")
        return await held(kind)

    monkeypatch.setattr(stage.runtime, "held", answer)
    async with stage.provisioner(resync_seconds=0.02):
        before = len(stage.server.calls)
        await eventually(lambda: len(stage.server.calls) > before + 20)
        assert stage.server.leases.released == []
        knows = True
        await eventually(lambda: set(stage.server.leases.released) == {"w"})
        assert run.ending is not None
