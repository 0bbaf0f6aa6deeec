"""What the driver does without a look: an action follows another one in its place."""

import asyncio

from unit.provisioner.stage import Stage, action, said

from support.waiting import eventually
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, State

RUNNING, SUCCEEDED = State.RUNNING, State.SUCCEEDED


async def test_a_workflow_of_many_actions_costs_no_look_for_each(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", *(action() for _ in range(20)))
        for index in range(20):
            await stage.finish(f"w-{index}")
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    # One call for the first start and one for each end; the rest is what the workflow as a whole costs.
    assert len(stage.server.calls) <= 1 + 20 + 15


async def test_an_end_and_the_start_that_follows_go_by_one_call(stage: Stage) -> None:
    async with stage.provisioner(concurrency=1):
        stage.server.add_workflow("w", *(action() for _ in range(3)))
        for index in range(3):
            await stage.finish(f"w-{index}")
        await stage.reaches("w", SUCCEEDED)
    ends = [("w-0", SUCCEEDED), ("w-1", RUNNING)], [("w-1", SUCCEEDED), ("w-2", RUNNING)]
    assert [call for call in stage.server.together if len(call) > 1] == list(ends)


async def test_nothing_follows_what_the_server_does_not_take_for_a_success(stage: Stage) -> None:
    async def cancel_first(call: ReceivedCall) -> None:
        if said(call) == ("w-0", SUCCEEDED):
            stage.server.cancel("w")

    stage.server.on_call = cancel_first
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.finish("w-0")
        await stage.is_clear()
    assert stage.server.states("w") == [State.CANCELLED, State.CANCELLED]
    assert len(stage.world.starts) == 1


async def test_what_follows_begins_once_though_the_answer_to_both_reports_is_lost(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        run = await stage.run_of("w-0")
        stage.server.loses_answers = 2
        await run.exit(0)
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    assert stage.server.states("w") == [SUCCEEDED, SUCCEEDED]
    assert len(stage.world.starts) == 2


async def test_an_action_that_cannot_follow_at_once_is_begun_when_it_can(stage: Stage) -> None:
    refused: list[str] = []

    async def refuse_once(call: ReceivedCall) -> None:
        if said(call) == ("w-1", RUNNING) and not refused:
            refused.append("w")
            raise errors.IllegalTransition("action w-1", "it may not run now")

    stage.server.on_call = refuse_once
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.finish("w-0")
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    assert refused == ["w"]


async def test_an_action_that_follows_reports_nothing_by_itself_before_the_end_is_answered(stage: Stage) -> None:
    ends, starts = list[str](), list[str]()

    async def fail_first(call: ReceivedCall) -> None:
        match said(call):
            case ("w-0", State.SUCCEEDED):
                ends.append("w-0")
                if len(ends) < 3:
                    raise errors.Unavailable("the line is cut")
            case ("w-1", State.RUNNING) if len(ends) < 3:
                starts.append("w-1")
                raise errors.IllegalTransition("action w-1", "the one before it has not ended")

    stage.server.on_call = fail_first
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.finish("w-0")
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    assert [call for call in stage.server.together if ("w-1", RUNNING) in call] == [
        [("w-0", SUCCEEDED), ("w-1", RUNNING)]
    ] * 3
    assert len(starts) == 2


async def test_no_start_is_told_for_an_action_that_was_stopped_while_it_waited_to_follow(stage: Stage) -> None:
    ends = list[str]()

    async def fail_until_stopped(call: ReceivedCall) -> None:
        if said(call) == ("w-0", SUCCEEDED):
            ends.append("w-0")
            if len(ends) == 2:
                living.lose()
            if len(ends) < 4:
                raise errors.Unavailable("the line is cut")

    stage.server.on_call = fail_until_stopped
    async with stage.provisioner() as living:
        stage.server.add_workflow("w", action(), action(retries=1))
        await stage.finish("w-0")
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    assert len([call for call in stage.server.together if ("w-1", RUNNING) in call]) == 2
    assert stage.server.rows["w"][1].attempt == 1


async def test_an_action_that_follows_waits_behind_a_workflow_that_has_waited_for_a_place(stage: Stage) -> None:
    async def answer_about_w_later(call: ReceivedCall) -> None:
        if call.method == "GetWorkflowContext" and call.request.id == "w":
            await eventually(lambda: ("other-0", RUNNING) in stage.server.reports)

    async with stage.provisioner(concurrency=1):
        stage.server.add_workflow("w", action("m-1"), action("m-1"))
        await stage.run_of("w-0")
        stage.server.add_workflow("other", action("m-2"))
        await stage.rest()
        # Whoever is looked at first gets the place that is free then. An action that follows at once needs no look.
        stage.server.on_call = answer_about_w_later
        await stage.finish("w-0")
        await stage.finish("other-0")
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    assert stage.server.reports.index(("other-0", RUNNING)) < stage.server.reports.index(("w-1", RUNNING))


async def test_a_workflow_that_is_cancelled_between_its_actions_goes_no_further(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        run = await stage.run_of("w-0")
        stage.server.notify("w", EventType.WORKFLOW_STARTED)
        stage.server.cancel("w")
        await run.exit(0)
        await stage.is_clear()
    assert stage.server.states("w") == [State.CANCELLED, State.CANCELLED]
    assert len(stage.world.starts) == 1


async def test_a_list_costs_no_look_for_what_waits_for_a_machine(stage: Stage) -> None:
    async with stage.provisioner(resync_seconds=0.05):
        names = [f"w{number}" for number in range(30)]
        for name in names:
            stage.server.add_workflow(name, action())
        run = await stage.run_of("w0-0")

        async def costs_nothing() -> bool:
            before, lists = stage.server.looks, stage.server.lists
            await eventually(lambda: stage.server.lists >= lists + 5)
            return {*(stage.server.looks - before)} <= {"w0"}

        # What a list has found before it was known to wait, it leads to a look of.
        await eventually(costs_nothing)
        await run.exit(0)
        for name in names[1:]:
            await stage.finish(f"{name}-0")
        await stage.reaches("w29", SUCCEEDED)


async def test_an_action_that_ends_while_all_stops_is_cleared_up_and_followed_by_none(stage: Stage) -> None:
    async def answer_never(call: ReceivedCall) -> None:
        if said(call) == ("w-0", SUCCEEDED):
            stage.server.on_call = None
            is_asked.set()
            await asyncio.Event().wait()

    is_asked = asyncio.Event()
    stage.server.on_call = answer_never
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.finish("w-0")
        await is_asked.wait()
    assert stage.server.states("w") == [SUCCEEDED, State.PENDING]
    assert not stage.world.runs
