"""Deadlines end workflows when anybody asks, by the database's clock."""

import json

import pytest

from support import edge
from support.site import ONE, RUNNING, SUCCEEDED, TIMEOUT, UNKNOWN, Flow, Site, action, steps, task
from tinkwell.api.v1 import workflow_service_pb2 as pb


async def expire(flow: Flow) -> pb.ExpireWorkflowResponse:
    return await flow.site.stub.ExpireWorkflow(pb.ExpireWorkflowRequest(id=flow.id))


async def let_pass(flow: Flow, seconds: int) -> None:
    """Move everything that a workflow has begun so far into the past."""
    for table, key in (("workflow", "id"), ("action", "workflow_id")):
        await flow.site.sql.execute(
            f"UPDATE {table} SET started_at = started_at - make_interval(secs => $2),"
            " deadline_at = deadline_at - make_interval(secs => $2)"
            f" WHERE {key} = $1::text::uuid AND started_at IS NOT NULL",
            flow.id,
            float(seconds),
        )


async def test_nothing_ends_that_has_no_deadline_or_not_begun(site: Site) -> None:
    for flow in (await site.create(steps(1)), await site.create(steps(1), global_timeout=60)):
        assert await expire(flow) == pb.ExpireWorkflowResponse()
    endless = await site.create(steps(1))
    await endless.report(0, RUNNING)
    assert await expire(endless) == pb.ExpireWorkflowResponse()


async def test_the_answer_says_how_long_it_will_take(site: Site) -> None:
    flow = await site.create(task("install", action("write", timeout=60)), global_timeout=600)
    await flow.report(0, RUNNING)
    answer = await expire(flow)
    assert answer.revision == 0
    assert 80 < answer.remaining_seconds <= 90


async def test_an_action_whose_worker_is_silent_times_out_once(site: Site) -> None:
    flow = await site.create(task("install", action("write", timeout=60), action("boot")))
    await flow.report(0, RUNNING)
    await let_pass(flow, 100)
    before = await site.last_revision()
    answer = await expire(flow)
    assert await site.events(after=before) == ["action.timeout[0] 4", "action.cancelled[1] 2", "workflow.timeout 4"]
    assert (answer.revision, answer.HasField("remaining_seconds")) == (await site.last_revision(), False)
    cause = json.loads((await flow.get()).cause)
    assert (cause["reason"], cause["action_index"]) == ("ACTION_TIMEOUT", 0)
    journal = [entry async for entry in site.stub.ShowWorkflowEvents(pb.ShowWorkflowEventsRequest(id=flow.id))]
    assert (journal[-1].state, journal[-1].attempt, journal[-1].worker_id) == (TIMEOUT, 1, ONE)
    assert journal[-1].seconds >= 100
    assert (await expire(flow)).revision == 0
    assert (await flow.refused(0, SUCCEEDED)).reason == "ILLEGAL_TRANSITION"


async def test_a_workflow_whose_next_worker_never_comes_ends_at_its_global_timeout(site: Site) -> None:
    flow = await site.create(steps(2), global_timeout=60)
    await flow.succeed(0)
    assert 50 < (await expire(flow)).remaining_seconds <= 60
    await let_pass(flow, 61)
    await expire(flow)
    assert await flow.states() == ["TIMEOUT", "SUCCEEDED", "CANCELLED"]
    assert json.loads((await flow.get()).cause) == {
        "reason": "GLOBAL_TIMEOUT",
        "message": "the workflow's deadline passed while action step-1 of task install waited for its worker",
    }


@pytest.mark.parametrize(("wrong", "code"), [(UNKNOWN, "NOT_FOUND"), ("7", "INVALID_ARGUMENT")])
async def test_a_wrong_id_is_refused(site: Site, wrong: str, code: str) -> None:
    refusal = await edge.refused(site.stub.ExpireWorkflow(pb.ExpireWorkflowRequest(id=wrong)))
    assert refusal.code.name == code
