"""Workflows that want the same machine, of this provisioner and of others: each has its turn."""

from unit.provisioner.stage import Stage, action, said

from support.waiting import eventually
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.core.event.kinds import EventType, State

RUNNING, SUCCEEDED, FAILED, TIMEOUT, CANCELLED = (
    State.RUNNING,
    State.SUCCEEDED,
    State.FAILED,
    State.TIMEOUT,
    State.CANCELLED,
)


async def test_a_machine_runs_one_workflow_after_the_other_the_oldest_first(stage: Stage) -> None:
    names = [f"w{number}" for number in range(4)]
    async with stage.provisioner():
        stage.server.add_workflow("first", action(), action())
        await stage.run_of("first-0")
        # However they are noticed, and though one of them has another machine first.
        for name in names:
            stage.server.add_workflow(name, *[action("m-2")] * (name == "w2"), action())
        for name in reversed(names):
            stage.server.notify(name, EventType.UPDATED)
        await stage.finish("first-0")
        await stage.finish("first-1")
        for name in names:
            for index in range(len(stage.server.rows[name])):
                await stage.run_of(f"{name}-{index}")
                assert [n for n, state in stage.server.workflows.items() if state is RUNNING] == [name]
                await stage.finish(f"{name}-{index}")
            await stage.reaches(name, SUCCEEDED)
    assert stage.server.refused_starts == []


async def test_what_waits_for_a_machine_starts_when_the_one_before_it_is_cancelled_or_deleted(stage: Stage) -> None:
    async with stage.provisioner():
        for name in ("first", "second", "third", "fourth"):
            stage.server.add_workflow(name, action())
            await stage.run_of("first-0")
        stage.server.cancel("second")
        stage.server.cancel("first")
        await stage.run_of("third-0")
        stage.server.delete("third")
        await stage.finish("fourth-0")
        await stage.reaches("fourth", SUCCEEDED)
        await stage.is_clear()


async def test_a_workflow_of_somebody_else_on_one_of_its_machines_is_waited_for(stage: Stage) -> None:
    stage.server.add_workflow("theirs", action("m-2"))
    await stage.report("theirs-0", "m-2", RUNNING)
    stage.server.add_workflow("ours", action("m-1"), action("m-2"))
    async with stage.provisioner(serves={"m-1"}) as worker:
        await eventually(lambda: worker._admission.is_holder("theirs"))
        assert not stage.world.runs
        stage.server.cancel("theirs")
        await stage.run_of("ours-0")
    assert stage.server.refused_starts == []


async def test_a_start_that_another_provisioner_was_faster_with_waits_for_its_end(stage: Stage) -> None:
    stage.server.add_workflow("ours", action("m-1"), action("m-2"))
    stage.server.add_workflow("theirs", action("m-2"))

    async def steal_machine(call: ReceivedCall) -> None:
        if said(call) == ("ours-0", RUNNING):
            stage.server.on_call = None
            await stage.report("theirs-0", "m-2", RUNNING)

    stage.server.on_call = steal_machine
    async with stage.provisioner(serves={"m-1"}):
        await eventually(lambda: stage.server.refused_starts == ["ours"])
        assert stage.server.states("ours") == [State.PENDING] * 2
        stage.server.cancel("theirs")
        await stage.finish("ours-0")
        await eventually(lambda: stage.server.states("ours")[0] is SUCCEEDED)
