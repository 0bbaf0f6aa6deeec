"""What a dead provisioner left, and what its successor makes of it."""

from unit.provisioner.stage import Stage, action, key_of

from support.waiting import eventually
from tinkwell.core.event.kinds import State

SUCCEEDED, FAILED, TIMEOUT = State.SUCCEEDED, State.FAILED, State.TIMEOUT


async def test_a_run_outlives_its_provisioner_and_is_adopted_not_repeated(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        run = await stage.run_of("w-0")
        await run.write("one\n")
        await eventually(lambda: stage.server.texts("w-0") == ["one"])
    assert run.ending is None
    await run.write("two\n")
    async with stage.provisioner():
        await eventually(lambda: stage.server.texts("w-0") == ["one", "two"])
        await run.exit(0)
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    assert set(stage.world.starts.values()) == {1}


async def test_a_run_that_ended_between_two_provisioners_is_reported(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(timeout_seconds=60))
        run = await stage.run_of("w-0")
    await run.write("last words\n")
    await run.exit(5)
    stage.server.takes_questions.clear()
    stage.server.clock.advance(160)
    async with stage.provisioner():
        await stage.reaches("w", FAILED)
        await stage.is_clear()
    assert stage.server.rows["w"][0].exit_code == 5
    assert stage.server.texts("w-0") == ["last words"]


async def test_an_adopted_run_past_its_deadline_is_killed(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(timeout_seconds=60))
        await stage.run_of("w-0")
    stage.server.takes_questions.clear()
    stage.server.clock.advance(160)
    async with stage.provisioner():
        await stage.reaches("w", TIMEOUT)
        await stage.is_clear()


async def test_an_action_whose_run_is_gone_is_lost_and_not_repeated(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
    await run.remove()
    async with stage.provisioner():
        await stage.reaches("w", FAILED)
    assert stage.server.rows["w"][0].message.startswith("lost: ")
    assert stage.world.starts[key_of("w-0")] == 1


async def test_a_run_of_a_workflow_that_was_cancelled_meanwhile_is_stopped_at_the_start(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.run_of("w-0")
    stage.server.cancel("w")
    async with stage.provisioner():
        await stage.is_clear()


async def test_a_run_that_was_reported_but_not_removed_is_removed_at_the_start(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        run = await stage.run_of("w-0")
    await run.exit(0)
    await stage.report("w-0", "m-1", SUCCEEDED, lease_token=stage.token())
    async with stage.provisioner():
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    assert set(stage.world.starts.values()) == {1}
