"""The workflow commands of Tinkerbell's command line, and what Boots asks, call by call."""

import json
from collections.abc import Awaitable
from typing import Any

import grpc

import tinkwell.client
from support.tink import FIRST_MAC, FIRST_WORKER, SECOND_WORKER, Tools, code
from support.tink_worker import Worker
from tinkwell.api.tink import template_pb2
from tinkwell.api.tink import workflow_pb2 as pb

TEMPLATE = """\
version: "0.1"
name: {name}
tasks:
  - name: install
    worker: "{{{{.device_1}}}}"
    actions:
      - {{name: hello, image: "{image}", timeout: 60}}
"""


async def template(tools: Tools, name: str = "t", image: str = "hello-world") -> str:
    message = template_pb2.WorkflowTemplate(name=name, data=TEMPLATE.format(name=name, image=image))
    return (await tools.template.CreateTemplate(message, timeout=30)).id


async def test_a_workflow_is_created_listed_shown_and_deleted(machines: Tools) -> None:
    template_id = await template(machines)
    hardware = json.dumps({"device_1": FIRST_MAC.upper()})
    created = await machines.workflow.CreateWorkflow(
        pb.CreateRequest(template=template_id, hardware=hardware), timeout=30
    )
    shown = await machines.workflow.GetWorkflow(pb.GetRequest(id=created.id), timeout=30)
    (listed,) = [item async for item in machines.workflow.ListWorkflows(pb.Empty(), timeout=30)]
    for found in (shown, listed):
        assert (found.id, found.template, found.state) == (created.id, template_id, pb.STATE_PENDING)
        assert json.loads(found.hardware) == json.loads(hardware)
        assert found.created_at.seconds > 0
        assert found.updated_at.seconds > 0
    assert FIRST_MAC.upper() in shown.data
    await machines.workflow.DeleteWorkflow(pb.GetRequest(id=created.id), timeout=30)
    assert await code(machines.workflow.GetWorkflow(pb.GetRequest(id=created.id))) is grpc.StatusCode.NOT_FOUND
    assert await code(machines.workflow.DeleteWorkflow(pb.GetRequest(id=created.id))) is grpc.StatusCode.NOT_FOUND


async def test_state_events_and_lists_tell_the_progress(machines: Tools) -> None:
    first = await machines.create_workflow(FIRST_MAC, FIRST_MAC, name="first")
    second = await machines.create_workflow(FIRST_MAC, name="second")
    await machines.report(first, 0, pb.STATE_RUNNING)
    context = await machines.workflow.GetWorkflowContext(pb.GetRequest(id=first), timeout=30)
    assert (context.current_worker, context.current_task, context.current_action) == (FIRST_WORKER, "task0", "action0")
    assert (context.current_action_index, context.current_action_state) == (0, pb.STATE_RUNNING)
    assert context.total_number_of_actions == 2
    (entry,) = [e async for e in machines.workflow.ShowWorkflowEvents(pb.GetRequest(id=first), timeout=30)]
    assert (entry.worker_id, entry.task_name, entry.action_name) == (FIRST_WORKER, "task0", "action0")
    assert (entry.message, entry.action_status) == ("Started execution", pb.STATE_RUNNING)
    assert entry.created_at.seconds > 0
    listed = [(item.id, item.state) async for item in machines.workflow.ListWorkflows(pb.Empty(), timeout=30)]
    assert listed == [(first, pb.STATE_RUNNING), (second, pb.STATE_PENDING)]


async def test_boots_is_told_of_all_workflows_of_a_machine_and_of_none(machines: Tools) -> None:
    async def states(worker_id: str) -> dict[str, int]:
        request = pb.WorkflowContextRequest(worker_id=worker_id)
        found = (await machines.workflow.GetWorkflowContextList(request, timeout=30)).workflow_contexts
        return {context.workflow_id: context.current_action_state for context in found}

    first = await machines.create_workflow(FIRST_MAC, name="first")
    second = await machines.create_workflow(FIRST_MAC, name="second")
    assert await states(FIRST_WORKER) == {first: pb.STATE_PENDING, second: pb.STATE_PENDING}
    assert await states(SECOND_WORKER) == {}
    # Cancelled before it began, it must not look like work that is yet to be done.
    async with tinkwell.client.connect(machines.server.address) as client:
        await client.workflows.cancel(second)
    assert await states(FIRST_WORKER) == {first: pb.STATE_PENDING, second: pb.STATE_FAILED}
    shown = await machines.workflow.GetWorkflow(pb.GetRequest(id=second), timeout=30)
    assert shown.state == pb.STATE_FAILED


async def test_data_is_empty_at_first_and_versions_are_kept(machines: Tools) -> None:
    workflow = machines.workflow
    workflow_id = await machines.create_workflow(FIRST_MAC)

    def request(version: int = 0) -> pb.GetWorkflowDataRequest:
        return pb.GetWorkflowDataRequest(workflow_id=workflow_id, version=version)

    for call in (workflow.GetWorkflowData, workflow.GetWorkflowMetadata, workflow.GetWorkflowDataVersion):
        assert await call(request(), timeout=30) == pb.GetWorkflowDataResponse()
    for number in range(1, 6):
        update = pb.UpdateWorkflowDataRequest(
            workflow_id=workflow_id, metadata=b'{"n": %d}' % number, data=b'{"d": %d}' % number
        )
        await workflow.UpdateWorkflowData(update, timeout=30)
    assert (await workflow.GetWorkflowDataVersion(request(), timeout=30)).version == 5
    assert json.loads((await workflow.GetWorkflowData(request(), timeout=30)).data) == {"d": 5}
    assert json.loads((await workflow.GetWorkflowData(request(3), timeout=30)).data) == {"d": 3}
    assert json.loads((await workflow.GetWorkflowMetadata(request(1), timeout=30)).data) == {"n": 1}
    # Neither what was dropped nor what never was is an error to the worker.
    for version in (1, 9):
        assert (await workflow.GetWorkflowData(request(version), timeout=30)).data == b""


async def test_a_device_cannot_break_or_bend_the_template(machines: Tools) -> None:
    template_id = await template(machines, image="{{.image}}")
    for image in ('"', 'a", timeout: 1}\n      - {name: more, image: "b', "x\ny: z", "{{.device_1}}"):
        hardware = json.dumps({"device_1": FIRST_MAC, "image": image})
        call = machines.workflow.CreateWorkflow(pb.CreateRequest(template=template_id, hardware=hardware))
        assert await code(call) is grpc.StatusCode.INVALID_ARGUMENT
    assert [item async for item in machines.workflow.ListWorkflows(pb.Empty(), timeout=30)] == []


async def test_a_changed_or_deleted_template_does_not_reach_its_workflows(machines: Tools) -> None:
    template_id = await template(machines)
    hardware = json.dumps({"device_1": FIRST_MAC})
    created = await machines.workflow.CreateWorkflow(
        pb.CreateRequest(template=template_id, hardware=hardware), timeout=30
    )
    junk = template_pb2.WorkflowTemplate(id=template_id, name="t", data="junk")
    assert await code(machines.template.UpdateTemplate(junk)) is grpc.StatusCode.INVALID_ARGUMENT
    before = await machines.workflow.GetWorkflow(pb.GetRequest(id=created.id), timeout=30)
    await machines.template.DeleteTemplate(template_pb2.GetRequest(id=template_id), timeout=30)
    again = pb.CreateRequest(template=template_id, hardware=hardware)
    assert await code(machines.workflow.CreateWorkflow(again)) is grpc.StatusCode.NOT_FOUND
    assert (await machines.workflow.GetWorkflow(pb.GetRequest(id=created.id), timeout=30)).data == before.data
    worker = Worker(machines)
    stream = worker.contexts()
    await worker.take(await anext(stream))
    await stream.aclose()
    assert worker.ran == [(created.id, "hello")]


async def test_devices_that_fit_nothing_are_refused(machines: Tools) -> None:
    cases: list[tuple[str, grpc.StatusCode]] = [
        ("", grpc.StatusCode.INVALID_ARGUMENT),
        ("{", grpc.StatusCode.INVALID_ARGUMENT),
        ("[]", grpc.StatusCode.INVALID_ARGUMENT),
        ("{}", grpc.StatusCode.INVALID_ARGUMENT),
        ('{"device_1": "nobody"}', grpc.StatusCode.INVALID_ARGUMENT),
        ('{"device_1": "02:00:00:00:00:99"}', grpc.StatusCode.NOT_FOUND),
    ]
    template_id = await template(machines)
    for hardware, expected in cases:
        request = pb.CreateRequest(template=template_id, hardware=hardware)
        assert await code(machines.workflow.CreateWorkflow(request)) is expected


async def test_bad_requests_have_the_status_that_says_what_is_wrong(machines: Tools) -> None:
    workflow = machines.workflow
    workflow_id = await machines.create_workflow(FIRST_MAC)
    invalid, missing = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
    refused: tuple[tuple[Awaitable[Any], grpc.StatusCode], ...] = (
        (workflow.CreateWorkflow(pb.CreateRequest(template=SECOND_WORKER, hardware="{}")), missing),
        (workflow.GetWorkflow(pb.GetRequest(id="one")), invalid),
        (workflow.GetWorkflow(pb.GetRequest(id=SECOND_WORKER)), missing),
        (workflow.GetWorkflowContext(pb.GetRequest(id=SECOND_WORKER)), missing),
        (workflow.ShowWorkflowEvents(pb.GetRequest(id=SECOND_WORKER)).read(), missing),
        (workflow.ShowWorkflowEvents(pb.GetRequest(id="one")).read(), invalid),
        (workflow.GetWorkflowContextList(pb.WorkflowContextRequest()), invalid),
        (workflow.GetWorkflowActions(pb.WorkflowActionsRequest()), invalid),
        (workflow.GetWorkflowActions(pb.WorkflowActionsRequest(workflow_id=SECOND_WORKER)), missing),
        (workflow.ReportActionStatus(pb.WorkflowActionStatus()), invalid),
        (workflow.ReportActionStatus(pb.WorkflowActionStatus(workflow_id=workflow_id, task_name="task0")), invalid),
        (workflow.UpdateWorkflowData(pb.UpdateWorkflowDataRequest()), invalid),
        *(
            (workflow.UpdateWorkflowData(pb.UpdateWorkflowDataRequest(workflow_id=workflow_id, **texts)), invalid)
            for texts in ({"data": b"no", "metadata": b"{}"}, {"data": b"{}", "metadata": b"no"}, {"metadata": b"{}"})
        ),
        (workflow.GetWorkflowData(pb.GetWorkflowDataRequest(workflow_id=SECOND_WORKER)), missing),
    )
    for call, expected in refused:
        assert await code(call) is expected
