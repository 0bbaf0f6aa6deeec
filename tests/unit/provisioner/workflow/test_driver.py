"""The driver and the agent, on a server and a runtime in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from unit.provisioner.stage import Stage, action, key_of, said

from support.together import together
from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.client.workflow.model import Action
from tinkwell.core import errors as core_errors
from tinkwell.core.event.kinds import EventType, State
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.workflow import driver

RUNNING, SUCCEEDED, FAILED, TIMEOUT, CANCELLED = (
    State.RUNNING,
    State.SUCCEEDED,
    State.FAILED,
    State.TIMEOUT,
    State.CANCELLED,
)


async def test_actions_run_in_order_over_several_workers(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action("m-1"), action("m-2"), action("m-1"))
        for index in range(3):
            await stage.run_of(f"w-{index}")
            assert stage.server.states("w")[index:] == [RUNNING] + [State.PENDING] * (2 - index)
            await stage.finish(f"w-{index}")
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    assert stage.server.reports == [(f"w-{i}", state) for i in range(3) for state in (RUNNING, SUCCEEDED)]


async def test_what_was_unfinished_before_the_start_is_found(stage: Stage) -> None:
    stage.server.add_workflow("w", action())
    async with stage.provisioner():
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)


async def test_the_run_is_what_the_action_says(stage: Stage) -> None:
    fields: dict[str, Any] = {"command": ("a", "b c"), "volumes": ("/a:/b",), "pid": "host"}
    async with stage.provisioner():
        stage.server.add_workflow("w", action(**fields))
        spec = (await stage.run_of("w-0")).spec
    assert {name: getattr(spec, name) for name in fields} == fields
    assert spec.image == "image"
    assert spec.labels == {"worker": "m-1", "task": "task", "name": "step"}


async def test_a_failing_action_fails_the_workflow_and_nothing_follows(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.finish("w-0", code=3)
        await stage.reaches("w", FAILED)
        await stage.is_clear()
    assert stage.server.states("w") == [FAILED, CANCELLED]
    failed = stage.server.rows["w"][0]
    assert (failed.exit_code, failed.message) == (3, "exited with code 3")
    assert list(stage.world.starts) == [key_of("w-0")]


async def test_an_attempt_that_fails_is_repeated_when_it_is_due(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(retries=1, retry_delay_seconds=2), action())
        await (await stage.run_of("w-0")).exit(3)
        await eventually(lambda: stage.server.rows["w"][0].retry_at is not None)
        due = stage.server.rows["w"][0].retry_at
        again = await stage.run_of("w-0", 2)
        assert due is not None
        assert stage.server.clock.now() >= due
        await again.exit(0)
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    assert list(stage.world.starts) == [
        key_of("w-0"),
        key_of("w-0", 2),
        key_of("w-1"),
    ]


async def test_a_workflow_that_waits_for_an_attempt_can_be_cancelled(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(retries=1, retry_delay_seconds=1000))
        await (await stage.run_of("w-0")).exit(3)
        await eventually(lambda: stage.server.rows["w"][0].retry_at is not None)
        stage.server.cancel("w")
        await stage.reaches("w", CANCELLED)
        await stage.is_clear()
    assert list(stage.world.starts) == [key_of("w-0")]


async def test_neither_a_failure_nor_hours_end_a_provisioner(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("first", action())
        await stage.finish("first-0", code=3)
        await stage.reaches("first", FAILED)
        loop = asyncio.get_running_loop()
        clock = loop.time
        # Whatever would end it after a time, ends it now.
        monkeypatch.setattr(loop, "time", lambda: clock() + 100 * 3600)
        await stage.rest()
        stage.server.add_workflow("second", action())
        await stage.finish("second-0")
        await stage.reaches("second", SUCCEEDED)


async def test_a_worker_that_is_not_served_is_left_alone(stage: Stage) -> None:
    async with stage.provisioner(serves={"m-1"}):
        stage.server.add_workflow("theirs", action("m-2"), action("m-1"))
        stage.server.add_workflow("ours", action("m-1"))
        await stage.finish("ours-0")
        await stage.reaches("ours", SUCCEEDED)
        assert stage.server.states("theirs") == [State.PENDING, State.PENDING]
        await stage.report("theirs-0", "m-2", RUNNING)
        await stage.report("theirs-0", "m-2", SUCCEEDED)
        await stage.finish("theirs-1")
        await stage.reaches("theirs", SUCCEEDED)


async def test_a_deadline_ends_a_workflow_whose_next_worker_never_comes(stage: Stage) -> None:
    async with stage.provisioner(serves={"m-1"}):
        stage.server.add_workflow("w", action("m-1"), action("m-2"), global_timeout_seconds=60)
        await stage.finish("w-0")
        await eventually(lambda: stage.server.states("w")[0] is SUCCEEDED)
        stage.server.clock.advance(60)
        stage.server.lose_history()
        await stage.reaches("w", TIMEOUT)
        assert stage.server.states("w") == [SUCCEEDED, CANCELLED]


async def test_a_workflow_without_served_workers_costs_one_look(stage: Stage) -> None:
    def looks() -> list[str]:
        return [request.id for request in stage.server.requests("GetWorkflowContext") if request.id == "theirs"]

    async with stage.provisioner(serves={"m-1"}) as worker:
        stage.server.add_workflow("theirs", action("m-2"))
        await eventually(lambda: "theirs" in worker._foreign)
        await stage.rest()
        before = looks()
        for _ in range(20):
            stage.server.notify("theirs", EventType.UPDATED)
        stage.server.add_workflow("ours", action("m-1"))
        await stage.run_of("ours-0")
    assert before == looks() == ["theirs"]


async def test_nothing_is_started_before_running_is_reported(stage: Stage) -> None:
    stage.server.add_workflow("w", action())
    async with stage.provisioner():
        await stage.run_of("w-0")
        assert stage.server.reports == [("w-0", RUNNING)]


async def test_an_action_that_may_not_begin_is_not_started_and_not_tried_at_once_again(stage: Stage) -> None:
    refused: list[str] = []

    async def refuse(call: ReceivedCall) -> None:
        if said(call) is not None:
            refused.append(call.request.workflow_id)
            raise core_errors.IllegalTransition("action", "it may not run")

    stage.server.on_call = refuse
    async with stage.provisioner():
        await stage.has_begun()
        for name in ("w", "other"):
            stage.server.add_workflow(name, action())
            await eventually(lambda: name in refused)  # noqa: B023  (it ends in this turn)
        await stage.rest()
    assert refused == ["w", "other"]
    assert not stage.world.starts


async def test_cancelling_a_workflow_stops_its_run(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        run = await stage.run_of("w-0")
        stage.server.cancel("w")
        await stage.is_clear()
        assert run.ending is not None
    assert stage.server.states("w") == [CANCELLED, CANCELLED]
    assert stage.server.reports == [("w-0", RUNNING)]


async def test_deleting_a_workflow_stops_its_run_and_forgets_its_files(stage: Stage) -> None:
    stage.files.kept = {"w"}
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.run_of("w-0")
        assert stage.files.kept == {"w"}
        stage.server.delete("w")
        await stage.is_clear()
        await eventually(lambda: not stage.files.kept)


async def test_cancelling_stops_a_run_that_is_only_about_to_start(stage: Stage) -> None:
    stage.runtime.may_start.clear()
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await eventually(lambda: stage.server.states("w") == [RUNNING])
        stage.server.cancel("w")
        stage.server.add_workflow("next", action())
        await eventually(lambda: stage.server.states("next") == [RUNNING])
        stage.runtime.may_start.set()
        await stage.finish("next-0")
        await stage.reaches("next", SUCCEEDED)
        await stage.is_clear()
    assert key_of("w-0") not in stage.world.starts


async def test_a_run_is_killed_at_its_deadline(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(timeout_seconds=1), action())
        run = await stage.run_of("w-0")
        await run.write("still here\n")
        await stage.reaches("w", TIMEOUT)
        await stage.is_clear()
        assert run.ending is not None
    assert stage.server.states("w") == [TIMEOUT, CANCELLED]
    assert stage.server.texts("w-0") == ["still here"]
    assert stage.server.rows["w"][0].exit_code is None


async def test_a_timeout_does_not_wait_for_output_that_the_server_does_not_take(stage: Stage) -> None:
    stage.server.takes_logs.clear()
    async with stage.provisioner():
        stage.server.add_workflow("w", action(timeout_seconds=1))
        await (await stage.run_of("w-0")).write("late\n")
        await stage.reaches("w", TIMEOUT)
        stage.server.takes_logs.set()
        await stage.is_clear()
    assert stage.server.texts("w-0") == ["late"]


async def test_the_deadline_holds_for_the_start_too(stage: Stage) -> None:
    stage.runtime.may_start.clear()
    async with stage.provisioner():
        stage.server.add_workflow("w", action(timeout_seconds=1))
        await stage.reaches("w", TIMEOUT)
    assert not stage.world.starts


async def test_a_run_that_cannot_start_fails_its_action(stage: Stage) -> None:
    stage.runtime.failures["image"] = port.RunError(port.Reason.IMAGE, "there is no such image")
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.reaches("w", FAILED)
    failed = stage.server.rows["w"][0]
    assert (failed.message, failed.exit_code) == ("there is no such image", None)


async def test_a_report_is_repeated_until_the_server_is_back(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        stage.server.is_away = True
        await run.write("unheard\n")
        await run.exit(0)
        before = len(stage.server.calls)
        await eventually(lambda: len(stage.server.calls) > before + 3)
        assert stage.server.states("w") == [RUNNING]
        stage.server.is_away = False
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    assert stage.server.texts("w-0") == ["unheard"]


async def test_a_lost_answer_does_not_count_twice(stage: Stage) -> None:
    stage.server.loses_answers = 2
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    assert stage.server.reports == [("w-0", RUNNING), ("w-0", SUCCEEDED)]
    assert stage.world.starts[key_of("w-0")] == 1


async def test_a_report_that_comes_too_late_only_clears_up(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        run = await stage.run_of("w-0")
        stage.server.log.pause()
        stage.server.cancel("w")
        await run.exit(0)
        await stage.is_clear()
    assert stage.server.states("w") == [CANCELLED]


async def test_what_cannot_be_removed_after_its_end_is_removed_once_it_can_and_holds_nothing_up(stage: Stage) -> None:
    stage.world.unremovable.add(key_of("w-0"))
    async with stage.provisioner(resync_seconds=0.05):
        stage.server.add_workflow("w", action(), action())
        await stage.finish("w-0")
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
        await eventually(lambda: stage.world.runs.keys() == {key_of("w-0")})
        stage.world.unremovable.clear()
        await stage.is_clear()


async def test_doubled_events_start_nothing_twice(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        for _ in range(50):
            stage.server.notify("w", EventType.UPDATED)
        await stage.run_of("w-0")
        for _ in range(50):
            stage.server.notify("w", EventType.UPDATED)
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)
        await stage.is_clear()
    assert set(stage.world.starts.values()) == {1}


async def test_lost_history_means_listing_again(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.has_begun()
        stage.server.log.pause()
        stage.server.add_workflow("unheard", action())
        stage.server.lose_history()
        await stage.run_of("unheard-0")


async def test_a_change_without_an_event_is_found_by_the_next_list(stage: Stage) -> None:
    async with stage.provisioner(resync_seconds=0.02):
        stage.server.add_workflow("w", action())
        await stage.run_of("w-0")
        stage.server.log.pause()
        stage.server.cancel("w")
        await stage.is_clear()


async def test_at_most_so_many_actions_run_at_once_and_all_get_their_turn(stage: Stage) -> None:
    names = [f"w{number}" for number in range(10)]
    for name in names:
        stage.server.add_workflow(name, action())
    async with stage.provisioner(concurrency=3):
        for _ in names:
            await eventually(lambda: bool(stage.world.running))
            await stage.world.runs[stage.world.running[0]].exit(0)
        for name in names:
            await stage.reaches(name, SUCCEEDED)
    assert stage.world.peak <= 3


async def test_adopted_runs_do_not_wait_for_a_place(stage: Stage) -> None:
    names = [f"w{number}" for number in range(4)]
    async with stage.provisioner():
        for name in names:
            stage.server.add_workflow(name, action(f"machine of {name}"))
            await stage.run_of(f"{name}-0")
    async with stage.provisioner(concurrency=1):
        for name in reversed(names):
            await stage.finish(f"{name}-0")
            await stage.reaches(name, SUCCEEDED)


async def test_workflows_that_the_server_fails_on_do_not_hold_up_the_others(stage: Stage) -> None:
    async def fail(call: ReceivedCall) -> None:
        if call.method == "GetWorkflowContext" and call.request.id.startswith("broken"):
            raise core_errors.TinkwellError("a bug")

    stage.server.on_call = fail
    async with stage.provisioner():
        for number in range(2 * driver.LOOKERS):
            stage.server.add_workflow(f"broken{number}", action())
        stage.server.add_workflow("w", action())
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)


async def test_files_go_with_success_and_stay_after_failure(stage: Stage) -> None:
    stage.files.kept = {"good", "bad", "gone"}
    for name in ("good", "bad"):
        stage.server.add_workflow(name, action(f"machine of {name}"))
    async with stage.provisioner():
        await stage.finish("good-0", code=0)
        await stage.finish("bad-0", code=1)
        await stage.reaches("bad", FAILED)
        await eventually(lambda: stage.files.kept == {"bad"})


async def test_a_workflow_begins_by_the_events_of_its_creation_without_a_question(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.has_begun()
        stage.server.add_workflow("w", action(), action())
        await stage.run_of("w-0")
        assert stage.server.looks["w"] == 0


async def test_a_workflow_that_has_succeeded_here_is_not_asked_about_any_more(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[State]()
    around = stage.server.pass_through

    async def answer_after_the_events(call: ReceivedCall, answer: Callable[[], Awaitable[Any]]) -> Any:
        if call.method == "GetWorkflowContext":
            seen.append(stage.server.workflows[call.request.id])
        response = await around(call, answer)
        if said(call) == ("w-1", SUCCEEDED):
            await stage.rest()
        return response

    monkeypatch.setattr(stage.server.gate, "around", answer_after_the_events)
    stage.server.add_workflow("w", action(), action())
    stage.files.kept = {"w"}
    async with stage.provisioner() as worker:
        await stage.finish("w-0")
        await stage.run_of("w-1")
        await stage.rest()
        await stage.finish("w-1")
        await eventually(lambda: not stage.files.kept and not worker._roster.jobs)
    assert State.RUNNING in seen
    assert SUCCEEDED not in seen


async def test_one_broken_job_does_not_take_the_others_down(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.runtime.failures["broken"] = ZeroDivisionError("a bug")
    async with stage.provisioner(resync_seconds=0.05):
        stage.server.add_workflow("broken", Action("", worker_id="m-1", image="broken"))
        stage.server.add_workflow("w", action())
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)
        await stage.reaches("broken", FAILED)
    assert "a job failed" in caplog.text


async def test_a_server_that_does_not_know_us_ends_the_provisioner(stage: Stage) -> None:
    stage.server.add_workflow("w", action())
    async with stage.connect() as server:
        stage.server.gate.token = "another"
        with pytest.raises(ExceptionGroup) as caught:
            await together(*(each.run for each in stage.make(server)))
    assert caught.group_contains(errors.Unauthenticated)
