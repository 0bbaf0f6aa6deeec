"""How far workflows are: lists, contexts, and what is due for a worker."""

import uuid
from collections.abc import AsyncIterator

import grpc
import pytest

from support import edge
from support import site as support
from support.site import (
    FAILED,
    ONE,
    PENDING,
    RUNNING,
    SUCCEEDED,
    TWO,
    UNKNOWN,
    Flow,
    Site,
    action,
    devices,
    steps,
    task,
    template_text,
)
from tinkwell.api.v1 import workflow_service_pb2 as pb


@pytest.fixture
async def small_pages(database_url: str) -> AsyncIterator[Site]:
    """A site whose service reads few rows at once."""
    async with support.open_site(database_url, page=3, ids_page=2) as opened:
        yield opened


async def listed(site: Site, *states: pb.State.ValueType) -> list[pb.Workflow]:
    return [found async for found in site.stub.ListWorkflows(pb.ListWorkflowsRequest(states=states))]


async def unfinished(site: Site) -> list[tuple[list[str], list[str]]]:
    messages = site.stub.ListUnfinishedWorkflows(pb.ListUnfinishedWorkflowsRequest())
    return [(list(message.running_ids), list(message.pending_ids)) async for message in messages]


async def context(flow: Flow) -> pb.WorkflowContext:
    return await flow.site.stub.GetWorkflowContext(pb.GetWorkflowContextRequest(id=flow.id))


async def contexts(site: Site, worker: str) -> list[str]:
    request = pb.WorkflowContextRequest(worker_id=worker)
    return [found.workflow_id async for found in site.stub.GetWorkflowContexts(request)]


async def context_list(site: Site, worker: str) -> list[pb.WorkflowContext]:
    answer = await site.stub.GetWorkflowContextList(pb.WorkflowContextRequest(worker_id=worker))
    return list(answer.workflow_contexts)


async def test_workflows_are_listed_oldest_first_and_without_their_data(site: Site) -> None:
    flows = [await site.create() for _ in range(5)]
    found = await listed(site)
    assert [workflow.id for workflow in found] == [flow.id for flow in flows]
    for workflow, flow in zip(found, flows, strict=True):
        full = await flow.get()
        assert full.data
        full.data = ""
        assert workflow == full


async def test_workflows_are_listed_by_their_states(site: Site) -> None:
    pending, running, failed = [await site.create() for _ in range(3)]
    await failed.report(0, RUNNING)
    await failed.report(0, FAILED)
    await running.report(0, RUNNING)
    for states, expected in (
        ([PENDING], [pending]),
        ([RUNNING, PENDING], [pending, running]),
        ([FAILED], [failed]),
        ([SUCCEEDED], []),
        ([FAILED, FAILED, RUNNING], [running, failed]),
    ):
        assert [workflow.id for workflow in await listed(site, *states)] == [flow.id for flow in expected]


async def test_a_state_that_is_none_is_refused(site: Site) -> None:
    request = pb.ListWorkflowsRequest(states=[pb.STATE_RUNNING, pb.STATE_UNSPECIFIED])
    told = await edge.refused(site.stub.ListWorkflows(request).read())
    assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, ["states[1]"])


async def test_unfinished_workflows_are_named_oldest_first_over_several_messages(small_pages: Site) -> None:
    site = small_pages
    assert await unfinished(site) == [([], [])]
    flows = [await site.create(task("a", action("x"), worker=f"{{{{.device_{1 + n // 3}}}}}")) for n in range(6)]
    ids = [flow.id for flow in flows]
    for place in (0, 3):
        await flows[place].report(0, RUNNING)
    await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=ids[2]))
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=ids[4]))
    assert await unfinished(site) == [([ids[0]], [ids[1]]), ([ids[3]], [ids[5]]), ([], [])]


async def test_a_list_is_one_snapshot_however_slowly_it_is_read(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)))
    # So large that the answer does not fit into the buffers of the transport.
    hardware = devices(filler="x" * 100_000)
    request = pb.CreateWorkflowRequest(template=template, hardware=hardware)
    created = [(await site.stub.CreateWorkflow(request)).id for _ in range(120)]
    call = site.stub.ListWorkflows(pb.ListWorkflowsRequest())
    first = await call.read()
    await site.sql.execute("DELETE FROM workflow WHERE id = $1", uuid.UUID(created[-1]))
    await site.create()
    rest = []
    while (found := await call.read()) is not grpc.aio.EOF:
        assert isinstance(found, pb.Workflow)
        rest.append(found.id)
    assert isinstance(first, pb.Workflow)
    assert [first.id, *rest] == created


async def test_a_list_that_is_left_frees_its_connection(database_url: str) -> None:
    async with support.open_site(database_url, pool_size=2) as site:
        template = await site.add_template(template_text(steps(1)))
        request = pb.CreateWorkflowRequest(template=template, hardware=devices(filler="x" * 100_000))
        for _ in range(100):
            await site.stub.CreateWorkflow(request)
        for _ in range(5):
            call = site.stub.ListWorkflows(pb.ListWorkflowsRequest())
            await call.read()
            call.cancel()
        assert len(await listed(site)) == 100


async def test_a_context_says_what_runs_or_ran_last(site: Site) -> None:
    flow = await site.create(task("a", action("x")), task("b", action("y"), worker="{{.device_2}}"))
    seen = [await context(flow)]
    for index, state in ((0, RUNNING), (0, SUCCEEDED), (1, RUNNING), (1, FAILED)):
        await flow.report(index, state)
        seen.append(await context(flow))
    assert [
        (c.current_task, c.current_action, c.current_action_index, c.current_worker, c.current_action_state)
        for c in seen
    ] == [
        ("", "", 0, "", pb.STATE_UNSPECIFIED),
        ("a", "x", 0, ONE, RUNNING),
        ("a", "x", 0, ONE, SUCCEEDED),
        ("b", "y", 1, TWO, RUNNING),
        ("b", "y", 1, TWO, FAILED),
    ]
    assert [(c.workflow_state, c.completed_actions) for c in seen] == [
        (PENDING, 0),
        (RUNNING, 0),
        (RUNNING, 1),
        (RUNNING, 1),
        (FAILED, 1),
    ]
    assert {(c.workflow_id, c.total_number_of_actions) for c in seen} == {(flow.id, 2)}


async def test_a_worker_is_sent_what_it_can_run_now_however_far_the_workflow_is(site: Site) -> None:
    # A worker whose first action comes late, and one that resumes in the middle.
    flow = await site.create(
        task("a", action("x"), action("y")), task("b", action("x"), worker="{{.device_2}}"), task("c", action("x"))
    )
    due = {ONE: [flow.id], TWO: []}
    for index, state in ((0, RUNNING), (0, SUCCEEDED), (1, RUNNING)):
        assert {worker: await contexts(site, worker) for worker in due} == due
        await flow.report(index, state)
    assert {worker: await contexts(site, worker) for worker in due} == due
    await flow.report(1, SUCCEEDED)
    assert {worker: await contexts(site, worker) for worker in due} == {ONE: [], TWO: [flow.id]}
    await flow.succeed(2)
    assert {worker: await contexts(site, worker) for worker in due} == {ONE: [flow.id], TWO: []}
    await flow.succeed(3)
    assert {worker: await contexts(site, worker) for worker in due} == {ONE: [], TWO: []}


async def test_what_has_ended_is_due_for_nobody(site: Site) -> None:
    failed, cancelled, deleted = [await site.create(steps(2)) for _ in range(3)]
    await failed.report(0, RUNNING)
    await failed.report(0, FAILED)
    await site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=cancelled.id))
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=deleted.id))
    assert await contexts(site, ONE) == []


async def test_a_worker_is_sent_all_its_workflows_oldest_first(site: Site) -> None:
    template = await site.add_template(template_text(steps(1)))
    request = pb.CreateWorkflowRequest(template=template, hardware=devices())
    created = [(await site.stub.CreateWorkflow(request)).id for _ in range(3)]
    assert await contexts(site, ONE.upper()) == created
    assert [found.workflow_id for found in await context_list(site, ONE)] == created


async def test_more_workflows_and_reports_than_a_page_holds_are_sent_all(small_pages: Site) -> None:
    site = small_pages
    flows = [await site.create(steps(4)) for _ in range(6)]
    assert await contexts(site, ONE) == [flow.id for flow in flows]
    await flows[0].succeed(0, 1, 2, 3)
    assert await contexts(site, ONE) == [flow.id for flow in flows[1:]]
    entries = [entry async for entry in site.stub.ShowWorkflowEvents(pb.ShowWorkflowEventsRequest(id=flows[0].id))]
    assert [entry.action_name for entry in entries] == [f"step-{index // 2}" for index in range(8)]


async def test_a_worker_with_more_workflows_than_fit_is_told_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkwell.server.workflow.service.operations.MAX_CONTEXTS", 2)
    for _ in range(2):
        await site.create()
    assert len(await context_list(site, ONE)) == 2
    await site.create()
    told = await edge.refused(site.stub.GetWorkflowContextList(pb.WorkflowContextRequest(worker_id=ONE)))
    assert told.code is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_the_list_of_a_worker_holds_finished_workflows_too(site: Site) -> None:
    flow = await site.create(steps(1))
    other = await site.create(task("b", action("x"), worker="{{.device_2}}"))
    await flow.succeed(0)
    (found,) = await context_list(site, ONE)
    assert (found.workflow_id, found.workflow_state) == (flow.id, SUCCEEDED)
    (found,) = await context_list(site, TWO)
    assert found.workflow_id == other.id


async def test_a_worker_without_workflows_has_none(site: Site) -> None:
    for worker in (TWO, UNKNOWN):
        assert await contexts(site, worker) == []
        assert await context_list(site, worker) == []


async def test_a_worker_that_is_no_id_is_refused(site: Site) -> None:
    for worker in ("", "52:54:00:10:00:0a"):
        request = pb.WorkflowContextRequest(worker_id=worker)
        for call in (site.stub.GetWorkflowContextList(request), site.stub.GetWorkflowContexts(request).read()):
            told = await edge.refused(call)
            assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, ["worker_id"])
