"""Actions that reboot their machine: they end when it has rebooted, and not before."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from unit.provisioner.stage import Stage, action, key_of

from support.waiting import eventually
from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import reboot as boot
from tinkwell.provisioner.runtime import port

KEY = key_of("w-0")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> "Machine":
    """A machine in its first boot."""
    found = Machine()
    monkeypatch.setattr(boot, "current", lambda: found.boot)
    monkeypatch.setattr(boot, "uptime_seconds", lambda: found.uptime_seconds)
    return found


class Machine:
    """A machine that a test reboots."""

    boot = "first boot"
    uptime_seconds = 100_000.0

    def reboot(self) -> None:
        self.boot = "second boot"
        self.uptime_seconds = 20.0


async def begin(stage: Stage) -> None:
    """Let a provisioner begin an action that reboots, and die with its machine."""
    async with stage.provisioner():
        stage.server.add_workflow("w", action(reboots=True, timeout_seconds=600))
        run = await stage.run_of("w-0")
        assert stage.files.boots == {KEY: "first boot"}, "it is written down before the run is started"
        await run.write("rebooting\n")
        await eventually(lambda: stage.server.texts("w-0") == ["rebooting"])


def age(stage: Stage, *, ran_seconds: float, clock_seconds: float | None) -> None:
    """Let the attempt have run so long by the server's clock, and so long by the machine's, if that can be told."""
    began = datetime.now(UTC) - timedelta(seconds=clock_seconds or 0)
    clock = stage.server.clock
    clock.run(1.0)
    clock.advance((began - clock.now()).total_seconds() + ran_seconds)
    (row,) = stage.server.rows["w"]
    stage.server.put(replace(row, started_at=None if clock_seconds is None else began))


@pytest.mark.parametrize("code", [0, 1, 137, None])
async def test_after_the_reboot_it_has_succeeded_whatever_became_of_its_run(
    stage: Stage, machine: Machine, code: int | None
) -> None:
    await begin(stage)
    run = stage.world.runs[KEY]
    await run.write("last words\n")
    await run.exit(137 if code is None else code)
    if code is None:
        await run.remove()
    machine.reboot()
    async with stage.provisioner():
        await stage.reaches("w", State.SUCCEEDED)
        await stage.is_clear()
    assert stage.server.rows["w"][0].message == "its machine has rebooted"
    assert stage.server.texts("w-0") == ["rebooting"] + ([] if code is None else ["last words"])
    assert stage.world.starts[KEY] == 1


@pytest.mark.parametrize(
    ("ran_seconds", "clock_seconds", "state"),
    [(60, 60, State.SUCCEEDED), (24, 60, State.FAILED), (60, 24, State.FAILED), (60, None, State.FAILED)],
)
async def test_where_the_note_is_gone_a_machine_that_came_up_since_the_attempt_began_has_rebooted(
    stage: Stage, machine: Machine, ran_seconds: float, clock_seconds: float | None, state: State
) -> None:
    await begin(stage)
    stage.world.runs.clear()
    stage.files.boots.clear()
    machine.reboot()
    age(stage, ran_seconds=ran_seconds, clock_seconds=clock_seconds)
    async with stage.provisioner():
        await stage.reaches("w", state)


async def test_where_nothing_was_noted_and_the_machine_has_been_up_the_attempt_is_lost(stage: Stage) -> None:
    """Its provisioner died after it had reported that the action runs, and before it had it run."""
    await begin(stage)
    stage.world.runs.clear()
    stage.files.boots.clear()
    age(stage, ran_seconds=60, clock_seconds=60)
    async with stage.provisioner():
        await stage.reaches("w", State.FAILED)
    assert stage.server.rows["w"][0].message.startswith("lost: ")


async def test_an_engine_that_is_not_up_yet_does_not_hold_the_success_up(
    stage: Stage, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find(key: RunKey) -> port.Run:
        raise port.RunError(port.Reason.UNAVAILABLE, "the engine does not answer")

    await begin(stage)
    machine.reboot()
    with monkeypatch.context() as patch:
        patch.setattr(stage.runtime, "find", find)
        async with stage.provisioner():
            await stage.reaches("w", State.SUCCEEDED)
    async with stage.provisioner():
        await stage.is_clear()


@pytest.mark.parametrize("code", [0, 137, 143])
async def test_before_the_reboot_it_waits_though_its_run_is_over(stage: Stage, machine: Machine, code: int) -> None:
    """It has called for the reboot, or was killed by it."""
    await begin(stage)
    await stage.world.runs[KEY].exit(code)
    async with stage.provisioner():
        for _ in range(3):
            calls = len(stage.server.calls)
            stage.server.lose_history()
            await eventually(lambda: len(stage.server.calls) > calls)  # noqa: B023  (it ends in this turn)
        assert stage.server.workflows["w"] is State.RUNNING
    machine.reboot()
    async with stage.provisioner():
        await stage.reaches("w", State.SUCCEEDED)
        await stage.is_clear()


async def test_a_machine_that_does_not_reboot_in_time_is_a_timeout(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(reboots=True, timeout_seconds=1))
        await stage.finish("w-0")
        await stage.reaches("w", State.TIMEOUT)
        await stage.is_clear()


async def test_one_that_says_that_it_failed_has_failed(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(reboots=True))
        await stage.finish("w-0", code=3)
        await stage.reaches("w", State.FAILED)
        await stage.is_clear()


async def test_nothing_is_started_where_the_boot_cannot_be_written_down(stage: Stage) -> None:
    stage.files.is_full = True
    async with stage.provisioner():
        stage.server.add_workflow("w", action(reboots=True))
        await stage.reaches("w", State.FAILED)
    assert not stage.world.starts
    assert "no space left" in stage.server.rows["w"][0].message


async def test_other_actions_are_lost_with_a_reboot_and_need_no_note(stage: Stage, machine: Machine) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
    await run.remove()
    machine.reboot()
    async with stage.provisioner():
        await stage.reaches("w", State.FAILED)
    assert not stage.files.boots
    assert stage.server.rows["w"][0].message.startswith("lost: ")


def test_this_machine_s_boot_has_a_name_and_an_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert str(uuid.UUID(boot.current())) == boot.current()
    assert 0 < boot.uptime_seconds() <= boot.uptime_seconds()
