"""What the driver does without a look: an action follows another one in its place."""

import asyncio

import pytest
from unit.provisioner.stage import Stage, action

from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.client.workflow.model import Reported
from tinkwell.core.event.kinds import EventType, State

RUNNING, SUCCEEDED = State.RUNNING, State.SUCCEEDED


async def test_a_workflow_of_many_actions_costs_no_look_for_each(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", *(action() for _ in range(20)))
        for index in range(20):
            await stage.finish(f"w-{index}")
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    # Two reports for each action; the rest is what the workflow as a whole costs.
    assert stage.server.calls <= 2 * 20 + 12


async def test_an_end_and_the_start_that_follows_go_by_one_call(stage: Stage) -> None:
    async with stage.provisioner(concurrency=1):
        stage.server.add_workflow("w", *(action() for _ in range(3)))
        for index in range(3):
            await stage.finish(f"w-{index}")
        await stage.reaches("w", SUCCEEDED)
    ends = [("w-0", SUCCEEDED), ("w-1", RUNNING)], [("w-1", SUCCEEDED), ("w-2", RUNNING)]
    assert [call for call in stage.server.together if len(call) > 1] == list(ends)


async def test_nothing_follows_what_the_server_does_not_take_for_a_success(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = stage.server.report

    async def cancel_first(workflow_id: str, **fields: object) -> Reported:
        if fields["state"] is SUCCEEDED:
            stage.server.cancel(workflow_id)
        return await report(workflow_id, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr(stage.server, "report", cancel_first)
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


async def test_an_action_that_cannot_follow_at_once_is_begun_when_it_can(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = stage.server.report
    refused: list[str] = []

    async def refuse_once(workflow_id: str, **fields: object) -> Reported:
        if (fields["action_id"], fields["state"]) == ("w-1", RUNNING) and not refused:
            refused.append(workflow_id)
            raise errors.IllegalTransition
        return await report(workflow_id, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr(stage.server, "report", refuse_once)
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.finish("w-0")
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    assert refused == ["w"]


async def test_an_action_that_follows_waits_behind_a_workflow_that_has_waited_for_a_place(stage: Stage) -> None:
    async with stage.provisioner(concurrency=1):
        stage.server.add_workflow("w", action("m-1"), action("m-1"))
        await stage.run_of("w-0")
        stage.server.add_workflow("other", action("m-2"))
        for _ in range(100):
            await asyncio.sleep(0)
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
        await eventually(lambda: stage.server.looks["w29"] > 0)
        before, lists = dict(stage.server.looks), stage.server.lists
        await eventually(lambda: stage.server.lists >= lists + 5)
        assert {name: stage.server.looks[name] for name in names[1:]} == {name: before[name] for name in names[1:]}
        await run.exit(0)
        for name in names[1:]:
            await stage.finish(f"{name}-0")
        await stage.reaches("w29", SUCCEEDED)


async def test_an_action_that_ends_while_all_stops_is_cleared_up_and_followed_by_none(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = stage.server.report

    def has_stopped() -> bool:
        return not any(task.get_name() == "watch" for task in asyncio.all_tasks())

    async def answer_late(workflow_id: str, **fields: object) -> Reported:
        if fields["state"] is SUCCEEDED:
            is_asked.set()
            await eventually(has_stopped)
        return await report(workflow_id, **fields)  # type: ignore[arg-type]

    is_asked = asyncio.Event()
    monkeypatch.setattr(stage.server, "report", answer_late)
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.finish("w-0")
        await is_asked.wait()
    assert stage.server.states("w") == [SUCCEEDED, State.PENDING]
    assert not stage.world.runs
