"""Reports move actions and workflows, exactly once, and become events in order."""

import asyncio
import itertools
import json
from typing import Any

import grpc
import pytest

from support import edge
from support.site import (
    CANCELLED,
    FAILED,
    ONE,
    PENDING,
    RUNNING,
    SUCCEEDED,
    TIMEOUT,
    TWO,
    UNKNOWN,
    Flow,
    Site,
    action,
    steps,
    task,
)
from tinkwell.api.v1 import workflow_service_pb2 as pb

FINAL_REPORTS = [SUCCEEDED, FAILED, TIMEOUT]


async def journal(flow: Flow) -> list[pb.WorkflowActionStatus]:
    request = pb.ShowWorkflowEventsRequest(id=flow.id)
    return [entry async for entry in flow.site.stub.ShowWorkflowEvents(request)]


async def test_a_workflow_that_succeeds(site: Site) -> None:
    flow = await site.create(steps(2))
    before = await site.last_revision()
    answers = [
        await flow.report(0, RUNNING),
        await flow.report(0, SUCCEEDED, exit_code=0),
        await flow.report(1, RUNNING),
        await flow.report(1, SUCCEEDED),
    ]
    assert await site.events(after=before) == [
        "workflow.started 2",
        "action.started[0] 2",
        "action.succeeded[0] 3",
        "workflow.inprogress 3",
        "action.started[1] 2",
        "action.succeeded[1] 3",
        "workflow.succeeded 4",
    ]
    revisions = [revision for revision, _, _ in await site.recorded(after=before)]
    assert [answer.revision for answer in answers] == [revisions[i] for i in (1, 3, 4, 6)]
    found = await flow.get()
    assert (found.state, found.completed_actions, found.cause) == (SUCCEEDED, 2, "")
    assert found.started_at.ToDatetime() <= found.finished_at.ToDatetime()
    first, second = await flow.current_actions()
    assert (first.attempt, first.exit_code, first.HasField("exit_code")) == (1, 0, True)
    assert not second.HasField("exit_code")
    assert first.finished_at.ToDatetime() <= second.started_at.ToDatetime()


@pytest.mark.parametrize(("state", "name"), [(FAILED, "failed"), (TIMEOUT, "timeout")])
async def test_a_workflow_that_does_not(site: Site, state: pb.State.ValueType, name: str) -> None:
    hooks = {"on-failure": ["sh", "-c", "f"], "on-timeout": ["sh", "-c", "t"]}
    actions = [action("a"), action("b", **hooks), action("c"), action("d")]
    flow = await site.create(task("install", *actions))
    await flow.succeed(0)
    await flow.report(1, RUNNING)
    before = await site.last_revision()
    answer = await flow.report(1, state, message="no space left", exit_code=28)
    assert await site.events(after=before) == [
        f"action.{name}[1] 3",
        "action.cancelled[2] 2",
        "action.cancelled[3] 2",
        f"workflow.{name} 4",
    ]
    *_, (revision, _, data) = await site.recorded(after=before)
    assert answer.revision == revision
    assert data["cause"] == {
        "reason": f"ACTION_{name.upper()}",
        "action_id": flow.actions[1].id,
        "action_index": 1,
        "task_name": "install",
        "action_name": "b",
        "worker_id": ONE,
        "message": "no space left",
        "exit_code": 28,
        "next": {f"on_{name.replace('failed', 'failure')}": ["sh", "-c", name[0]]},
    }
    found = await flow.get()
    assert json.loads(found.cause) == data["cause"]
    assert (found.state, found.completed_actions) == (state, 1)
    cancelled = (await flow.current_actions())[2]
    assert cancelled.message == f"not run, because action b of task install ended as {name.upper()}"
    assert cancelled.attempt == 0
    assert cancelled.HasField("finished_at")


async def test_the_journal_holds_what_was_accepted_and_nothing_else(site: Site) -> None:
    flow = await site.create(steps(2))
    await flow.report(0, RUNNING, message="Started execution")
    await flow.report(0, RUNNING, message="Started execution")
    await flow.refused(1, RUNNING)
    await flow.report(0, FAILED, message="boom", seconds=1.5, exit_code=-9)
    await flow.report(0, FAILED, message="boom again")
    entries = await journal(flow)
    assert [(e.state, e.message, e.seconds, e.exit_code) for e in entries] == [
        (RUNNING, "Started execution", 0, 0),
        (FAILED, "boom", 1.5, -9),
    ]
    first = entries[0]
    assert (first.workflow_id, first.action_id) == (flow.id, flow.actions[0].id)
    assert (first.task_name, first.action_name, first.worker_id) == ("install", "step-0", ONE)
    assert (first.attempt, first.HasField("exit_code")) == (1, False)
    assert first.HasField("created_at")


async def test_the_action_may_be_named_by_task_and_action(site: Site) -> None:
    flow = await site.create(task("a", action("x")), task("b", action("x")))
    names = {"action_id": "", "task_name": "a", "action_name": "x"}
    assert (await flow.report(0, RUNNING, **names)).attempt == 1
    assert await flow.states() == ["RUNNING", "RUNNING", "PENDING"]


@pytest.mark.parametrize("state", [RUNNING, *FINAL_REPORTS])
async def test_a_repeated_report_is_answered_and_changes_nothing(site: Site, state: pb.State.ValueType) -> None:
    flow = await site.create(steps(1))
    await flow.report(0, RUNNING)
    first = await flow.report(0, state, attempt=1)
    before = (await site.last_revision(), await journal(flow), await flow.current_actions())
    again = [await flow.report(0, state), await flow.report(0, state, attempt=1, message="late", exit_code=7)]
    assert [(answer.revision, answer.attempt) for answer in [first, *again]] == [(first.revision, 1), (0, 1), (0, 1)]
    assert (await site.last_revision(), await journal(flow), await flow.current_actions()) == before


async def test_a_late_report_never_changes_a_final_state(site: Site) -> None:
    for ended, late in itertools.permutations(FINAL_REPORTS, 2):
        flow = await site.create(steps(1))
        await flow.report(0, RUNNING)
        await flow.report(0, ended)
        before = await site.last_revision()
        for state in (late, RUNNING):
            told = await flow.refused(0, state)
            assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ILLEGAL_TRANSITION")
            assert told.metadata == {"subject": f"action {flow.actions[0].id}"}
        assert await site.last_revision() == before
        assert (await flow.get()).state == ended


async def test_an_action_starts_only_after_the_ones_before_it(site: Site) -> None:
    flow = await site.create(task("a", action("x")), task("b", action("y"), worker="{{.device_2}}"))
    for request in (flow.reported(1, RUNNING), flow.reported(1, SUCCEEDED), flow.reported(0, SUCCEEDED)):
        told = await edge.refused(site.stub.ReportActionStatus(request))
        assert told.code is grpc.StatusCode.FAILED_PRECONDITION
    await flow.report(0, RUNNING)
    assert (await flow.refused(1, RUNNING)).code is grpc.StatusCode.FAILED_PRECONDITION
    assert await flow.states() == ["RUNNING", "RUNNING", "PENDING"]


async def test_a_start_after_the_last_action_is_refused_and_the_server_goes_on(site: Site) -> None:
    flow = await site.create(steps(1))
    await flow.succeed(0)
    assert (await flow.refused(0, RUNNING)).code is grpc.StatusCode.FAILED_PRECONDITION
    assert await flow.states() == ["SUCCEEDED", "SUCCEEDED"]


async def test_a_report_about_another_attempt_is_stale(site: Site) -> None:
    flow = await site.create(steps(1))
    assert (await flow.refused(0, RUNNING, attempt=2)).code is grpc.StatusCode.FAILED_PRECONDITION
    await flow.report(0, RUNNING, attempt=1)
    for state in (RUNNING, SUCCEEDED):
        assert (await flow.refused(0, state, attempt=2)).code is grpc.StatusCode.FAILED_PRECONDITION


async def test_only_the_worker_of_the_action_may_report(site: Site) -> None:
    flow = await site.create(steps(1))
    told = await flow.refused(0, RUNNING, worker_id=TWO)
    assert (told.code, told.reason) == (grpc.StatusCode.PERMISSION_DENIED, "WRONG_WORKER")
    assert told.metadata == {"worker_id": TWO, "expected": ONE}
    assert await flow.states() == ["PENDING", "PENDING"]


async def test_an_upper_case_worker_is_the_same_worker(site: Site) -> None:
    flow = await site.create(steps(1))
    await flow.report(0, RUNNING, worker_id=ONE.upper())


# What is wrong about a report, and the fields that are named for it.
MALFORMED: list[tuple[dict[str, Any], list[str]]] = [
    ({"state": PENDING}, ["state"]),
    ({"state": CANCELLED}, ["state"]),
    ({"state": pb.STATE_UNSPECIFIED}, ["state"]),
    ({"workflow_id": ""}, ["workflow_id"]),
    ({"workflow_id": "x"}, ["workflow_id"]),
    ({"worker_id": ""}, ["worker_id"]),
    ({"worker_id": "52:54:00:10:00:0a"}, ["worker_id"]),
    ({"action_id": "x"}, ["action_id"]),
    ({"action_id": ""}, ["action_id"]),
    ({"action_id": "", "task_name": "install"}, ["action_id"]),
    ({"action_id": "", "action_name": "step-0"}, ["action_id"]),
    ({"task_name": "other"}, ["task_name"]),
    ({"action_name": "other"}, ["action_name"]),
    ({"message": "x" * 1_001}, ["message"]),
    ({"message": "a\0b"}, ["message"]),
    ({"attempt": -1}, ["attempt"]),
    ({"attempt": 2**31}, ["attempt"]),
    ({"seconds": -0.5}, ["seconds"]),
    ({"seconds": float("nan")}, ["seconds"]),
    ({"seconds": float("inf")}, ["seconds"]),
    ({"exit_code": 2**32}, ["exit_code"]),
    ({"exit_code": -(2**63)}, ["exit_code"]),
    ({"worker_id": "", "message": "\0", "seconds": -1}, ["worker_id", "message", "seconds"]),
]


async def test_a_malformed_report_is_refused_before_anything_changes(site: Site) -> None:
    flow = await site.create(steps(1))
    before = await site.last_revision()
    good = {"workflow_id": flow.id, "action_id": flow.actions[0].id, "worker_id": ONE, "state": RUNNING}
    for wrong, fields in MALFORMED:
        told = await edge.refused(site.stub.ReportActionStatus(pb.ReportActionStatusRequest(**{**good, **wrong})))
        assert (wrong, told.code, list(told.fields)) == (wrong, grpc.StatusCode.INVALID_ARGUMENT, fields)
    assert await site.last_revision() == before
    assert await journal(flow) == []


async def test_a_report_about_nothing_is_not_found(site: Site) -> None:
    flow = await site.create(steps(1))
    good = {"workflow_id": flow.id, "action_id": flow.actions[0].id, "worker_id": ONE, "state": RUNNING}
    for wrong, missing in (
        ({"workflow_id": UNKNOWN}, "WORKFLOW"),
        ({"action_id": UNKNOWN}, "ACTION"),
        ({"action_id": "", "task_name": "install", "action_name": "other"}, "ACTION"),
    ):
        request = pb.ReportActionStatusRequest(**{**good, **wrong})  # type: ignore[arg-type] # one type for all values
        told = await edge.refused(site.stub.ReportActionStatus(request))
        assert (told.code, told.metadata["resource_type"]) == (grpc.StatusCode.NOT_FOUND, missing)


async def test_an_action_of_another_workflow_is_not_found(site: Site) -> None:
    flow, other = await site.create(steps(1)), await site.create(steps(1))
    told = await flow.refused(0, RUNNING, action_id=other.actions[0].id)
    assert told.code is grpc.StatusCode.NOT_FOUND


async def test_a_report_about_a_deleted_workflow_is_not_found(site: Site) -> None:
    flow = await site.create(steps(1))
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))
    assert (await flow.refused(0, RUNNING)).code is grpc.StatusCode.NOT_FOUND


async def test_a_long_message_of_wide_characters_is_taken(site: Site) -> None:
    flow = await site.create(steps(1))
    message = "\x1b[31m✗" * 166
    await flow.report(0, RUNNING, message=message)
    assert (await flow.current_actions())[0].message == message


async def test_an_action_has_the_nearer_of_its_own_and_the_workflows_deadline(site: Site) -> None:
    for global_timeout, timeout, expected in ((0, 0, None), (0, 60, 60), (60, 0, 60), (600, 60, 60), (60, 600, 60)):
        flow = await site.create(task("t", action("a", timeout=timeout)), global_timeout=global_timeout)
        answer = await flow.report(0, RUNNING)
        again = await flow.report(0, RUNNING)
        (found,) = await flow.current_actions()
        for item in (answer, again, found):
            assert item.HasField("remaining_seconds") == (expected is not None)
            if expected is not None:
                assert expected - 30 < item.remaining_seconds <= expected
        done = await flow.report(0, SUCCEEDED)
        assert not done.HasField("remaining_seconds")
        assert not (await flow.current_actions())[0].HasField("remaining_seconds")


async def test_a_timeout_names_the_limit_that_passed_first(site: Site) -> None:
    for workflow_left, started_ago, reason in (
        (-1, 5, "GLOBAL_TIMEOUT"),
        (100, 5, "ACTION_TIMEOUT"),
        (-20, 65, "GLOBAL_TIMEOUT"),
        (-1, 65, "ACTION_TIMEOUT"),
    ):
        flow = await site.create(task("t", action("a", timeout=60)), global_timeout=600)
        await flow.report(0, RUNNING)
        await site.sql.execute("UPDATE workflow SET deadline_at = now() + make_interval(secs => $1)", workflow_left)
        await site.sql.execute("UPDATE action SET started_at = now() - make_interval(secs => $1)", started_ago)
        await flow.report(0, TIMEOUT)
        assert json.loads((await flow.get()).cause)["reason"] == reason


async def test_an_action_that_starts_after_the_workflows_deadline_has_no_time_left(site: Site) -> None:
    flow = await site.create(steps(2), global_timeout=600)
    await flow.succeed(0)
    await site.sql.execute("UPDATE workflow SET deadline_at = now() - interval '5 s'")
    assert (await flow.report(1, RUNNING)).remaining_seconds < -4
    await flow.report(1, TIMEOUT)
    assert json.loads((await flow.get()).cause)["reason"] == "GLOBAL_TIMEOUT"


async def test_an_attempt_after_a_retry_starts_afresh(site: Site) -> None:
    flow = await site.create(steps(1))
    await flow.report(0, RUNNING, message="first")
    before = await site.last_revision()
    await site.sql.execute("UPDATE action SET state = 'PENDING', exit_code = 3, retries = 1")
    assert (await flow.refused(0, RUNNING, attempt=1)).code is grpc.StatusCode.FAILED_PRECONDITION
    answer = await flow.report(0, RUNNING, attempt=2)
    (found,) = await flow.current_actions()
    assert (answer.attempt, found.attempt, found.message, found.HasField("exit_code")) == (2, 2, "", False)
    assert (await flow.refused(0, SUCCEEDED, attempt=1)).code is grpc.StatusCode.FAILED_PRECONDITION
    assert await site.events(after=before) == ["action.retrying[0] 3", "action.started[0] 4"]


async def test_of_twenty_identical_reports_at_once_one_changes_something_and_all_are_answered(site: Site) -> None:
    flow = await site.create(steps(1))
    for state in (RUNNING, SUCCEEDED):
        answers = await asyncio.gather(*(flow.report(0, state) for _ in range(20)))
        assert sorted(answer.revision > 0 for answer in answers) == [False] * 19 + [True]
        assert {answer.attempt for answer in answers} == {1}
    assert len(await journal(flow)) == 2


async def test_of_conflicting_reports_at_once_one_wins(site: Site) -> None:
    for _ in range(5):
        flow = await site.create(steps(2))
        await flow.report(0, RUNNING)
        before = await site.last_revision()
        calls = [flow.report(0, state) for state in FINAL_REPORTS for _ in range(3)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        changed = [a for a in answers if isinstance(a, pb.ReportActionStatusResponse) and a.revision]
        assert len(changed) == 1
        for answer in answers:
            if isinstance(answer, grpc.aio.AioRpcError):
                assert answer.code() is grpc.StatusCode.FAILED_PRECONDITION
        events = await site.events(after=before)
        assert len([event for event in events if event.startswith("action.")]) in (1, 2)
        workflow, first, second = await flow.states()
        assert (workflow, second) == (("RUNNING", "PENDING") if first == "SUCCEEDED" else (first, "CANCELLED"))
        await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))


async def test_reports_about_many_workflows_at_once_do_not_disturb_each_other(site: Site) -> None:
    machines = [await site.add_machine() for _ in range(8)]
    flows = [await site.create(steps(3), hardware=json.dumps({"device_1": machine})) for machine in machines]
    await asyncio.gather(*(flow.succeed(0, 1, 2) for flow in flows))
    for flow in flows:
        assert await flow.states() == ["SUCCEEDED"] * 4
