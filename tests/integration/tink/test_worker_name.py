"""What a worker is called, and what it calls things: its id in any spelling, and names that Docker takes."""

import json

import grpc
import pytest

from support.tink import FIRST_MAC, FIRST_WORKER, SECOND_WORKER, Tools, code
from support.tink_worker import Worker
from tinkwell.api.tink import template_pb2
from tinkwell.api.tink import workflow_pb2 as pb

ABSENT = "7d3c2b1a-0f1e-4d2c-8b3a-495867768594"
NAMES = ["a", "_", "ä", "two words", "-dash", "action-a", "fine"]


async def names(tools: Tools, workflow_id: str) -> list[tuple[str, int]]:
    entries = tools.workflow.ShowWorkflowEvents(pb.GetRequest(id=workflow_id), timeout=30)
    return [(entry.action_name, entry.action_status) async for entry in entries]


@pytest.mark.parametrize(
    "spelling",
    [FIRST_WORKER.upper(), FIRST_MAC, FIRST_MAC.upper().replace(":", "-")],
    ids=["capitals", "mac", "dashes"],
)
async def test_a_worker_may_spell_the_id_of_its_machine_as_it_likes(machines: Tools, spelling: str) -> None:
    worker = Worker(machines, spelling)
    workflow_id = await machines.create_workflow(FIRST_MAC, FIRST_MAC)
    stream = worker.contexts()
    await worker.take(await anext(stream))
    await stream.aclose()
    assert worker.ran == [(workflow_id, "action0"), (workflow_id, "action1")]
    request = pb.WorkflowContextRequest(worker_id=spelling)
    (context,) = (await machines.workflow.GetWorkflowContextList(request, timeout=30)).workflow_contexts
    assert (context.current_worker, context.current_action_state) == (FIRST_WORKER, pb.STATE_SUCCESS)


async def test_others_see_ids_as_they_are(machines: Tools) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC)
    request = pb.WorkflowActionsRequest(workflow_id=workflow_id)
    stream = Worker(machines, FIRST_WORKER.upper()).contexts()
    await anext(stream)
    (action,) = (await machines.workflow.GetWorkflowActions(request, timeout=30)).action_list
    assert action.worker_id == FIRST_WORKER.upper()
    await stream.aclose()
    # The next one at the same connection spells it as it is.
    stream = Worker(machines).contexts()
    await anext(stream)
    (action,) = (await machines.workflow.GetWorkflowActions(request, timeout=30)).action_list
    assert action.worker_id == FIRST_WORKER
    await stream.aclose()


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ("rack1-node03", grpc.StatusCode.INVALID_ARGUMENT),
        ("52:54:00:10:00:99", grpc.StatusCode.NOT_FOUND),
        ("", grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
async def test_the_log_names_an_id_that_no_worker_gets_work_by(
    machines: Tools, wrong: str, status: grpc.StatusCode, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        call = machines.workflow.GetWorkflowContexts(pb.WorkflowContextRequest(worker_id=wrong), timeout=30)
        assert await code(call.read()) is status
    # Its worker asks every few seconds.
    assert [record.__dict__["worker"] for record in caplog.records if "no work" in record.message] == [wrong]


async def test_the_log_names_a_worker_whose_machine_is_not_known(
    machines: Tools, caplog: pytest.LogCaptureFixture
) -> None:
    await machines.push(ABSENT, "52:54:00:10:00:99")
    workflow_id = await machines.create_workflow("52:54:00:10:00:99")
    call = machines.workflow.GetWorkflowContexts(pb.WorkflowContextRequest(worker_id=ABSENT), timeout=30)
    assert (await anext(aiter(call))).workflow_id == workflow_id
    assert "waits for work" not in caplog.text
    call.cancel()
    stranger = str(SECOND_WORKER).replace("0", "1")
    call = machines.workflow.GetWorkflowContexts(pb.WorkflowContextRequest(worker_id=stranger), timeout=0.5)
    assert await code(call.read()) is grpc.StatusCode.DEADLINE_EXCEEDED
    assert [r.__dict__["worker"] for r in caplog.records if "waits for work" in r.message] == [stranger]


async def test_actions_whose_names_docker_refuses_are_run_by_names_that_it_takes(machines: Tools) -> None:
    actions = "".join(f"      - {{name: {json.dumps(name)}, image: hello-world}}\n" for name in NAMES)
    text = f'version: "0.1"\nname: t\ntasks:\n  - name: t\n    worker: "{{{{.device_1}}}}"\n    actions:\n{actions}'
    template = template_pb2.WorkflowTemplate(name="t", data=text)
    created = await machines.template.CreateTemplate(template, timeout=30)
    hardware = json.dumps({"device_1": FIRST_MAC})
    workflow = await machines.workflow.CreateWorkflow(pb.CreateRequest(template=created.id, hardware=hardware))
    worker = Worker(machines)
    stream = worker.contexts()
    await worker.take(await anext(stream))
    await stream.aclose()
    # What has a fitting name keeps it, and no two have the same.
    assert [name for _, name in worker.ran][-2:] == ["action-a", "fine"]
    assert len(set(worker.ran)) == len(NAMES)
    assert await names(machines, workflow.id) == [
        (name, status) for name in NAMES for status in (pb.STATE_RUNNING, pb.STATE_SUCCESS)
    ]
