"""Reports that come at once are written together, and each is answered as if it were alone."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import pytest
from google.rpc import status_pb2

from support import edge, role
from support.site import FAILED, RUNNING, SUCCEEDED, Flow, Site, steps
from support.waiting import eventually
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.client import errors as client_errors
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.workflow.api import message
from tinkwell.server.workflow.service import report_group
from tinkwell.server.workflow.service import report_intake as report
from tinkwell.server.workflow.service.report import ActionReport, Reported
from tinkwell.server.workflow.store import step


class Gate:
    """Holds up the first group that is written, until it is opened, and counts the reports of each."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.groups: list[int] = []
        self.came = 0

    def attach(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in the way of groups."""
        apply, wait = report_group._apply, report_group._Waiting

        async def gated(database: Database, reports: Sequence[ActionReport], actor: str) -> dict[str, Reported]:
            self.groups.append(len(reports))
            await self.opened.wait()
            return await apply(database, reports, actor)

        def coming(report: ActionReport) -> report_group._Waiting:
            self.came += 1
            return wait(report)

        monkeypatch.setattr(report_group, "_apply", gated)
        monkeypatch.setattr(report_group, "_Waiting", coming)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def running(site: Site, count: int) -> list[Flow]:
    """So many workflows of two actions, each on a machine of its own, with the first one running."""
    flows = []
    for _ in range(count):
        flow = await site.create(steps(2), hardware=json.dumps({"device_1": await site.add_machine()}))
        await flow.report(0, RUNNING)
        flows.append(flow)
    return flows


async def together(gate: Gate, *calls: "asyncio.Future[pb.ReportActionStatusResponse]") -> None:
    """Let all but the first of the calls be written in one group."""
    await eventually(lambda: gate.came == len(calls))
    gate.opened.set()
    await asyncio.wait(calls)


async def test_each_report_of_a_group_has_its_own_revision(
    site: Site, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    flows = await running(site, 6)
    before = await site.last_revision()
    gate.attach(monkeypatch)
    calls = [asyncio.ensure_future(flow.report(0, SUCCEEDED)) for flow in flows]
    await together(gate, *calls)
    assert gate.groups == [1, 5]
    last = {data["id"]: revision for revision, label, data in await site.recorded(after=before) if "workflow" in label}
    assert [call.result().revision for call in calls] == [last[flow.id] for flow in flows]
    calls = [asyncio.ensure_future(flow.report(1, RUNNING)) for flow in flows]
    await asyncio.wait(calls)
    started = {data["id"]: revision for revision, label, data in await site.recorded() if "action.started[1]" in label}
    assert [call.result().revision for call in calls] == [started[flow.actions[1].id] for flow in flows]
    assert [(await flow.states())[0] for flow in flows] == ["RUNNING"] * 6


async def test_a_report_that_is_refused_or_repeated_leaves_the_rest_of_its_group_alone(
    site: Site, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, fine, early, repeated, twice = await running(site, 5)
    gate.attach(monkeypatch)
    calls = [
        asyncio.ensure_future(flow.report(index, state))
        for flow, index, state in (
            (first, 0, SUCCEEDED),
            (fine, 0, SUCCEEDED),
            (early, 1, RUNNING),
            (repeated, 0, RUNNING),
            (twice, 0, SUCCEEDED),
            (twice, 0, SUCCEEDED),
        )
    ]
    await together(gate, *calls)
    assert gate.groups == [1, 4, 1]
    assert calls[0].result().revision < calls[1].result().revision
    assert (await edge.refused(calls[2])).reason == "ILLEGAL_TRANSITION"
    assert calls[3].result().revision == 0
    assert min(call.result().revision for call in calls[4:]) == 0
    assert max(call.result().revision for call in calls[4:]) > 0


async def test_a_workflow_that_somebody_else_moves_holds_up_no_other(site: Site, other: asyncpg.Connection) -> None:
    held, free = await running(site, 2)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("SELECT FROM workflow WHERE id = $1 FOR UPDATE", held.id)
    waiting = asyncio.ensure_future(held.report(0, SUCCEEDED))
    for _ in range(3):
        assert (await free.report(0, RUNNING)).revision == 0
    assert (await free.report(0, SUCCEEDED)).revision
    assert not waiting.done()
    await transaction.rollback()
    assert (await waiting).revision


async def test_what_ends_without_success_is_written_by_itself(
    site: Site, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (flow,) = await running(site, 1)
    gate.attach(monkeypatch)
    await flow.report(0, FAILED)
    assert (gate.groups, gate.came) == ([], 0)
    assert await flow.states() == ["FAILED", "FAILED", "CANCELLED"]


async def test_reports_of_one_call_are_judged_each_by_itself(site: Site) -> None:
    fine, early, gone = await running(site, 3)
    before = await site.last_revision()
    requests = [fine.reported(0, SUCCEEDED), early.reported(1, RUNNING), gone.reported(0, SUCCEEDED, worker_id="?")]
    answer = await site.stub.ReportActionStatuses(pb.ReportActionStatusesRequest(reports=requests))
    *_, (revision, _, _) = await site.recorded(after=before)
    assert [outcome.WhichOneof("outcome") for outcome in answer.outcomes] == ["reported", "error", "error"]
    assert answer.outcomes[0].reported.revision == revision
    found = [client_errors.from_status(_status(outcome)) for outcome in answer.outcomes[1:]]
    assert [error.reason for error in found] == ["ILLEGAL_TRANSITION", "INVALID_FIELD"]


async def test_a_success_and_the_start_that_follows_are_written_in_one_transaction(site: Site) -> None:
    flows = await running(site, 2)
    before = await site.last_revision()
    requests = [flow.reported(index, state) for flow in flows for index, state in ((0, SUCCEEDED), (1, RUNNING))]
    answer = await site.stub.ReportActionStatuses(pb.ReportActionStatusesRequest(reports=requests))
    assert [outcome.reported.attempt for outcome in answer.outcomes] == [1] * 4
    recorded = await site.recorded(after=before)
    for place, flow in enumerate(flows):
        own = [(rev, label) for rev, label, data in recorded if flow.id in (data["id"], data.get("workflow_id"))]
        assert [label for _, label in own] == ["action.succeeded[0] 3", "workflow.inprogress 3", "action.started[1] 2"]
        answered = [outcome.reported.revision for outcome in answer.outcomes[2 * place : 2 * place + 2]]
        assert answered == [revision for revision, _ in own[1:]]
        journal = await site.sql.fetch("SELECT state FROM action_status WHERE workflow_id = $1 ORDER BY id", flow.id)
        assert [row["state"] for row in journal] == ["RUNNING", "SUCCEEDED", "RUNNING"]
    moments = await site.sql.fetch("SELECT DISTINCT xmin FROM events WHERE revision > $1", before)
    assert len(moments) == 1


async def test_a_start_is_refused_by_itself_where_the_success_before_it_is(site: Site) -> None:
    (flow,) = await running(site, 1)
    requests = [flow.reported(0, SUCCEEDED, attempt=2), flow.reported(1, RUNNING)]
    answer = await site.stub.ReportActionStatuses(pb.ReportActionStatusesRequest(reports=requests))
    reasons = [client_errors.from_status(_status(outcome)).reason for outcome in answer.outcomes]
    assert reasons == ["ILLEGAL_TRANSITION", "ILLEGAL_TRANSITION"]
    assert await flow.states() == ["RUNNING", "RUNNING", "PENDING"]


async def test_workflows_begin_together_but_for_those_whose_machine_is_taken(site: Site) -> None:
    [busy] = await running(site, 1)
    machine = busy.actions[0].worker_id
    blocked = await site.create(steps(1), hardware=json.dumps({"device_1": machine}))
    free = [await site.create(steps(1), hardware=json.dumps({"device_1": await site.add_machine()})) for _ in range(2)]
    requests = [flow.reported(0, RUNNING) for flow in (free[0], blocked, free[1])]
    answer = await site.stub.ReportActionStatuses(pb.ReportActionStatusesRequest(reports=requests))
    assert [outcome.WhichOneof("outcome") for outcome in answer.outcomes] == ["reported", "error", "reported"]
    assert client_errors.from_status(_status(answer.outcomes[1])).reason == "MACHINE_BUSY"
    began = "SELECT DISTINCT xmin FROM events WHERE name = 'workflow.started' AND resource_id = ANY ($1)"
    assert len(await site.sql.fetch(began, [flow.id for flow in free])) == 1


async def test_of_two_workflows_that_would_begin_together_on_one_machine_one_does(site: Site) -> None:
    machine = await site.add_machine()
    rivals = [await site.create(steps(1), hardware=json.dumps({"device_1": machine})) for _ in range(2)]
    free = await site.create(steps(1), hardware=json.dumps({"device_1": await site.add_machine()}))
    requests = [flow.reported(0, RUNNING) for flow in (*rivals, free)]
    answer = await site.stub.ReportActionStatuses(pb.ReportActionStatusesRequest(reports=requests))
    outcomes = [outcome.WhichOneof("outcome") for outcome in answer.outcomes]
    assert {*outcomes[:2]} == {"error", "reported"}
    assert outcomes[2] == "reported"
    assert client_errors.from_status(_status(answer.outcomes[outcomes.index("error")])).reason == "MACHINE_BUSY"


async def test_a_session_may_begin_with_a_report_that_is_left_out(site: Site) -> None:
    [busy] = await running(site, 1)
    blocked = await site.create(steps(1), hardware=json.dumps({"device_1": busy.actions[0].worker_id}))
    pool = engine.create(role.url_of_server(site.database_url), pool_size=1)
    heard = message.report(blocked.reported(0, RUNNING))
    assert await report_group._apply(Database(pool), [heard], "somebody") == {}
    await pool.dispose()
    assert await blocked.states() == ["PENDING", "PENDING"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE action SET state = 'CANCELLED' WHERE workflow_id = $1",
        "UPDATE workflow SET state = 'CANCELLED' WHERE id = $1",
        "UPDATE workflow SET deleted_at = now() WHERE id = $1",
        "UPDATE machine_hold SET lease_id = gen_random_uuid() WHERE workflow_id = $1",
    ],
)
async def test_what_has_changed_before_it_is_locked_is_not_written(
    site: Site, other: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    [flow] = await running(site, 1)
    lock = step.lock_free

    async def lock_too_late(*args: Any, **kwargs: Any) -> Any:
        await other.execute(change, flow.id)
        return await lock(*args, **kwargs)

    monkeypatch.setattr(step, "lock_free", lock_too_late)
    before = await site.last_revision()
    await flow.refused(0, SUCCEEDED)
    assert "action.succeeded[0] 3" not in await site.events(after=before)


async def test_one_of_several_reports_that_must_wait_does_not_hold_up_the_answer(
    site: Site, other: asyncpg.Connection
) -> None:
    held, free = await running(site, 2)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("SELECT FROM workflow WHERE id = $1 FOR UPDATE", held.id)
    requests = [held.reported(0, SUCCEEDED), free.reported(0, SUCCEEDED)]
    answer = await site.stub.ReportActionStatuses(pb.ReportActionStatusesRequest(reports=requests))
    await transaction.rollback()
    assert client_errors.from_status(_status(answer.outcomes[0])).reason == "UNAVAILABLE"
    assert answer.outcomes[1].reported.revision
    assert (await held.report(0, SUCCEEDED)).attempt == 1


async def test_a_call_carries_no_report_or_a_hundred_and_no_more(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "PATIENCE_SECONDS", 60.0)
    (flow,) = await running(site, 1)
    assert not (await site.stub.ReportActionStatuses(pb.ReportActionStatusesRequest())).outcomes
    requests = pb.ReportActionStatusesRequest(reports=[flow.reported(0, RUNNING)] * 100)
    answer = await site.stub.ReportActionStatuses(requests)
    assert [outcome.reported.attempt for outcome in answer.outcomes] == [1] * 100
    requests.reports.append(flow.reported(0, RUNNING))
    assert (await edge.refused(site.stub.ReportActionStatuses(requests))).fields == {
        "reports": "there are 101; at most 100 may be"
    }


def _status(outcome: pb.ReportOutcome) -> status_pb2.Status:
    status = status_pb2.Status()
    assert outcome.error.Unpack(status)
    return status
