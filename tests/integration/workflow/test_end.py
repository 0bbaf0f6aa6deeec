"""Workflows are cancelled and deleted."""

import asyncio
import json
from collections.abc import Awaitable

import grpc
import pytest

from support import edge
from support.site import CANCELLED, FAILED, ONE, RUNNING, SUCCEEDED, TIMEOUT, UNKNOWN, Flow, Site, steps
from tinkwell.api.v1 import workflow_service_pb2 as pb


async def cancel(flow: Flow, reason: str = "") -> int:
    answer = await flow.site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id, reason=reason))
    return answer.revision


async def delete(flow: Flow) -> int:
    return (await flow.site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))).revision


async def test_cancelling_a_running_workflow_ends_its_actions_first(site: Site) -> None:
    flow = await site.create(steps(3))
    await flow.succeed(0)
    await flow.report(1, RUNNING)
    before = await site.last_revision()
    revision = await cancel(flow, "the rack burns")
    assert await site.events(after=before) == [
        "action.cancelled[1] 3",
        "action.cancelled[2] 2",
        "workflow.cancelled 4",
    ]
    assert revision == await site.last_revision()
    found = await flow.get()
    assert (found.state, found.completed_actions) == (CANCELLED, 1)
    assert json.loads(found.cause) == {
        "reason": "CANCELLED",
        "message": "the rack burns",
        "action_id": flow.actions[1].id,
        "action_index": 1,
        "task_name": "install",
        "action_name": "step-1",
        "worker_id": ONE,
    }
    assert [action.message for action in await flow.current_actions()] == ["", "the rack burns", "the rack burns"]


async def test_cancelling_a_workflow_that_has_not_begun(site: Site) -> None:
    flow = await site.create(steps(1))
    before = await site.last_revision()
    await cancel(flow)
    assert await site.events(after=before) == ["action.cancelled[0] 2", "workflow.cancelled 2"]
    assert json.loads((await flow.get()).cause) == {"reason": "CANCELLED", "message": "the workflow was cancelled"}


async def test_cancelling_twice_changes_nothing(site: Site) -> None:
    flow = await site.create(steps(1))
    await cancel(flow, "first")
    before = await site.last_revision()
    assert await cancel(flow, "second") == 0
    assert await site.last_revision() == before
    assert json.loads((await flow.get()).cause)["message"] == "first"


@pytest.mark.parametrize("state", [SUCCEEDED, FAILED, TIMEOUT])
async def test_a_workflow_that_has_ended_otherwise_is_not_cancelled(site: Site, state: pb.State.ValueType) -> None:
    flow = await site.create(steps(1))
    await flow.report(0, RUNNING)
    await flow.report(0, state)
    told = await edge.refused(site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id)))
    assert (told.code, told.metadata) == (grpc.StatusCode.FAILED_PRECONDITION, {"subject": f"workflow {flow.id}"})
    assert (await flow.get()).state == state


async def test_a_report_about_a_cancelled_action_is_refused(site: Site) -> None:
    flow = await site.create(steps(1))
    await flow.report(0, RUNNING)
    await cancel(flow)
    for state in (RUNNING, SUCCEEDED, FAILED):
        assert (await flow.refused(0, state)).code is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize("reason", ["x" * 1_001, "a\0b", "\x1b[2J"])
async def test_a_reason_that_does_harm_is_refused(site: Site, reason: str) -> None:
    flow = await site.create(steps(1))
    told = await edge.refused(site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id, reason=reason)))
    assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, ["reason"])


async def test_deleting_an_unfinished_workflow_cancels_it_first(site: Site) -> None:
    flow = await site.create(steps(2))
    await flow.report(0, RUNNING)
    before = await site.last_revision()
    revision = await delete(flow)
    assert await site.events(after=before) == [
        "action.cancelled[0] 3",
        "action.cancelled[1] 2",
        "workflow.cancelled 3",
        "workflow.deleted 4",
    ]
    *_, (last, _, data) = await site.recorded(after=before)
    assert revision == last
    assert (data["state"], "deleted_at" in data) == ("CANCELLED", True)


async def test_deleting_a_finished_workflow_only_deletes_it(site: Site) -> None:
    flow = await site.create(steps(1))
    await flow.succeed(0)
    before = await site.last_revision()
    await delete(flow)
    assert await site.events(after=before) == ["workflow.deleted 4"]


async def test_what_is_deleted_is_gone_but_for_its_journal(site: Site) -> None:
    flow = await site.create(steps(1))
    await flow.report(0, RUNNING)
    await delete(flow)
    stub = site.stub
    calls: list[Awaitable[object]] = [
        stub.GetWorkflow(pb.GetWorkflowRequest(id=flow.id)),
        stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id)),
        stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id)),
        stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=flow.id)),
        stub.GetWorkflowContext(pb.GetWorkflowContextRequest(id=flow.id)),
    ]
    for call in calls:
        told = await edge.refused(call)
        assert told.code is grpc.StatusCode.NOT_FOUND
        assert told.metadata == {"resource_type": "WORKFLOW", "resource_id": flow.id}
    assert [found async for found in stub.ListWorkflows(pb.ListWorkflowsRequest())] == []
    entries = [entry async for entry in stub.ShowWorkflowEvents(pb.ShowWorkflowEventsRequest(id=flow.id))]
    assert [entry.state for entry in entries] == [RUNNING]


async def test_the_journal_outlives_even_the_row(site: Site) -> None:
    flow = await site.create(steps(1))
    await flow.report(0, RUNNING)
    await site.sql.execute("DELETE FROM workflow")
    entries = [entry async for entry in site.stub.ShowWorkflowEvents(pb.ShowWorkflowEventsRequest(id=flow.id))]
    assert len(entries) == 1


async def test_the_journal_of_a_workflow_without_reports_is_empty(site: Site) -> None:
    flow = await site.create(steps(1))
    request = pb.ShowWorkflowEventsRequest(id=flow.id)
    assert [entry async for entry in site.stub.ShowWorkflowEvents(request)] == []
    await delete(flow)
    assert [entry async for entry in site.stub.ShowWorkflowEvents(request)] == []


async def test_an_id_of_nothing(site: Site) -> None:
    stub = site.stub
    for workflow_id, code in ((UNKNOWN, "NOT_FOUND"), ("x", "INVALID_ARGUMENT"), ("", "INVALID_ARGUMENT")):
        calls: list[Awaitable[object]] = [
            stub.GetWorkflow(pb.GetWorkflowRequest(id=workflow_id)),
            stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=workflow_id)),
            stub.CancelWorkflow(pb.CancelWorkflowRequest(id=workflow_id)),
            stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=workflow_id)),
            stub.GetWorkflowContext(pb.GetWorkflowContextRequest(id=workflow_id)),
            stub.ShowWorkflowEvents(pb.ShowWorkflowEventsRequest(id=workflow_id)).read(),
        ]
        for call in calls:
            told = await edge.refused(call)
            assert told.code is grpc.StatusCode[code]
            if code == "INVALID_ARGUMENT":
                assert list(told.fields) in (["id"], ["workflow_id"])


async def test_cancelling_a_thousand_actions_tells_of_each_in_order(site: Site) -> None:
    flow = await site.create(steps(1_000))
    before = await site.last_revision()
    await cancel(flow)
    expected = [f"action.cancelled[{index}] 2" for index in range(1_000)]
    assert await site.events(after=before) == [*expected, "workflow.cancelled 2"]


async def test_a_cancellation_and_a_report_at_once_leave_a_consistent_end(site: Site) -> None:
    seen = set()
    for state in (SUCCEEDED, FAILED, TIMEOUT) * 4:
        flow = await site.create(steps(2))
        await flow.report(0, RUNNING)
        before = await site.last_revision()
        await asyncio.gather(cancel(flow), flow.report(0, state), return_exceptions=True)
        states = tuple(await flow.states())
        assert states in {
            ("CANCELLED", "CANCELLED", "CANCELLED"),
            ("CANCELLED", "SUCCEEDED", "CANCELLED"),
            ("FAILED", "FAILED", "CANCELLED"),
            ("TIMEOUT", "TIMEOUT", "CANCELLED"),
        }
        seen.add(states)
        events = await site.events(after=before)
        assert events[-1].startswith(f"workflow.{states[0].lower()}")
    assert seen


async def test_of_many_cancellations_and_deletions_at_once_each_happens_once(site: Site) -> None:
    flow = await site.create(steps(2))
    before = await site.last_revision()
    calls = [*(cancel(flow) for _ in range(5)), *(delete(flow) for _ in range(5))]
    await asyncio.gather(*calls, return_exceptions=True)
    assert await site.events(after=before) == [
        "action.cancelled[0] 2",
        "action.cancelled[1] 2",
        "workflow.cancelled 2",
        "workflow.deleted 3",
    ]
