"""Workflows through the client: made, reported on, followed, ended."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest

from tinkwell.client import Client, Hardware, LogLine, LogStream, State, errors, testing
from tinkwell.client.value import output
from tinkwell.client.workflow.model import Report, Reported
from tinkwell.core import errors as core_errors

YAML = """\
version: "0.1"
name: two-steps
global_timeout: 600
tasks:
  - name: provision
    worker: "{{.device_1}}"
    environment: {A: "1"}
    actions:
      - {name: wipe, image: wipe, timeout: 60, on-timeout: [echo, late]}
      - {name: write, image: write, timeout: 60}
"""
MAC = "52:54:00:10:00:03"
WORKER = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"


@pytest.fixture
async def workflow_id(server: testing.FakeServer, client: Client) -> str:
    server.put(Hardware(WORKER, network={"interfaces": [{"dhcp": {"mac": MAC}}]}))
    template = await client.templates.create(YAML)
    return (await client.workflows.create(template.id, {"device_1": MAC})).id


async def report(client: Client, workflow_id: str, action: str, state: State, exit_code: int | None = None) -> int:
    reported = await client.workflows.report(
        workflow_id, task_name="provision", action_name=action, worker_id=WORKER, state=state, exit_code=exit_code
    )
    return reported.revision


async def test_a_workflow_is_its_template_rendered_and_frozen_into_actions(client: Client, workflow_id: str) -> None:
    workflow = await client.workflows.get(workflow_id)
    assert (workflow.state, workflow.template_name, workflow.total_actions) == (State.PENDING, "two-steps", 2)
    assert workflow.hardware == {"device_1": MAC}
    assert workflow.data is not None
    assert MAC in workflow.data
    actions = await client.workflows.actions(workflow_id)
    assert [(a.index, a.name, a.worker_id, a.environment, a.state) for a in actions] == [
        (0, "wipe", WORKER, ("A=1",), State.PENDING),
        (1, "write", WORKER, ("A=1",), State.PENDING),
    ]
    assert actions[0].on_timeout == ("echo", "late")


async def test_a_creation_without_an_id_gets_one_so_that_it_can_be_repeated(
    server: testing.FakeServer, client: Client, workflow_id: str
) -> None:
    again = await client.workflows.create("two-steps", f'{{"device_1": "{MAC}"}}', id=workflow_id)
    assert again.id == workflow_id == next(iter(server.requests("CreateWorkflow"))).id
    assert len([each async for each in client.workflows.list()]) == 1


async def test_reports_move_a_workflow_to_its_end(client: Client, workflow_id: str) -> None:
    for action in ("wipe", "write"):
        assert await report(client, workflow_id, action, State.RUNNING) > 0
        assert await report(client, workflow_id, action, State.RUNNING) == 0
        assert await report(client, workflow_id, action, State.SUCCEEDED, exit_code=0) > 0
    workflow = await client.workflows.get(workflow_id)
    assert (workflow.state, workflow.completed_actions) == (State.SUCCEEDED, 2)
    journal = [
        (entry.action_name, entry.state, entry.exit_code) async for entry in client.workflows.events(workflow_id)
    ]
    assert journal == [
        ("wipe", State.RUNNING, None),
        ("wipe", State.SUCCEEDED, 0),
        ("write", State.RUNNING, None),
        ("write", State.SUCCEEDED, 0),
    ]


async def test_a_report_tells_the_attempt_it_counted_for(client: Client, workflow_id: str) -> None:
    action = (await client.workflows.actions(workflow_id))[0]
    reported = await client.workflows.report(workflow_id, action_id=action.id, worker_id=WORKER, state="RUNNING")
    assert reported.attempt == 1
    assert 0 < (reported.remaining_seconds or 0) <= action.timeout_seconds


async def test_a_late_report_and_one_of_another_worker_are_refused(client: Client, workflow_id: str) -> None:
    with pytest.raises(errors.IllegalTransition):
        await report(client, workflow_id, "write", State.RUNNING)
    with pytest.raises(errors.WrongWorker):
        await client.workflows.report(
            workflow_id, task_name="provision", action_name="wipe", worker_id="other", state=State.RUNNING
        )
    with pytest.raises(errors.InvalidField, match=r"state: 'DONE' is none of PENDING, RUNNING"):
        await client.workflows.report(workflow_id, action_id="a1", worker_id=WORKER, state="DONE")


async def test_contexts_tell_how_far_workflows_are(client: Client, workflow_id: str) -> None:
    context = await client.workflows.context(workflow_id)
    assert (context.current_action, context.current_action_state, context.total_number_of_actions) == ("", None, 2)
    await report(client, workflow_id, "wipe", State.RUNNING)
    context = await client.workflows.context(workflow_id)
    assert (context.current_action, context.current_action_state) == ("wipe", State.RUNNING)
    # Its machines come with it alone.
    context = dataclasses.replace(context, holds=())
    assert [each async for each in client.workflows.contexts(WORKER)] == [context]
    assert await client.workflows.context_list(WORKER) == (context,)
    assert await client.workflows.context_list("other") == ()


async def test_lists_filter_by_state_and_leave_the_data_out(client: Client, workflow_id: str) -> None:
    assert [each.data async for each in client.workflows.list()] == [None]
    assert [each.id async for each in client.workflows.list([State.PENDING, "RUNNING"])] == [workflow_id]
    assert [each.id async for each in client.workflows.list(["FAILED"])] == []
    with pytest.raises(errors.InvalidField, match=r"states\[0\]: 'DEAD' is none of"):
        client.workflows.list(["DEAD"])


async def test_cancelling_twice_changes_nothing_the_second_time(client: Client, workflow_id: str) -> None:
    assert (await client.workflows.cancel(workflow_id, "wrong rack")).revision > 0
    assert (await client.workflows.cancel(workflow_id)).revision == 0
    workflow = await client.workflows.get(workflow_id)
    assert workflow.state is State.CANCELLED
    assert workflow.cause is not None
    assert workflow.cause["message"] == "wrong rack"


async def test_deleting_an_unfinished_workflow_cancels_it_first(
    server: testing.FakeServer, client: Client, workflow_id: str
) -> None:
    assert (await client.workflows.delete(workflow_id)).revision == server.log.tail
    assert [event.name for event in server.log.events][-2:] == ["workflow.cancelled", "workflow.deleted"]
    with pytest.raises(errors.NotFound):
        await client.workflows.get(workflow_id)


async def test_the_shared_document_has_versions(client: Client, workflow_id: str) -> None:
    assert await client.workflows.data(workflow_id) == (b"", 0)
    assert await client.workflows.data_version(workflow_id) == 0
    assert await client.workflows.update_data(workflow_id, b'{"a": 1}', b'{"by": "wipe"}') == 1
    assert await client.workflows.update_data(workflow_id, b'{"a": 2}') == 2
    assert await client.workflows.data(workflow_id) == (b'{"a": 2}', 2)
    assert await client.workflows.data(workflow_id, 1) == (b'{"a": 1}', 1)
    assert (await client.workflows.metadata(workflow_id, 1)).data == b'{"by": "wipe"}'
    assert await client.workflows.data_version(workflow_id) == 2


def line(number: int, text: str = "text") -> LogLine:
    return LogLine("a1", 1, number, text, LogStream.STDERR)


async def test_output_lines_come_back_in_order_and_each_once(client: Client, workflow_id: str) -> None:
    assert await client.workflows.append_logs(workflow_id, [line(1), line(2)]) == 2
    assert await client.workflows.append_logs(workflow_id, [line(2), line(3)]) == 2
    assert [each async for each in client.workflows.logs(workflow_id)] == [line(1), line(2), line(3)]


async def test_many_output_lines_are_sent_in_few_messages_of_bounded_size(
    server: testing.FakeServer, client: Client, workflow_id: str
) -> None:
    lines = [line(number, "x" * 16_000) for number in range(1, 301)]
    assert await client.workflows.append_logs(workflow_id, lines) == 300
    sizes = [request.ByteSize() for request in server.requests("AppendLogs")]
    assert len(sizes) < 30
    assert max(sizes) < 4 * 1024 * 1024
    assert [each.number async for each in client.workflows.logs(workflow_id)] == list(range(1, 301))


async def test_no_output_lines_are_no_error(client: Client, workflow_id: str) -> None:
    assert await client.workflows.append_logs(workflow_id, []) == 0


async def test_output_is_followed_while_it_is_written_until_the_workflow_ends(client: Client, workflow_id: str) -> None:
    written, seen = asyncio.Event(), asyncio.Queue[int](10)

    async def lines() -> AsyncIterator[LogLine]:
        for number in (1, 2):
            yield line(number)
        await written.wait()
        yield line(3)

    async def follow() -> None:
        async for each in client.workflows.logs(workflow_id, follow=True):
            seen.put_nowait(each.number)
        seen.put_nowait(0)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(follow())
        writing = group.create_task(client.workflows.append_logs(workflow_id, lines()))
        assert [await seen.get(), await seen.get()] == [1, 2]
        written.set()
        assert await seen.get() == 3
        assert await writing == 3
        await client.workflows.cancel(workflow_id)
        assert await seen.get() == 0


async def test_lines_that_the_server_refuses_end_the_upload_with_its_reason(client: Client) -> None:
    async def endless() -> AsyncIterator[LogLine]:
        number = 0
        while True:
            number += 1
            yield line(number)
            await asyncio.sleep(0)

    async with asyncio.timeout(10):
        with pytest.raises(errors.NotFound):
            await client.workflows.append_logs("unknown", endless())


async def test_an_error_of_the_source_of_lines_reaches_the_caller(client: Client, workflow_id: str) -> None:
    async def broken() -> AsyncIterator[LogLine]:
        yield line(1)
        raise TimeoutError("the source was slow")

    with pytest.raises(TimeoutError, match="the source was slow"):
        await client.workflows.append_logs(workflow_id, broken())


async def test_a_lost_connection_while_lines_are_sent_loses_none(
    server: testing.FakeServer, client: Client, workflow_id: str
) -> None:
    server.fail_next(core_errors.Unavailable("restarting"), method="AppendLogs", times=2)

    async def lines() -> AsyncIterator[LogLine]:
        for number in range(1, 6):
            yield line(number)

    await client.workflows.append_logs(workflow_id, lines())
    assert [each.number async for each in client.workflows.logs(workflow_id)] == [1, 2, 3, 4, 5]


async def test_lines_that_gather_while_others_are_sent_go_together() -> None:
    batches: list[list[int]] = []
    sending = asyncio.Event()

    async def lines() -> AsyncIterator[LogLine]:
        yield line(1)
        await sending.wait()
        for number in range(2, 5):
            yield line(number)

    async def send(batch: list[LogLine]) -> None:
        sending.set()
        for _ in range(10):
            await asyncio.sleep(0)
        batches.append([each.number for each in batch])

    await output.relay(lines(), send)
    assert batches == [[1], [2, 3, 4]]


async def test_a_source_of_lines_waits_while_too_many_are_unsent() -> None:
    produced = 0
    is_stuck = asyncio.Event()

    async def lines() -> AsyncIterator[LogLine]:
        nonlocal produced
        while True:
            produced += 1
            yield line(produced)

    async def send(batch: list[LogLine]) -> None:
        for _ in range(5 * output.BATCH_LINES):
            await asyncio.sleep(0)
        is_stuck.set()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await output.relay(lines(), send)
    assert produced <= 2 * output.BATCH_LINES + 2


async def test_reports_of_one_call_come_each_to_its_own(client: Client, workflow_id: str) -> None:
    wipe, write = await client.workflows.actions(workflow_id)
    begin = Report(workflow_id=workflow_id, action_id=wipe.id, worker_id=WORKER, state=State.RUNNING, attempt=1)
    early = dataclasses.replace(begin, action_id=write.id)
    begun, refused, missing = await client.workflows.report_together(
        [begin, early, dataclasses.replace(begin, workflow_id=WORKER)]
    )
    assert isinstance(begun, Reported)
    assert (begun.attempt, begun.state) == (1, State.RUNNING)
    assert isinstance(refused, errors.IllegalTransition)
    assert isinstance(missing, errors.NotFound)
    assert missing.resource_id == WORKER
