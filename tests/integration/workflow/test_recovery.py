"""A workflow that ends without success starts the one that its template names, in the same transaction."""

import asyncio
import json
import uuid

import pytest

from support.site import (
    FAILED,
    MACS,
    ONE,
    RUNNING,
    SUCCEEDED,
    TIMEOUT,
    TWO,
    Flow,
    Site,
    action,
    devices,
    steps,
    task,
    template_text,
)
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.server.workflow.service import recovery as workflow_recovery


async def end(flow: Flow, state: pb.State.ValueType = FAILED) -> None:
    """Let the first action of a workflow end it."""
    await flow.report(0, RUNNING)
    await flow.report(0, state, message="broken")


async def recovery_of(flow: Flow) -> dict[str, str]:
    """What the cause of a workflow's end says of its recovery."""
    recovery: dict[str, str] = json.loads((await flow.get()).cause)["recovery"]
    return recovery


async def flow_of(site: Site, workflow_id: str) -> Flow:
    answer = await site.stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=workflow_id))
    return Flow(site, workflow_id, list(answer.actions))


async def create(site: Site, template_name: str) -> Flow:
    created = await site.stub.CreateWorkflow(pb.CreateWorkflowRequest(template=template_name, hardware=devices()))
    return await flow_of(site, created.id)


@pytest.mark.parametrize(("state", "name"), [(FAILED, "on-failure"), (TIMEOUT, "on-timeout")])
async def test_the_end_and_its_recovery_come_together(site: Site, state: pb.State.ValueType, name: str) -> None:
    template_id = await site.add_template(template_text(task("rescue", action("a"), worker="{{.device_2}}")), name="r")
    flow = await site.create(steps(1), **{name: "r"})
    await flow.report(0, RUNNING)
    before = await site.last_revision()
    answer = await flow.report(0, state)
    word = "failed" if state == FAILED else "timeout"
    assert await site.events(after=before) == [
        *(f"action.{word}[0] 3", f"workflow.{word} 3"),
        *("workflow.created 1", "action.created[0] 1"),
    ]
    assert answer.revision == await site.last_revision()
    recovery = await recovery_of(flow)
    assert recovery == {"template": "r", "workflow_id": recovery["workflow_id"]}
    found = await (await flow_of(site, recovery["workflow_id"])).get()
    assert (found.recovers, found.template_id, found.state) == (flow.id, template_id, pb.STATE_PENDING)
    assert json.loads(found.hardware) == json.loads(devices())
    created = next(data for _, label, data in await site.recorded(after=before) if label == "workflow.created 1")
    assert (created["recovers"], created["hardware"]) == (flow.id, json.loads(devices()))
    ended = await flow.get()
    assert (ended.on_failure, ended.on_timeout) == (("r", "") if state == FAILED else ("", "r"))
    (rescue,) = (await flow_of(site, found.id)).actions
    assert rescue.worker_id == TWO


async def test_success_cancellation_and_deletion_recover_nothing(site: Site) -> None:
    await site.add_template(template_text(steps(1)), name="r")
    succeeded, cancelled, deleted, other = [
        await site.create(steps(1), **{"on-failure": "r", "on-timeout": "r"}) for _ in range(4)
    ]
    await succeeded.succeed(0)
    await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=cancelled.id))
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=deleted.id))
    await site.sql.execute("UPDATE workflow SET on_timeout = '' WHERE id = $1", uuid.UUID(other.id))
    await end(other, TIMEOUT)
    assert "recovery" not in json.loads((await other.get()).cause)
    assert await site.sql.fetchval("SELECT count(*) FROM workflow WHERE recovers IS NOT NULL") == 0


async def test_a_deadline_starts_the_recovery_and_a_second_question_none(site: Site) -> None:
    await site.add_template(template_text(steps(1)), name="r")
    flow = await site.create(steps(1), global_timeout=60, **{"on-timeout": "r"})
    await flow.report(0, RUNNING)
    await site.sql.execute("UPDATE workflow SET deadline_at = now() - interval '40 s'")
    request = pb.ExpireWorkflowRequest(id=flow.id)
    answers = await asyncio.gather(*(site.stub.ExpireWorkflow(request) for _ in range(5)))
    assert sorted(answer.revision > 0 for answer in answers) == [False] * 4 + [True]
    assert await flow.states() == ["TIMEOUT", "TIMEOUT"]
    found = await site.sql.fetch("SELECT id::text FROM workflow WHERE recovers = $1", uuid.UUID(flow.id))
    assert [row[0] for row in found] == [(await recovery_of(flow))["workflow_id"]]


async def test_an_attempt_that_is_repeated_recovers_nothing_yet(site: Site) -> None:
    await site.add_template(template_text(steps(1)), name="r")
    again = action("write", retries=1, **{"retry-delay": 0})
    flow = await site.create(task("install", again), **{"on-failure": "r"})
    await end(flow)
    assert (await flow.get()).state == RUNNING
    await end(flow)
    assert "workflow_id" in await recovery_of(flow)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, "template r does not exist"),
        ("tasks: [", "not YAML"),
        (template_text(task("t", action("a"), worker="{{.device_9}}")), "hardware.device_9"),
        (
            template_text(task("t", action("a"), worker="52:54:00:10:99:99")),
            "hardware 52:54:00:10:99:99 does not exist",
        ),
    ],
)
async def test_a_recovery_that_cannot_be_created_keeps_no_workflow_from_ending(
    site: Site, text: str | None, error: str
) -> None:
    if text is not None:
        await site.add_template(text, name="r")
    flow = await site.create(steps(2), **{"on-failure": "r"})
    await flow.report(0, RUNNING)
    before = await site.last_revision()
    await flow.report(0, FAILED)
    recovery = await recovery_of(flow)
    assert recovery["template"] == "r"
    assert error in recovery["error"]
    assert "workflow_id" not in recovery
    assert await site.events(after=before) == ["action.failed[0] 3", "action.cancelled[1] 2", "workflow.failed 3"]
    assert await site.sql.fetchval("SELECT count(*) FROM workflow") == 1


async def test_a_machine_that_is_gone_by_now_is_an_error_of_the_recovery(site: Site) -> None:
    await site.add_template(template_text(task("rescue", action("a"), worker="{{.device_2}}")), name="r")
    flow = await site.create(steps(1), **{"on-failure": "r"})
    await flow.report(0, RUNNING)
    await site.sql.execute("UPDATE hardware SET deleted_at = now() WHERE id = $1", uuid.UUID(TWO))
    await flow.report(0, FAILED)
    assert await flow.states() == ["FAILED", "FAILED"]
    assert await recovery_of(flow) == {"template": "r", "error": f"hardware {MACS[TWO]} does not exist"}


async def test_a_chain_of_recoveries_uses_no_template_twice(site: Site) -> None:
    for name, following in (("one", "two"), ("two", "three"), ("three", "one")):
        await site.add_template(template_text(steps(1), **{"on-failure": following}), name=name)
    flow = await create(site, "one")
    for expected in ("two", "three"):
        await end(flow)
        recovery = await recovery_of(flow)
        assert recovery["template"] == expected
        flow = await flow_of(site, recovery["workflow_id"])
    await end(flow)
    error = "template one: a chain of recoveries uses no template twice"
    assert await recovery_of(flow) == {"template": "one", "error": error}


async def test_a_template_does_not_recover_itself(site: Site) -> None:
    await site.add_template(template_text(steps(1), **{"on-failure": "one"}), name="one")
    flow = await create(site, "one")
    await end(flow)
    assert "uses no template twice" in (await recovery_of(flow))["error"]


async def test_a_ring_of_workflows_made_by_hand_is_no_trap(site: Site) -> None:
    await site.add_template(template_text(steps(1)), name="r")
    first, second = [await site.create(steps(1), **{"on-failure": "r"}) for _ in range(2)]
    for one, other in ((first, second), (second, first)):
        await site.sql.execute(
            "UPDATE workflow SET recovers = $1 WHERE id = $2", uuid.UUID(other.id), uuid.UUID(one.id)
        )
    await end(first)
    assert "workflow_id" in await recovery_of(first)


async def test_a_template_that_changes_all_the_time_keeps_no_workflow_from_ending(site: Site) -> None:
    await site.add_template(template_text(steps(1)), name="r")
    flow = await site.create(steps(1), **{"on-failure": "r"})
    await flow.report(0, RUNNING)
    # Whoever reads the template finds another version a moment later.
    await site.sql.execute("""
        ALTER TABLE template RENAME TO really;
        CREATE VIEW template AS
            SELECT id, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS version, name, data,
                   created_at, updated_at, deleted_at
              FROM really;
        GRANT SELECT, UPDATE ON template TO PUBLIC
    """)
    await flow.report(0, FAILED)
    await site.sql.execute("DROP VIEW template; ALTER TABLE really RENAME TO template")
    assert await flow.states() == ["FAILED", "FAILED"]
    assert await recovery_of(flow) == {"template": "r", "error": "the template r is being changed all the time"}


async def test_a_template_that_takes_too_long_keeps_no_workflow_from_ending(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.add_template(template_text(steps(1)), name="r")
    flow = await site.create(steps(1), **{"on-failure": "r"})
    monkeypatch.setattr(workflow_recovery, "PREPARE_SECONDS", 0.0)
    await end(flow)
    assert await flow.states() == ["FAILED", "FAILED"]
    assert await recovery_of(flow) == {"template": "r", "error": "it was not ready within 0 s"}


async def test_the_recovery_can_be_started_at_once_on_the_same_machine(site: Site) -> None:
    await site.add_template(template_text(steps(1)), name="r")
    flow = await site.create(steps(1), **{"on-failure": "r"})
    await end(flow)
    recovery = await flow_of(site, (await recovery_of(flow))["workflow_id"])
    assert [found.worker_id for found in recovery.actions] == [ONE]
    await recovery.succeed(0)
    assert (await recovery.get()).state == SUCCEEDED
