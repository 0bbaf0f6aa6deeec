"""One attempt at a step: started, adopted, stopped, removed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld
from unit.provisioner.stage import Claims

from support.waiting import eventually
from tinkwell.client.workflow.model import LogStream
from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.agent.deadline import Deadline
from tinkwell.provisioner.release.call.step import NEVER_RAN, NOT_FED, Result, StepRun
from tinkwell.provisioner.release.secret import Secrets
from tinkwell.provisioner.runtime import output, port

KEY = RunKey(RunKind.RELEASE, "release", "step", 1)


class Scene:
    """A runtime, and an attempt in it."""

    def __init__(self, beside: asyncio.TaskGroup) -> None:
        self.world = FakeWorld()
        self.runtime = FakeRuntime(self.world)
        self.claims = Claims()
        self.lines: list[str] = []
        self.is_permitted = asyncio.Event()
        self.is_permitted.set()
        # Whether what was permitted is so still.
        self.is_ours = True
        self.permissions = 0
        self.beside = beside
        self.run = self.attempt()

    def attempt(self, *, slot: int = 0) -> StepRun:
        return StepRun(
            KEY,
            runtime=self.runtime,
            claims=self.claims.of(slot),
            sink=self,
            secrets=Secrets(),
            beside=self.beside,
            outlives=True,
        )

    async def append(self, key: RunKey, lines: Sequence[output.OutputLine]) -> None:
        self.lines += [line.text for line in lines]

    def start(self, *, answer_bytes: int = 0, timeout_seconds: float = 60.0) -> "asyncio.Task[Result]":
        spec = port.RunSpec(key=KEY, image="acme/x:1", answer_bytes=answer_bytes)

        async def permit() -> Callable[[], bool]:
            self.permissions += 1
            await self.is_permitted.wait()
            return lambda: self.is_ours

        return asyncio.ensure_future(self.run.start(spec, timeout_seconds=timeout_seconds, permit=permit))

    async def container(self) -> FakeRun:
        await eventually(lambda: KEY in self.world.runs)
        return self.world.runs[KEY]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with asyncio.TaskGroup() as group:
        yield Scene(group)


async def test_an_answer_and_all_output_are_there_when_it_has_ended(scene: Scene) -> None:
    task = scene.start(answer_bytes=10)
    container = await scene.container()
    await container.write("answer")
    await container.write("line\n", LogStream.STDERR)
    await container.exit()
    result = await task
    assert (result.state, result.exit_code, result.answer, scene.lines) == (State.SUCCEEDED, 0, b"answer", ["line"])
    assert result.message == "", "the exit code is told once"
    assert scene.claims.slots == {KEY: 0}
    assert await scene.run.clear()
    assert (scene.world.runs, scene.claims.slots) == ({}, {})


async def test_an_answer_that_is_too_long_is_said_to_be(scene: Scene) -> None:
    task = scene.start(answer_bytes=3)
    await (await scene.container()).write("answer")
    result = await task
    assert (result.state, result.message) == (State.FAILED, "it answers with more than 3 bytes")


async def test_nothing_is_started_that_is_not_permitted(scene: Scene) -> None:
    scene.is_permitted.clear()
    task = scene.start()
    await asyncio.sleep(0)
    scene.run.stop(State.CANCELLED, "enough")
    assert await task == Result(state=State.CANCELLED, message="enough")
    assert not scene.world.starts


async def test_the_fetching_of_an_image_takes_none_of_its_time(scene: Scene) -> None:
    scene.runtime.may_identify.clear()
    task = scene.start(timeout_seconds=0.05)
    await asyncio.sleep(0.1)
    scene.runtime.may_identify.set()
    assert (await task).state is State.TIMEOUT
    assert scene.world.starts[KEY] == 1


async def test_a_request_to_stop_kills_what_runs_and_the_first_one_counts(scene: Scene) -> None:
    task = scene.start()
    container = await scene.container()
    scene.run.stop(State.TIMEOUT, "too late")
    scene.run.stop(State.CANCELLED, "enough")
    assert await task == Result(state=State.TIMEOUT, message="too late")
    assert container.ending is not None


async def test_a_request_to_stop_interrupts_a_start_and_what_came_of_that_is_killed(scene: Scene) -> None:
    scene.runtime.may_start.clear()
    task = scene.start()
    await asyncio.sleep(0)
    scene.run.stop(State.CANCELLED, "enough")
    assert (await task).state is State.CANCELLED
    scene.run.stop(State.CANCELLED, "again")
    assert await scene.run.clear()


async def test_what_is_to_be_stopped_before_it_begins_does_not_begin(scene: Scene) -> None:
    scene.run.stop(State.CANCELLED, "enough")
    assert await scene.start() == Result(state=State.CANCELLED, message="enough")
    assert not scene.world.starts


async def test_an_adopted_run_tells_how_it_ended(scene: Scene) -> None:
    container = scene.world.runs[KEY] = FakeRun(scene.world, port.RunSpec(key=KEY, image="x"))
    task = asyncio.ensure_future(scene.run.adopt(Deadline(60)))
    await container.exit(4)
    result = await task
    assert (result.state, result.exit_code) == (State.FAILED, 4)


async def test_a_run_that_is_not_there_never_ran(scene: Scene) -> None:
    assert await scene.run.adopt(Deadline(60)) == Result(state=State.CANCELLED, message=NEVER_RAN)


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_what_never_ran_does_not_begin_when_who_was_to_start_it_wakes_up(scene: Scene, is_stopped: bool) -> None:
    scene.runtime.may_start.clear()
    task = scene.start()
    await eventually(lambda: scene.permissions == 1)
    scene.is_permitted.clear()
    neighbour = scene.attempt(slot=1)
    if is_stopped:
        neighbour.stop(State.CANCELLED, NEVER_RAN)
    assert await neighbour.adopt(Deadline(60)) == Result(state=State.CANCELLED, message=NEVER_RAN)
    assert await neighbour.clear()
    scene.runtime.may_start.set()
    await eventually(lambda: scene.permissions == 2)
    scene.run.stop(State.CANCELLED, "it is another's")
    await task
    assert not scene.world.starts


async def test_what_is_not_ours_any_more_right_before_it_begins_waits_for_another_permission(scene: Scene) -> None:
    scene.runtime.may_start.clear()
    task = scene.start()
    await eventually(lambda: scene.permissions == 1)
    scene.is_permitted.clear()
    scene.is_ours = False
    scene.runtime.may_start.set()
    await eventually(lambda: scene.permissions == 2)
    assert not scene.world.runs
    scene.is_ours = True
    scene.is_permitted.set()
    await (await scene.container()).exit()
    assert (await task).state is State.SUCCEEDED


async def test_a_run_that_lacks_a_part_of_its_input_is_removed_before_that_is_told(scene: Scene) -> None:
    container = scene.world.runs[KEY] = FakeRun(scene.world, port.RunSpec(key=KEY, image="x"))
    container.is_fed = False
    assert await scene.run.adopt(Deadline(60)) == Result(state=State.CANCELLED, message=NOT_FED)
    assert container.ending is not None
    assert not scene.world.runs


async def test_a_run_that_has_not_begun_is_removed_where_it_is_to_be_stopped(scene: Scene) -> None:
    scene.world.runs[KEY] = FakeRun(scene.world, port.RunSpec(key=KEY, image="x"))
    scene.world.runs[KEY].is_fed = False
    scene.run.stop(State.CANCELLED, "enough")
    assert await scene.run.adopt(Deadline(60)) == Result(state=State.CANCELLED, message="enough")
    assert not scene.world.runs


async def test_what_others_watch_by_now_is_left_to_them(scene: Scene) -> None:
    scene.world.runs[KEY] = FakeRun(scene.world, port.RunSpec(key=KEY, image="x"))
    scene.claims.living.add(1)
    scene.claims.of(1).take(KEY)
    assert await scene.run.clear(is_taken=True)
    assert KEY in scene.world.runs


async def test_what_cannot_be_removed_is_said_to_be_left(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.world.runs[KEY] = FakeRun(scene.world, port.RunSpec(key=KEY, image="x"))
    scene.world.unremovable.add(KEY)
    assert not await scene.run.clear()
    assert "a run cannot be removed" in caplog.text


async def test_a_state_directory_that_fails_is_why_nothing_is_started(scene: Scene) -> None:
    def fail(key: RunKey) -> None:
        raise OSError("no space left on device")

    scene.run._claims.take = fail  # type: ignore[method-assign]
    result = await scene.start()
    assert (result.state, result.message) == (
        State.FAILED,
        "the state directory cannot be used: no space left on device",
    )
