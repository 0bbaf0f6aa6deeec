"""Hooks: they run after the outcome was reported, once, whatever dies, and change nothing about it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from unit.provisioner.fake_runtime import FakeRun, FakeRuntime
from unit.provisioner.stage import Stage, action, key_of

from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.client.workflow.model import Reported
from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey
from tinkwell.core.workflow.hook import Hook
from tinkwell.provisioner.agent import agent, hook
from tinkwell.provisioner.agent.job import Fate, Outcome
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.workflow.action import receipt_of, work_of

T = TypeVar("T")

ON_FAILURE, ON_TIMEOUT = "on-failure", "on-timeout"
MAIN = key_of("w-0")
FAILURE_HOOK = replace(MAIN, hook=ON_FAILURE)
HOOKED: dict[str, Any] = {"on_failure": ("tell", "failure"), "on_timeout": ("tell", "timeout")}


def texts(stage: Stage) -> list[str]:
    """The lines of the action in the order in which they are read."""
    return [line.text for line in sorted(stage.server.lines.get("w-0", []), key=lambda line: line.number)]


def hooks(stage: Stage) -> list[str]:
    """The hooks that were ever started."""
    return [key.hook for key in stage.world.starts.elements() if key.hook]


async def fail(stage: Stage, **fields: Any) -> None:
    """Let an action with hooks fail."""
    stage.server.add_workflow("w", action(**HOOKED, **fields))
    run = await stage.run_of("w-0")
    await run.write("main\n")
    await run.exit(3)


async def test_after_a_failure_its_hook_runs_as_the_action_would(stage: Stage) -> None:
    fields: dict[str, Any] = {"environment": ("K=v",), "volumes": ("/a:/b",), "pid": "host", "command": ("main",)}
    async with stage.provisioner():
        await fail(stage, **fields)
        run = await stage.run_of("w-0", hook=ON_FAILURE)
        assert stage.server.states("w") == [State.FAILED]
        main = stage.world.runs[MAIN].spec
        environment = (f"TINKWELL_HOOK={ON_FAILURE}", *main.environment)
        assert run.spec == replace(main, key=FAILURE_HOOK, command=("tell", "failure"), environment=environment)
        await run.write("hook\n")
        await run.exit(0)
        await stage.is_clear()
    assert texts(stage) == ["main", "hook", "[on-failure exited with code 0]"]
    assert hooks(stage) == [ON_FAILURE]
    assert stage.server.reports == [("w-0", State.RUNNING), ("w-0", State.FAILED)]


async def test_after_a_timeout_its_hook_runs(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(**HOOKED, timeout_seconds=1))
        await (await stage.run_of("w-0", hook=ON_TIMEOUT)).exit(0)
        await stage.is_clear()
        assert stage.server.workflows["w"] is State.TIMEOUT
    assert hooks(stage) == [ON_TIMEOUT]


async def test_the_hook_runs_though_the_server_ended_the_action_first(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(**HOOKED), global_timeout_seconds=60)
        main = await stage.run_of("w-0")
        stage.server.clock.advance(62)
        stage.server.lose_history()
        run = await stage.run_of("w-0", hook=ON_TIMEOUT)
        assert main.ending is not None, "it is killed before"
        await run.exit(0)
        await stage.is_clear()
        assert stage.server.workflows["w"] is State.TIMEOUT
    assert hooks(stage) == [ON_TIMEOUT]
    assert stage.server.reports == [("w-0", State.RUNNING)]


async def test_the_hook_is_the_one_of_the_end_that_the_server_knows(stage: Stage) -> None:
    """The action fails while the server ends it for its deadline, so the report of its failure is refused."""
    async with stage.provisioner():
        stage.server.add_workflow("w", action(**HOOKED), global_timeout_seconds=60)
        run = await stage.run_of("w-0")
        before, stage.server.is_away = len(stage.server.calls), True
        await run.exit(3)
        await eventually(lambda: len(stage.server.calls) > before)
        stage.server.clock.advance(62)
        stage.server.expire("w")
        stage.server.is_away = False
        await (await stage.run_of("w-0", hook=ON_TIMEOUT)).exit(0)
        await stage.is_clear()
    assert hooks(stage) == [ON_TIMEOUT]


@pytest.mark.parametrize("how", ["succeeds", "is cancelled", "has none"])
async def test_there_is_no_hook_for_an_action_that(stage: Stage, how: str) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(**(HOOKED if how != "has none" else {"on_timeout": ("x",)})))
        run = await stage.run_of("w-0")
        if how == "is cancelled":
            stage.server.cancel("w")
        else:
            await run.exit(3 if how == "has none" else 0)
        await stage.is_clear()
    assert hooks(stage) == []


async def test_an_attempt_that_is_followed_by_another_has_no_hook(stage: Stage) -> None:
    async with stage.provisioner():
        await fail(stage, retries=1)
        second = await stage.run_of("w-0", attempt=2)
        assert MAIN not in stage.world.runs
        assert hooks(stage) == []
        await second.exit(4)
        await (await stage.run_of("w-0", attempt=2, hook=ON_FAILURE)).exit(0)
        await stage.is_clear()
    assert hooks(stage) == [ON_FAILURE]
    assert stage.server.rows["w"][0].exit_code == 4


async def test_a_failing_hook_changes_nothing_and_says_so_in_the_output(stage: Stage) -> None:
    async with stage.provisioner():
        await fail(stage)
        await (await stage.run_of("w-0", hook=ON_FAILURE)).exit(9)
        await stage.is_clear()
    assert texts(stage) == ["main", "[on-failure exited with code 9]"]
    row = stage.server.rows["w"][0]
    assert (stage.server.workflows["w"], row.state, row.exit_code) == (State.FAILED, State.FAILED, 3)


@pytest.mark.parametrize("timeout_seconds", [0, 1])
async def test_a_hook_that_hangs_is_killed_at_its_limit(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, timeout_seconds: int
) -> None:
    monkeypatch.setattr(hook, "DEFAULT_SECONDS", 0.1)
    async with stage.provisioner():
        await fail(stage, timeout_seconds=timeout_seconds)
        await (await stage.run_of("w-0", hook=ON_FAILURE)).write("hanging\n")
        await stage.is_clear()
    limit = timeout_seconds or 0.1
    assert texts(stage) == ["main", "hanging", f"[on-failure was killed, because it took longer than {limit} s]"]
    assert stage.server.workflows["w"] is State.FAILED


async def test_a_hook_whose_image_is_gone_is_told_of(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(**HOOKED))
        run = await stage.run_of("w-0")
        stage.runtime.failures["image"] = port.RunError(port.Reason.IMAGE, "no image")
        await run.exit(3)
        await stage.is_clear()
    assert texts(stage) == ["[on-failure could not be run: no image]"]
    assert stage.server.workflows["w"] is State.FAILED


async def test_an_image_that_takes_too_long_to_come_is_not_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "DEFAULT_SECONDS", 0.05)
    async with stage.provisioner():
        stage.server.add_workflow("w", action(**HOOKED))
        run = await stage.run_of("w-0")
        stage.runtime.may_start.clear()
        await run.exit(3)
        await stage.is_clear()
    assert texts(stage) == ["[on-failure did not begin within 0.05 s]"]


async def test_an_action_that_never_ran_has_its_hook_run_all_the_same(stage: Stage) -> None:
    stage.runtime.failures["image"] = port.RunError(port.Reason.ENTRY_POINT, "no such program")
    async with stage.provisioner():
        stage.server.add_workflow("w", action(**HOOKED))
        await stage.reaches("w", State.FAILED)
        await eventually(lambda: texts(stage) == ["[on-failure could not be run: no such program]"])


@pytest.mark.parametrize("is_adopted", [True, False])
async def test_deleting_the_workflow_stops_a_running_hook(stage: Stage, is_adopted: bool) -> None:
    async with contextlib.AsyncExitStack() as lives:
        await lives.enter_async_context(stage.provisioner())
        await fail(stage)
        run = await stage.run_of("w-0", hook=ON_FAILURE)
        if is_adopted:
            await lives.aclose()
            await lives.enter_async_context(stage.provisioner())
        stage.server.delete("w")
        await stage.is_clear()
        assert run.ending is not None
        assert run.ending.code == 137


async def test_the_output_of_a_hook_has_numbers_that_no_line_of_its_attempt_has(stage: Stage) -> None:
    async with stage.provisioner():
        await fail(stage)
        run = await stage.run_of("w-0", hook=ON_FAILURE)
        await run.write("why\n")
        await run.exit(0)
        await stage.is_clear()
    lines = sorted(stage.server.lines["w-0"], key=lambda line: line.number)
    assert [line.text for line in lines[-2:]] == ["why", "[on-failure exited with code 0]"]
    assert lines[1].number == 100_001
    assert lines[-1].number == hook.LAST_NUMBER == 200_001


@pytest.mark.parametrize(
    ("revision", "after", "expected"),
    [
        (7, State.FAILED, (Hook.ON_FAILURE, Fate.NEEDED)),
        (0, State.FAILED, ("", Fate.NEEDED)),
        (7, State.TIMEOUT, (Hook.ON_TIMEOUT, Fate.NEEDED)),
        (7, State.PENDING, ("", Fate.REMOVED)),
        (0, State.PENDING, ("", Fate.DISCARDED)),
        (7, None, (Hook.ON_FAILURE, Fate.NEEDED)),
    ],
    ids=["its end", "a repetition", "another end", "to be repeated", "a repetition of that", "an older server"],
)
def test_the_answer_to_the_report_of_a_failure_says_whether_its_hook_follows_at_once_and_what_becomes_of_the_run(
    revision: int, after: State | None, expected: tuple[str, Fate]
) -> None:
    outcome = Outcome(state=State.FAILED, message="", seconds=0.0)
    receipt = receipt_of(action(**HOOKED), outcome, Reported(revision, 1, None, after))
    assert (receipt.hook, receipt.fate) == expected


@pytest.mark.parametrize(
    ("refusal", "hooks", "expected"),
    [
        (errors.IllegalTransition(), HOOKED, Fate.NEEDED),
        (errors.IllegalTransition(), {}, Fate.DISCARDED),
        (errors.LeaseLost(), HOOKED, Fate.TAKEN),
        (errors.LeaseLost(), {}, Fate.TAKEN),
    ],
)
def test_a_refused_end_leaves_the_run_where_it_may_have_a_hook_or_is_somebody_else_s(
    refusal: errors.Error, hooks: dict[str, Any], expected: Fate
) -> None:
    outcome = Outcome(state=State.FAILED, message="", seconds=0.0)
    receipt = receipt_of(action(**hooks), outcome, refusal)
    assert (receipt.hook, receipt.fate) == ("", expected)


@pytest.mark.parametrize("is_left", [True, False])
async def test_a_hook_whose_attempt_is_gone_is_done_and_removed(stage: Stage, is_left: bool) -> None:
    fields = replace(action(**HOOKED), id="w-0", workflow_id="w")
    if is_left:
        await stage.runtime.start(work_of(FAILURE_HOOK, fields, stage.runtime, stage.files).run)
    async with asyncio.timeout(10):
        assert await hook.Hooks(stage.runtime).run(
            work_of(FAILURE_HOOK, fields, stage.runtime, stage.files), Silence(), is_first=False
        )
    assert not stage.world.runs
    assert stage.world.starts.total() == is_left


class Silence:
    """A sink for what writes nothing."""

    async def append(self, key: RunKey, lines: object) -> None:
        raise AssertionError(f"{key} has output")


async def test_an_engine_that_is_away_is_waited_for(stage: Stage) -> None:
    """Nothing of the run can be removed, so the hook is not known to be done; it is taken up, not run again."""
    stage.world.unremovable.add(MAIN)
    async with stage.provisioner(resync_seconds=0.05):
        await fail(stage)
        await (await stage.run_of("w-0", hook=ON_FAILURE)).exit(0)
        await eventually(lambda: len(texts(stage)) == 2)
        assert stage.world.runs.keys() == {MAIN, FAILURE_HOOK}
        stage.world.unremovable.clear()
        await stage.is_clear()
    assert hooks(stage) == [ON_FAILURE]
    assert texts(stage) == ["main", "[on-failure exited with code 0]"]


async def test_a_hook_is_not_run_again_by_who_believes_too_long_that_its_attempt_is_there(stage: Stage) -> None:
    async with stage.provisioner() as worker:
        await fail(stage)
        await (await stage.run_of("w-0", hook=ON_FAILURE)).exit(0)
        await stage.is_clear()
        await eventually(lambda: not worker._roster.jobs)
        worker._roster.note(MAIN)
        stage.server.lose_history()
        await worker._dirty.put("w")
        await eventually(lambda: not worker._roster.has("w"))
    assert hooks(stage) == [ON_FAILURE]


async def test_the_machine_is_released_when_the_hook_has_ended_and_not_before(stage: Stage) -> None:
    async with stage.provisioner() as worker:
        await fail(stage)
        run = await stage.run_of("w-0", hook=ON_FAILURE)
        stage.server.add_workflow("next", action())
        await eventually(lambda: worker._admission.is_holder("w"))
        assert stage.world.runs.keys() == {MAIN, FAILURE_HOOK}
        assert not stage.server.leases.released
        await run.exit(0)
        await stage.finish("next-0")
        await stage.reaches("next", State.SUCCEEDED)
        await eventually(lambda: not stage.server.leases.ledger.holds)
    assert set(stage.server.leases.released) == {"w"}


async def test_another_provisioner_of_the_same_directory_takes_a_hook_up_when_its_owner_is_dead(stage: Stage) -> None:
    async with contextlib.AsyncExitStack() as lives:
        await lives.enter_async_context(stage.provisioner())
        await fail(stage)
        run = await stage.run_of("w-0", hook=ON_FAILURE)
        async with stage.provisioner(slot=1, resync_seconds=0.02) as other:
            before = len(stage.server.calls)
            await eventually(lambda: len(stage.server.calls) > before + 10)
            assert not other._roster.jobs
            assert run.ending is None
            await lives.aclose()
            await eventually(lambda: FAILURE_HOOK in other._roster.jobs)
            await run.exit(0)
            await stage.is_clear()
    assert hooks(stage) == [ON_FAILURE]
    assert texts(stage) == ["main", "[on-failure exited with code 0]"]


async def test_no_hook_goes_on_where_the_machine_was_let_go_while_nobody_looked_after_it(stage: Stage) -> None:
    async with stage.provisioner():
        await fail(stage)
        run = await stage.run_of("w-0", hook=ON_FAILURE)
    stage.server.leases.expire("owner/0")
    stage.server.leases.ledger.forget_lost("w")
    async with stage.provisioner():
        await stage.is_clear()
    assert run.ending is not None
    assert hooks(stage) == [ON_FAILURE]


class Death:
    """Lets a provisioner die at its Nth step: before or after any call of the server or the runtime."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.came = asyncio.Event()

    async def call(self, work: Callable[[], Awaitable[T]]) -> T:
        await self._step()
        result = await work()
        await self._step()
        return result

    async def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            self.came.set()
        if self.came.is_set():
            await asyncio.Event().wait()


class MortalRuntime(FakeRuntime):
    def __init__(self, stage: Stage, death: Death) -> None:
        super().__init__(stage.world)
        self.death = death

    async def start(self, spec: port.RunSpec, may_begin: Callable[[], bool] = port.always) -> port.Run:
        return await self.death.call(lambda: self._start(spec))

    async def _start(self, spec: port.RunSpec) -> port.Run:
        if spec.key.hook:
            main = self.world.runs.get(spec.key.main)
            assert main is None or main.ending is not None, "a hook runs beside its attempt"
        run = await FakeRuntime.start(self, spec)
        assert isinstance(run, FakeRun)
        if run.ending is None:
            await run.write("hook\n" if spec.key.hook else "main\n")
            await run.exit(0 if spec.key.hook else 3)
        return run

    async def find(self, key: RunKey) -> port.Run | None:
        return await self.death.call(lambda: FakeRuntime.find(self, key))


@contextlib.asynccontextmanager
async def mortal(stage: Stage, death: Death, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """A provisioner that dies at its Nth step, with all its runs under way."""
    with monkeypatch.context() as patch:
        around = stage.server.pass_through

        async def pass_through(call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
            if call.method in ("ReportActionStatus", "AppendLogs"):
                return await death.call(lambda: around(call, answer))
            return await around(call, answer)

        patch.setattr(stage.server.gate, "around", pass_through)
        for name in ("kill", "remove"):
            original = getattr(FakeRun, name)

            async def do(run: FakeRun, _original: Any = original) -> None:
                await death.call(lambda: _original(run))

            patch.setattr(FakeRun, name, do)
        runtime, stage.runtime = stage.runtime, MortalRuntime(stage, death)
        async with stage.provisioner():
            yield
        stage.runtime = runtime


@pytest.mark.parametrize("steps", range(32))
async def test_whenever_the_provisioner_dies_the_hook_is_run_and_never_twice(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(agent, "LAST_SECONDS", 0.0)
    stage.server.add_workflow("w", action(**HOOKED))
    death = Death(steps)
    async with mortal(stage, death, monkeypatch):
        await eventually(lambda: death.came.is_set() or bool(texts(stage)[2:] and not stage.world.runs))
    async with mortal(stage, Death(1000), monkeypatch):
        await stage.reaches("w", State.FAILED)
        await stage.is_clear()
        await eventually(lambda: not stage.server.leases.ledger.holds)
    if stage.world.starts[MAIN]:
        assert hooks(stage) == [ON_FAILURE]
        assert texts(stage) == ["main", "hook", "[on-failure exited with code 0]"]
    assert stage.world.starts[MAIN] <= 1
    assert len(hooks(stage)) <= 1
