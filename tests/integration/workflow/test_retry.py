"""Attempts that end without success are repeated while one is left, and each repetition is one event."""

import json

import asyncpg
import pytest

from support import edge
from support.site import FAILED, ONE, PENDING, RUNNING, SUCCEEDED, TIMEOUT, Flow, Site, action, task
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.client.workflow import message


async def create(site: Site, *, retries: int = 2, delay: int = 60, global_timeout: int = 0, **more: object) -> Flow:
    """A workflow of two actions, of which the first may be repeated."""
    first = action("write", retries=retries, **{"retry-delay": delay}, **more)
    return await site.create(task("install", first, action("boot")), global_timeout=global_timeout)


async def due(site: Site) -> list[str]:
    """The workflows that are handed to the machine's worker."""
    request = pb.WorkflowContextRequest(worker_id=ONE)
    return [context.workflow_id async for context in site.stub.GetWorkflowContexts(request)]


async def expire(flow: Flow) -> pb.ExpireWorkflowResponse:
    return await flow.site.stub.ExpireWorkflow(pb.ExpireWorkflowRequest(id=flow.id))


async def journal(flow: Flow) -> list[tuple[str, int]]:
    entries = flow.site.stub.ShowWorkflowEvents(pb.ShowWorkflowEventsRequest(id=flow.id))
    return [(pb.State.Name(entry.state).removeprefix("STATE_"), entry.attempt) async for entry in entries]


async def test_an_attempt_is_repeated_as_often_as_the_template_says(site: Site) -> None:
    flow = await create(site)
    before = await site.last_revision()
    for state in (FAILED, TIMEOUT, FAILED):
        await flow.report(0, RUNNING)
        await flow.report(0, state, message="no space left", exit_code=28)
    assert await site.events(after=before) == [
        *("workflow.started 2", "action.started[0] 2", "action.retrying[0] 3"),
        *("action.started[0] 4", "action.retrying[0] 5"),
        *("action.started[0] 6", "action.failed[0] 7", "action.cancelled[1] 2", "workflow.failed 3"),
    ]
    assert await flow.states() == ["FAILED", "FAILED", "CANCELLED"]
    assert await journal(flow) == [
        *(("RUNNING", 1), ("FAILED", 1)),
        *(("RUNNING", 2), ("TIMEOUT", 2)),
        *(("RUNNING", 3), ("FAILED", 3)),
    ]


async def test_an_action_that_waits_says_until_when_and_how_its_attempt_ended(site: Site) -> None:
    flow = await create(site)
    await flow.report(0, RUNNING)
    await flow.report(0, FAILED, message="no space left", exit_code=28)
    waiting, other = await flow.current_actions()
    assert (waiting.state, waiting.attempt, waiting.message, waiting.exit_code) == (PENDING, 1, "no space left", 28)
    assert (waiting.retries, waiting.retry_delay_seconds, waiting.reboots) == (2, 60, False)
    assert 30 < waiting.wait_seconds <= 60
    assert not waiting.HasField("remaining_seconds")
    assert not waiting.HasField("finished_at")
    assert not other.HasField("wait_seconds")
    *_, (_, _, data) = await site.recorded()
    assert (data["retries"], data["retry_delay_seconds"], data["reboots"]) == (2, 60, False)
    assert data["retry_at"] > data["started_at"]
    await flow.report(0, RUNNING)
    running, _ = await flow.current_actions()
    assert (running.attempt, running.HasField("retry_at"), running.HasField("wait_seconds")) == (2, False, False)
    *_, (_, _, data) = await site.recorded()
    assert "retry_at" not in data
    assert "exit_code" not in data


async def test_events_say_of_an_action_and_of_a_workflow_what_the_api_says(site: Site) -> None:
    flow = await site.create(task("install", action("boot", retries=1, reboot=True, timeout=9)), **{"on-failure": "r"})
    await flow.report(0, RUNNING)
    await flow.report(0, FAILED, message="no")
    await site.sql.execute("UPDATE workflow SET recovers = id")
    (waiting,) = await flow.current_actions()
    for label, told in (
        ("action.retrying[0] 3", message.action(waiting).to_json()),
        ("workflow.updated 3", message.workflow(await flow.get()).to_json()),
    ):
        (data,) = [data for _, found, data in await site.recorded() if found == label]
        assert told.items() <= (data | {"data": told.get("data")}).items()
        assert data.keys() - told.keys() <= {"created_at", "updated_at"}


async def test_the_wait_doubles_with_each_attempt(site: Site) -> None:
    flow = await create(site, retries=3, delay=100)
    for least, most in ((50, 100), (150, 200), (350, 400)):
        await flow.report(0, RUNNING)
        await flow.report(0, FAILED)
        (waiting, _) = await flow.current_actions()
        assert least < waiting.wait_seconds <= most


async def test_a_workflow_that_waits_is_handed_out_when_its_attempt_is_due(site: Site) -> None:
    flow = await create(site)
    assert await due(site) == [flow.id]
    await flow.report(0, RUNNING)
    assert await due(site) == [flow.id]
    await flow.report(0, FAILED)
    assert await due(site) == []
    await site.sql.execute("UPDATE action SET retry_at = retry_at - interval '61 s'")
    assert await due(site) == [flow.id]
    waiting, _ = await flow.current_actions()
    assert not waiting.HasField("wait_seconds")


async def test_a_repeated_report_of_a_repeated_attempt_changes_nothing(site: Site) -> None:
    flow = await create(site)
    await flow.report(0, RUNNING)
    first = await flow.report(0, FAILED, attempt=1)
    for attempt in (0, 1):
        again = await flow.report(0, FAILED, attempt=attempt)
        assert (first.revision > 0, again.revision, again.attempt) == (True, 0, 1)
    assert (await flow.refused(0, SUCCEEDED, attempt=1)).reason == "ILLEGAL_TRANSITION"
    assert (await flow.refused(0, RUNNING, attempt=1)).reason == "ILLEGAL_TRANSITION"
    assert await journal(flow) == [("RUNNING", 1), ("FAILED", 1)]


async def test_a_silent_worker_loses_its_attempt_and_the_workflow_goes_on(site: Site) -> None:
    flow = await create(site, timeout=60, global_timeout=600)
    await flow.report(0, RUNNING)
    await site.sql.execute("UPDATE action SET started_at = now() - interval '100 s' WHERE state = 'RUNNING'")
    before = await site.last_revision()
    answer = await expire(flow)
    assert await site.events(after=before) == ["action.retrying[0] 4"]
    assert answer.revision == await site.last_revision()
    assert 500 < answer.remaining_seconds <= 600
    assert await journal(flow) == [("RUNNING", 1), ("TIMEOUT", 1)]
    assert (await flow.report(0, TIMEOUT, attempt=1)).revision == 0
    assert (await expire(flow)).revision == 0
    await flow.succeed(0, 1)
    assert await flow.states() == ["SUCCEEDED"] * 3


@pytest.mark.parametrize("how", ["report", "expire"])
async def test_no_attempt_begins_after_the_workflows_deadline(site: Site, how: str) -> None:
    flow = await create(site, delay=0, timeout=60, global_timeout=60)
    await flow.report(0, RUNNING)
    await site.sql.execute("UPDATE workflow SET deadline_at = now() - interval '40 s'")
    if how == "report":
        await flow.report(0, TIMEOUT)
    else:
        await expire(flow)
    assert await flow.states() == ["TIMEOUT", "TIMEOUT", "CANCELLED"]
    assert json.loads((await flow.get()).cause)["reason"] == "GLOBAL_TIMEOUT"


async def test_what_could_only_begin_after_the_workflows_deadline_is_not_waited_for(site: Site) -> None:
    flow = await create(site, delay=60, global_timeout=50)
    await flow.report(0, RUNNING)
    await flow.report(0, FAILED)
    assert await flow.states() == ["FAILED", "FAILED", "CANCELLED"]


async def test_a_workflow_that_waits_for_an_attempt_ends_at_its_deadline(site: Site) -> None:
    flow = await create(site, delay=60, global_timeout=600)
    await flow.report(0, RUNNING)
    await flow.report(0, FAILED)
    await site.sql.execute("UPDATE workflow SET deadline_at = now() - interval '1 s'")
    assert (await expire(flow)).revision > 0
    assert await flow.states() == ["TIMEOUT", "CANCELLED", "CANCELLED"]


async def test_a_cancellation_ends_a_workflow_that_waits_for_an_attempt(site: Site) -> None:
    flow = await create(site)
    await flow.report(0, RUNNING)
    await flow.report(0, FAILED)
    await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id))
    assert await flow.states() == ["CANCELLED"] * 3
    assert not any(found.HasField("retry_at") for found in await flow.current_actions())
    refusal = await edge.refused(site.stub.ReportActionStatus(flow.reported(0, RUNNING, attempt=2)))
    assert refusal.reason == "ILLEGAL_TRANSITION"


async def test_psql_gets_no_more_attempts_than_there_are(site: Site) -> None:
    flow = await create(site, retries=1)
    await flow.report(0, RUNNING)
    await site.sql.execute("UPDATE action SET state = 'PENDING' WHERE state = 'RUNNING'")
    await flow.report(0, RUNNING)
    with pytest.raises(asyncpg.CheckViolationError, match="has no attempt left: 2 of 2 are used"):
        await site.sql.execute("UPDATE action SET state = 'PENDING' WHERE state = 'RUNNING'")
    await site.sql.execute("UPDATE action SET retries = 2, state = 'PENDING' WHERE state = 'RUNNING'")
    assert (await flow.report(0, RUNNING)).attempt == 3


async def test_an_action_that_reboots_its_machine_says_so(site: Site) -> None:
    flow = await site.create(task("install", action("boot", reboot=True, timeout=600)))
    (found,) = await flow.current_actions()
    assert found.reboots
    assert (await site.recorded())[-1][2]["reboots"] is True
