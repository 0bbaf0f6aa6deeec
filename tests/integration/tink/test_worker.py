"""Tinkerbell's worker: workflows come to it by its open stream, and it brings them to their end."""

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import grpc
import pytest

import tinkwell.client
from support import server as support
from support.tink import FIRST_MAC, FIRST_WORKER, SECOND_MAC, SECOND_WORKER, Tools, code, connected, fetch
from support.tink_worker import Worker
from support.waiting import eventually
from tinkwell.api.tink import workflow_pb2 as pb
from tinkwell.core.workflow import handover
from tinkwell.server.tink import dispatch


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let streams look by themselves so seldom that whatever comes came by an event, and wait for no document."""
    monkeypatch.setattr(dispatch, "_LOOK_AGAIN_SECONDS", 1_000)
    monkeypatch.setattr(handover, "SETTLING_SECONDS", 0.0)


async def state(tools: Tools, workflow_id: str) -> int:
    return (await tools.workflow.GetWorkflow(pb.GetRequest(id=workflow_id), timeout=30)).state


async def journal(tools: Tools, workflow_id: str) -> list[tuple[str, int]]:
    entries = tools.workflow.ShowWorkflowEvents(pb.GetRequest(id=workflow_id), timeout=30)
    return [(entry.action_name, entry.action_status) async for entry in entries]


async def let_pass(tools: Tools, workflow_id: str, *, seconds: float) -> None:
    """Let the running action of a workflow have begun so long ago."""
    connection = await asyncpg.connect(tools.server.database_url)
    await connection.execute(
        "UPDATE action SET started_at = started_at - make_interval(secs => $2)"
        " WHERE workflow_id = $1::text::uuid AND state = 'RUNNING'",
        workflow_id,
        seconds,
    )
    await connection.close()


async def test_one_open_stream_brings_two_workflows_in_a_row(machines: Tools) -> None:
    worker = Worker(machines)
    stream = worker.contexts()
    coming = asyncio.ensure_future(anext(stream))
    first = await machines.create_workflow(FIRST_MAC, FIRST_MAC, name="first")
    context = await coming
    assert (context.workflow_id, context.current_action, context.total_number_of_actions) == (first, "", 2)
    second = await machines.create_workflow(FIRST_MAC, name="second")
    await worker.take(context)
    context = await anext(stream)
    assert context.workflow_id == second
    await worker.take(context)
    assert [await state(machines, workflow_id) for workflow_id in (first, second)] == [pb.STATE_SUCCESS] * 2
    assert await journal(machines, first) == [
        ("action0", pb.STATE_RUNNING),
        ("action0", pb.STATE_SUCCESS),
        ("action1", pb.STATE_RUNNING),
        ("action1", pb.STATE_SUCCESS),
    ]
    await stream.aclose()


async def test_an_action_that_fails_is_given_again_while_an_attempt_is_left(machines: Tools) -> None:
    outcomes = iter([pb.STATE_FAILED, pb.STATE_TIMEOUT, pb.STATE_SUCCESS, pb.STATE_SUCCESS])
    worker = Worker(machines, outcome=lambda action: next(outcomes))
    extra = ", retries: 2, retry-delay: 0"
    workflow_id = await machines.create_workflow(FIRST_MAC, FIRST_MAC, extra=extra)
    stream = worker.contexts()
    for _ in range(3):
        context = await anext(stream)
        assert context.workflow_id == workflow_id
        await worker.take(context)
    assert await state(machines, workflow_id) == pb.STATE_SUCCESS
    assert await journal(machines, workflow_id) == [
        *[("action0", pb.STATE_RUNNING), ("action0", pb.STATE_FAILED)],
        *[("action0", pb.STATE_RUNNING), ("action0", pb.STATE_TIMEOUT)],
        *[("action0", pb.STATE_RUNNING), ("action0", pb.STATE_SUCCESS)],
        *[("action1", pb.STATE_RUNNING), ("action1", pb.STATE_SUCCESS)],
    ]
    await stream.aclose()


async def test_a_workflow_waits_while_the_worker_is_busy_with_another(machines: Tools) -> None:
    worker = Worker(machines)
    first = await machines.create_workflow(FIRST_MAC, FIRST_MAC, name="first")
    second = await machines.create_workflow(FIRST_MAC, name="second")
    stream = worker.contexts()
    assert (await anext(stream)).workflow_id == first
    coming = asyncio.ensure_future(anext(stream))
    await machines.report(first, 0, pb.STATE_RUNNING)
    await machines.report(first, 0, pb.STATE_SUCCESS)
    await machines.report(first, 1, pb.STATE_RUNNING)
    assert not coming.done()
    await machines.report(first, 1, pb.STATE_SUCCESS)
    assert (await coming).workflow_id == second
    await stream.aclose()


async def test_a_machine_that_becomes_free_gets_its_next_workflow_at_once(machines: Tools) -> None:
    first, second = Worker(machines), Worker(machines, SECOND_WORKER)
    streams = [worker.contexts() for worker in (second, first)]
    held = await machines.create_workflow(SECOND_MAC, FIRST_MAC, name="held")
    context = await anext(streams[0])
    assert context.workflow_id == held
    coming = asyncio.ensure_future(anext(streams[0]))
    await second.take(context)
    waiting = await machines.create_workflow(SECOND_MAC, name="waiting")
    context = await anext(streams[1])
    assert not coming.done()
    # Its last action is the other machine's.
    await first.take(context)
    assert (await coming).workflow_id == waiting
    for stream in streams:
        await stream.aclose()


async def test_workers_take_turns_at_any_index_and_a_turn_may_come_back(machines: Tools) -> None:
    first, second = Worker(machines), Worker(machines, SECOND_WORKER)
    streams = [worker.contexts() for worker in (first, second)]
    coming = [asyncio.ensure_future(anext(stream)) for stream in streams]
    workflow_id = await machines.create_workflow(FIRST_MAC, FIRST_MAC, SECOND_MAC, FIRST_MAC, SECOND_MAC)
    for turn, worker in enumerate((first, second, first, second)):
        context = await coming[turn % 2]
        assert not coming[(turn + 1) % 2].done()
        coming[turn % 2] = asyncio.ensure_future(anext(streams[turn % 2]))
        await worker.take(context)
    assert await state(machines, workflow_id) == pb.STATE_SUCCESS
    assert [name for _, name in first.ran] == ["action0", "action1", "action3"]
    assert [name for _, name in second.ran] == ["action2", "action4"]
    for waiting, stream in zip(coming, streams, strict=True):
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await stream.aclose()


@pytest.mark.parametrize("last", [pb.STATE_RUNNING, pb.STATE_SUCCESS], ids=["during", "between"])
async def test_a_worker_that_comes_back_resumes_at_any_index(machines: Tools, last: pb.State.ValueType) -> None:
    workflow_id = await machines.create_workflow(*[FIRST_MAC] * 5)
    for index in range(2):
        await machines.report(workflow_id, index, pb.STATE_RUNNING)
        await machines.report(workflow_id, index, pb.STATE_SUCCESS)
    if last == pb.STATE_RUNNING:
        await machines.report(workflow_id, 2, pb.STATE_RUNNING)
    shown: list[tuple[str, int]] = []

    async def look(action: pb.WorkflowAction) -> None:
        context = await machines.workflow.GetWorkflowContext(pb.GetRequest(id=workflow_id), timeout=30)
        shown.append((context.current_action, context.current_action_state))

    worker = Worker(machines, meanwhile=look)
    stream = worker.contexts()
    await worker.take(await anext(stream))
    # While it runs an action, that is what everybody sees, so that its timeout counts, and its time.
    assert shown == [(f"action{index}", pb.STATE_RUNNING) for index in (2, 3, 4)]
    assert [name for _, name in worker.ran] == ["action2", "action3", "action4"]
    assert await state(machines, workflow_id) == pb.STATE_SUCCESS
    starts = [name for name, status in await journal(machines, workflow_id) if status == pb.STATE_RUNNING]
    assert starts == [f"action{index}" for index in range(5)]
    await stream.aclose()


async def test_a_start_that_was_not_told_is_counted_with_the_end(machines: Tools) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, FIRST_MAC)
    for index in range(2):
        await machines.report(workflow_id, index, pb.STATE_SUCCESS)
    assert await journal(machines, workflow_id) == [
        (f"action{index}", status) for index in range(2) for status in (pb.STATE_RUNNING, pb.STATE_SUCCESS)
    ]
    assert await state(machines, workflow_id) == pb.STATE_SUCCESS


@pytest.mark.parametrize("outcome", [pb.STATE_SUCCESS, pb.STATE_TIMEOUT])
async def test_what_a_worker_says_soon_after_the_deadline_counts(machines: Tools, outcome: pb.State.ValueType) -> None:
    workflow_id = await machines.create_workflow(SECOND_MAC, FIRST_MAC)
    for status in (pb.STATE_RUNNING, pb.STATE_SUCCESS):
        await machines.report(workflow_id, 0, status, SECOND_WORKER)
    await machines.report(workflow_id, 1, pb.STATE_RUNNING)
    # It removes its container first, and counts from when its image was there.
    await let_pass(machines, workflow_id, seconds=75)
    async with tinkwell.client.connect(machines.server.address) as client:
        assert (await client.workflows.expire(workflow_id)).revision == 0
        await machines.report(workflow_id, 1, outcome)
        assert await state(machines, workflow_id) == outcome
        silent = await machines.create_workflow(FIRST_MAC, FIRST_MAC, name="silent")
        await machines.report(silent, 0, pb.STATE_SUCCESS)
        await machines.report(silent, 1, pb.STATE_RUNNING)
        await let_pass(machines, silent, seconds=91)
        assert (await client.workflows.expire(silent)).revision > 0
        assert await state(machines, silent) == pb.STATE_TIMEOUT


@pytest.mark.parametrize("outcome", [pb.STATE_FAILED, pb.STATE_TIMEOUT])
async def test_an_action_that_ends_badly_ends_its_workflow(machines: Tools, outcome: pb.State.ValueType) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, FIRST_MAC, FIRST_MAC)
    worker = Worker(machines, outcome=lambda action: outcome if action.name == "action1" else pb.STATE_SUCCESS)
    stream = worker.contexts()
    await worker.take(await anext(stream))
    await stream.aclose()
    assert await state(machines, workflow_id) == outcome
    assert (await journal(machines, workflow_id))[-1] == ("action1", outcome)
    context = await machines.workflow.GetWorkflowContext(pb.GetRequest(id=workflow_id), timeout=30)
    assert (context.current_action, context.current_action_state) == ("action1", outcome)


async def test_repeated_reports_succeed_and_change_nothing(machines: Tools) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, FIRST_MAC)
    for report in ((0, pb.STATE_RUNNING), (0, pb.STATE_SUCCESS), (1, pb.STATE_RUNNING), (1, pb.STATE_SUCCESS)):
        for _ in range(3):
            await machines.report(workflow_id, *report)
    assert len(await journal(machines, workflow_id)) == 4
    assert await state(machines, workflow_id) == pb.STATE_SUCCESS


async def test_reports_that_cannot_be_are_refused_and_leave_the_state(machines: Tools) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, FIRST_MAC)
    report = machines.report
    assert await code(report(workflow_id, 1, pb.STATE_SUCCESS)) is grpc.StatusCode.FAILED_PRECONDITION
    assert await code(report(workflow_id, 0, pb.STATE_PENDING)) is grpc.StatusCode.INVALID_ARGUMENT
    assert await code(report(workflow_id, 0, pb.STATE_RUNNING, "one")) is grpc.StatusCode.INVALID_ARGUMENT
    assert await code(report(workflow_id, 0, pb.STATE_RUNNING, SECOND_WORKER)) is grpc.StatusCode.PERMISSION_DENIED
    assert await code(report(workflow_id, 7, pb.STATE_RUNNING)) is grpc.StatusCode.NOT_FOUND
    assert await code(report(SECOND_WORKER, 0, pb.STATE_RUNNING)) is grpc.StatusCode.NOT_FOUND
    assert await state(machines, workflow_id) == pb.STATE_PENDING
    for index in range(2):
        await report(workflow_id, index, pb.STATE_SUCCESS)
    # After the last action there is none to start, and what has ended stays so.
    assert await code(report(workflow_id, 1, pb.STATE_RUNNING)) is grpc.StatusCode.FAILED_PRECONDITION
    assert await code(report(workflow_id, 1, pb.STATE_FAILED)) is grpc.StatusCode.FAILED_PRECONDITION
    assert await state(machines, workflow_id) == pb.STATE_SUCCESS


@pytest.mark.parametrize(
    ("is_deleted", "refusal"),
    [(True, grpc.StatusCode.NOT_FOUND), (False, grpc.StatusCode.FAILED_PRECONDITION)],
    ids=["deleted", "cancelled"],
)
async def test_what_a_user_ends_is_refused_to_its_worker_and_the_next_one_comes(
    machines: Tools, is_deleted: bool, refusal: grpc.StatusCode
) -> None:
    worker = Worker(machines)
    first = await machines.create_workflow(FIRST_MAC, name="first")
    stream = worker.contexts()
    assert (await anext(stream)).workflow_id == first
    await machines.report(first, 0, pb.STATE_RUNNING)
    if is_deleted:
        await machines.workflow.DeleteWorkflow(pb.GetRequest(id=first), timeout=30)
    else:
        async with tinkwell.client.connect(machines.server.address) as client:
            await client.workflows.cancel(first)
    assert await code(machines.report(first, 0, pb.STATE_SUCCESS)) is refusal
    second = await machines.create_workflow(FIRST_MAC, name="second")
    assert (await anext(stream)).workflow_id == second
    await stream.aclose()


async def test_a_stream_needs_a_worker_id_and_one_of_nobody_just_waits(machines: Tools) -> None:
    call = machines.workflow.GetWorkflowContexts(pb.WorkflowContextRequest(), timeout=30)
    assert await code(call.read()) is grpc.StatusCode.INVALID_ARGUMENT
    nobody = machines.workflow.GetWorkflowContexts(
        pb.WorkflowContextRequest(worker_id="00000000-0000-0000-0000-000000000000"), timeout=60
    )
    waiting = asyncio.ensure_future(nobody.read())
    await machines.create_workflow(FIRST_MAC)
    assert not waiting.done()
    nobody.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_an_action_comes_with_what_the_worker_needs_and_without_hooks(machines: Tools) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, SECOND_MAC, global_timeout=1800)
    request = pb.WorkflowActionsRequest(workflow_id=workflow_id)
    first, second = (await machines.workflow.GetWorkflowActions(request, timeout=30)).action_list
    assert (first.task_name, first.name, first.image) == ("task0", "action0", "hello-world")
    assert (first.worker_id, second.worker_id) == (FIRST_WORKER, SECOND_WORKER)
    # Nought would be an hour to the worker.
    assert (first.timeout, second.timeout) == (1800, 60)
    assert not first.on_failure
    assert not first.on_timeout


async def test_the_stream_of_a_worker_that_has_gone_is_let_go(machines: Tools) -> None:
    name = pb.DESCRIPTOR.services_by_name["WorkflowService"].full_name
    held = f'tinkwell_grpc_calls_in_flight{{method="/{name}/GetWorkflowContexts"}} '

    async def count() -> float:
        lines = (await fetch(f"http://{machines.server.http_address}/metrics")).decode().splitlines()
        return next((float(line.removeprefix(held)) for line in lines if line.startswith(held)), 0.0)

    async def is_gone() -> bool:
        return await count() == 0

    call = machines.workflow.GetWorkflowContexts(pb.WorkflowContextRequest(worker_id=FIRST_WORKER), timeout=60)
    workflow_id = await machines.create_workflow(FIRST_MAC)
    assert (await anext(aiter(call))).workflow_id == workflow_id
    assert await count() == 1
    call.cancel()
    await eventually(is_gone, interval_seconds=0.05)


async def test_beyond_the_limit_a_stream_ends_once_it_has_nothing_to_send(
    database_url: str, certificate: dict[str, Path]
) -> None:
    limited: dict[str, Any] = {"tink_port": 0, "max_watchers": 1, **certificate}
    async with support.running(database_url, **limited) as server, connected(server) as tools:
        await tools.push()
        await tools.push(SECOND_WORKER, SECOND_MAC)
        workflow_id = await tools.create_workflow(FIRST_MAC)
        held = Worker(tools).contexts()
        assert (await anext(held)).workflow_id == workflow_id
        assert [context.workflow_id async for context in Worker(tools).contexts()] == [workflow_id]
        assert [context async for context in Worker(tools, SECOND_WORKER).contexts()] == []
        await held.aclose()


async def test_a_stopping_server_ends_the_streams_at_once(database_url: str, certificate: dict[str, Path]) -> None:
    patient: dict[str, Any] = {"tink_port": 0, "shutdown_grace_seconds": 100, **certificate}
    async with support.running(database_url, **patient) as server:
        bundle = await fetch(f"http://{server.http_address}/cert")
        channel = grpc.aio.secure_channel(server.tink_address, grpc.ssl_channel_credentials(bundle))
        tools = Tools(channel, server)
        await tools.push()
        call = tools.workflow.GetWorkflowContexts(pb.WorkflowContextRequest(worker_id=FIRST_WORKER), timeout=60)
        workflow_id = await tools.create_workflow(FIRST_MAC)
        assert (await anext(aiter(call))).workflow_id == workflow_id
    assert await call.code() is grpc.StatusCode.UNAVAILABLE
    await channel.close()


async def test_work_comes_also_after_the_server_lost_its_connections_to_the_log(machines: Tools) -> None:
    stream = Worker(machines).contexts()
    coming = asyncio.ensure_future(anext(stream))
    connection = await asyncpg.connect(machines.server.database_url)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^tinkwell '"
    )
    await connection.close()
    workflow_id = await machines.create_workflow(FIRST_MAC)
    assert (await coming).workflow_id == workflow_id
    await stream.aclose()
