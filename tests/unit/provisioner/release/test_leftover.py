"""What operations have left behind, where the runtime does not always answer."""

import asyncio

import pytest
from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld
from unit.provisioner.release.stage import Stage
from unit.provisioner.stage import Claims

from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.release import leftover
from tinkwell.provisioner.runtime import port

ONE, TWO = (RunKey(RunKind.RELEASE, "release", run, 1) for run in ("one", "two"))


class Flaky(FakeRuntime):
    """A runtime that does not answer so many times."""

    def __init__(self, world: FakeWorld, failures: int) -> None:
        super().__init__(world)
        self.failures_left = failures

    async def find_owned(self, kind: RunKind, owner: str) -> list[port.Run]:
        if self.failures_left:
            self.failures_left -= 1
            raise port.RunError(port.Reason.UNAVAILABLE, "the engine is away")
        return await super().find_owned(kind, owner)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> FakeWorld:
    monkeypatch.setattr(leftover, "PAUSE_SECONDS", 0.0)
    world = FakeWorld()
    for key in (ONE, TWO):
        world.runs[key] = FakeRun(world, port.RunSpec(key=key, image="x"))
    return world


async def test_what_is_needed_stays_and_the_rest_is_removed_once_the_runtime_answers(world: FakeWorld) -> None:
    assert await leftover.clear(Flaky(world, 3), Claims().of(0), "release", needed={TWO})
    assert set(world.runs) == {TWO}


async def test_a_runtime_that_never_answers_is_not_waited_for_for_ever(
    world: FakeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    assert not await leftover.clear(Flaky(world, 1000), Claims().of(0), "release", needed=())
    assert set(world.runs) == {ONE, TWO}
    assert caplog.text.count("what is left of a release cannot be removed") == 2


async def test_a_run_that_cannot_be_removed_keeps_no_other_one_here(world: FakeWorld) -> None:
    world.unremovable.add(ONE)
    assert not await leftover.clear(FakeRuntime(world), Claims().of(0), "release", needed=())
    assert set(world.runs) == {ONE}
    world.runs[TWO] = FakeRun(world, port.RunSpec(key=TWO, image="x"))
    with pytest.raises(port.RunError):
        await leftover.sweep(FakeRuntime(world), Claims().of(0), [ONE, TWO], busy=())
    assert set(world.runs) == {ONE}


async def test_what_somebody_else_watches_is_killed_and_left_to_that_one(world: FakeWorld) -> None:
    claims = Claims()
    claims.living.add(1)
    claims.of(1).take(ONE)
    await leftover.clear(FakeRuntime(world), claims.of(0), "release", needed=())
    assert set(world.runs) == {ONE}
    assert world.runs[ONE].ending is not None


async def test_what_has_not_begun_is_removed_whoever_was_to_start_it(world: FakeWorld) -> None:
    claims = Claims()
    claims.living.add(1)
    claims.of(1).take(ONE)
    world.runs[ONE].is_fed = False
    await leftover.clear(FakeRuntime(world), claims.of(0), "release", needed=())
    assert not world.runs


async def test_what_is_about_to_be_started_loses_its_claim_unless_it_is_needed(world: FakeWorld) -> None:
    claims, other = Claims(), RunKey(RunKind.RELEASE, "another release", "one", 1)
    for key in (ONE, TWO, other):
        claims.of(1).take(key)
    await leftover.clear(FakeRuntime(world), claims.of(0), "release", needed={TWO})
    assert claims.slots == {TWO: 1, other: 1}


async def test_of_runs_that_were_held_only_those_of_idle_releases_are_removed(world: FakeWorld) -> None:
    await leftover.sweep(FakeRuntime(world), Claims().of(0), [ONE, TWO], busy={"release"})
    assert set(world.runs) == {ONE, TWO}
    await leftover.sweep(FakeRuntime(world), Claims().of(0), [ONE], busy=set())
    assert set(world.runs) == {TWO}


async def test_no_operation_goes_on_beside_what_an_earlier_one_left_running(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftover, "PAUSE_SECONDS", 0.0)
    gate = asyncio.Event()
    stage.images.thing("disk", gates={"create": gate})
    async with stage.provisioner():
        operation_id = await stage.apply("resources: {disk: {type: acme/disk:1, config: {size: 3}}}")
        await stage.has_called("disk", "create")
    (left,) = stage.world.running
    stage.world.unremovable.add(left)
    await stage.operator.cancel(operation_id, now=True)
    calls = list(stage.images.calls("disk"))
    async with stage.provisioner():
        await stage.ends(operation_id, State.CANCELLED)
        operation = await stage.ends(
            await stage.apply("resources: {disk: {type: acme/disk:1, config: {size: 4}}}"), State.FAILED
        )
    assert operation.cause is not None
    assert operation.cause["reason"] == "PREPARATION_FAILED"
    assert "left running on this engine cannot be removed" in operation.cause["message"]
    assert stage.images.calls("disk") == calls
