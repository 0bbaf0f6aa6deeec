"""What every server answers to the client: run against the real one and against the fake that users test with."""

import asyncio
import contextlib
import dataclasses
import functools
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping

import pytest

from tinkwell.client import BulkChange, Client, Conditional, EventType, LogLine, ResourceType, State, Workflow, errors

Check = Callable[[Client], Awaitable[None]]
CHECKS: list[Check] = []

MAC, IP = "52:54:00:10:00:03", "192.168.56.43"
TEMPLATE = """\
version: "0.1"
name: two-steps
global_timeout: 600
tasks:
  - name: provision
    worker: "{{.device_1}}"
    environment: {A: "1"}
    actions:
      - {name: wipe, image: wipe, timeout: 60}
      - {name: write, image: write, timeout: 60, on-failure: [echo, failed]}
"""


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


def machine(mac: str = MAC, ip: str = IP) -> dict[str, object]:
    dhcp = {"mac": mac, "ip": {"address": ip}, "uefi": True}
    return {"id": str(uuid.uuid4()), "metadata": {"rack": 5}, "network": {"interfaces": [{"dhcp": dhcp}]}}


async def names(client: Client, resource_types: list[str], last: str) -> list[str]:
    """Give the names of the events of workflows and actions after their creation, up to one of this name."""
    seen: list[str] = []
    async with asyncio.timeout(20):
        async for event in client.workflows.watch(resource_types=resource_types):
            if event.event_type is not EventType.CREATED:
                seen.append(event.name)
            if event.name == last:
                break
    return seen


@check
async def a_pushed_machine_is_found_in_every_way(client: Client) -> None:
    pushed = machine()
    change = await client.hardware.push(pushed)
    found = await client.hardware.by_id(str(pushed["id"]))
    assert (change.version, found.version) == (1, 1)
    assert (found.metadata, found.network) == (pushed["metadata"], pushed["network"])
    for mac in (MAC, MAC.upper(), MAC.replace(":", "-")):
        assert await client.hardware.by_mac(mac) == found
    for ip in (IP, f"::ffff:{IP}"):
        assert await client.hardware.by_ip(ip) == found
    assert [each async for each in client.hardware.all()] == [found]


@check
async def the_event_of_a_machine_carries_the_machine(client: Client) -> None:
    change = await client.hardware.push(pushed := machine())
    event = await anext(client.hardware.watch())
    assert (event.revision, event.version, event.name) == (change.revision, 1, "hardware.created")
    assert (event.resource_type, event.event_type) == (ResourceType.HARDWARE, EventType.CREATED)
    assert event.resource == await client.hardware.by_id(str(pushed["id"]))


@check
async def a_deleted_machine_that_is_pushed_again_is_created_and_goes_on_counting(client: Client) -> None:
    pushed = machine()
    await client.hardware.push(pushed)
    await client.hardware.push(pushed | {"metadata": {}})
    assert (await client.hardware.push(pushed | {"metadata": {}})).revision == 0
    await client.hardware.delete(str(pushed["id"]))
    await client.hardware.push(pushed)
    events = client.hardware.watch()
    seen = [await anext(events) for _ in range(4)]
    assert [(event.name, event.version) for event in seen] == [
        ("hardware.created", 1),
        ("hardware.updated", 2),
        ("hardware.deleted", 3),
        ("hardware.created", 4),
    ]
    assert ["deleted_at" in event.data for event in seen] == [False, False, True, False]


@check
async def a_push_with_another_version_loses_the_race(client: Client) -> None:
    pushed = machine()
    await client.hardware.push(pushed, expected_version=0)
    with pytest.raises(errors.LostRace):
        await client.hardware.push(pushed, expected_version=0)
    assert (await client.hardware.push(pushed | {"metadata": {}}, expected_version=1)).version == 2


def machines(count: int) -> list[dict[str, object]]:
    return [machine(f"52:54:00:11:{number // 256:02x}:{number % 256:02x}", "") for number in range(count)]


@check
async def many_machines_are_pushed_in_their_order(client: Client) -> None:
    pushed = machines(250)
    told: list[BulkChange] = []
    done = await client.hardware.push_many(pushed, on_progress=told.append)
    assert (done.stored, done.changed, done.revision) == (250, 250, 250)
    assert told[-1] == done
    assert [each.stored for each in told] == sorted({each.stored for each in told})
    events = client.hardware.watch()
    assert [(await anext(events)).resource_id for _ in pushed] == [each["id"] for each in pushed]

    async def produce() -> AsyncIterator[Mapping[str, object] | Conditional]:
        for number, each in enumerate(pushed):
            yield Conditional(each | {"metadata": {}}, expected_version=1) if number == 7 else each

    again = await client.hardware.push_many(produce())
    assert (again.stored, again.changed, again.revision) == (250, 1, 251)
    assert (await client.hardware.push_many([])).stored == 0


@check
async def the_machines_before_the_one_that_is_refused_are_stored(client: Client) -> None:
    told: list[int] = []
    wrong = machines(300)
    wrong[123] |= {"id": "x"}
    with pytest.raises(errors.InvalidField) as refused:
        await client.hardware.push_many(wrong, on_progress=lambda done: told.append(done.stored))
    assert [violation.field for violation in refused.value.violations] == ["machines[123].data.id"]
    assert told[-1] == 123
    told.clear()
    unfit = [*wrong[:123], wrong[124] | {"netwrok": {}}, *wrong[125:]]
    with pytest.raises(errors.InvalidField) as kept:
        await client.hardware.push_many(unfit, on_progress=lambda done: told.append(done.stored))
    assert [violation.field for violation in kept.value.violations] == ["machines[123].data.netwrok"]
    assert told[-1] == 123
    assert len([each async for each in client.hardware.all()]) == 123


@check
async def a_machine_of_many_that_cannot_be_is_named_by_its_place(client: Client) -> None:
    pushed = machines(130)
    taken = [*pushed[:-1], pushed[-1] | {"network": pushed[2]["network"]}]
    with pytest.raises(errors.AlreadyExists, match=r"machines\[129\]: mac 52:54:00:11:00:02") as caught:
        await client.hardware.push_many(taken)
    assert caught.value.metadata["taken_by"] == pushed[2]["id"]
    with pytest.raises(errors.LostRace, match=r"machines\[1\]"):
        await client.hardware.push_many([pushed[0], Conditional(pushed[1], expected_version=0)])
    assert len([each async for each in client.hardware.all()]) == 129


@check
async def a_taken_address_names_its_owner(client: Client) -> None:
    await client.hardware.push(first := machine())
    for other in (machine(ip="192.168.56.44"), machine(mac="52:54:00:10:00:04")):
        with pytest.raises(errors.AlreadyExists) as caught:
            await client.hardware.push(other)
        assert caught.value.metadata["taken_by"] == first["id"]


@check
async def what_does_not_exist_is_not_found(client: Client) -> None:
    id_ = str(uuid.uuid4())
    calls = {
        "HARDWARE": client.hardware.by_id(id_),
        "TEMPLATE": client.templates.get(id=id_),
        "WORKFLOW": client.workflows.get(id_),
    }
    for kind, call in calls.items():
        with pytest.raises(errors.NotFound) as caught:
            await call
        assert (caught.value.resource_type, caught.value.resource_id, caught.value.reason) == (kind, id_, "NOT_FOUND")


@check
async def a_phone_call_is_an_event_with_the_machine_and_what_it_said(client: Client) -> None:
    await client.hardware.push(pushed := machine())
    change = await client.hardware.phone_home(mac=MAC, data={"uptime": 5})
    event = await anext(client.hardware.watch(event_types=[EventType.HARDWARE_PHONE_HOME]))
    assert (event.revision, event.name, event.version) == (change.revision, "hardware.phone_home", 1)
    assert (event.resource_id, event.data["phone_home"]) == (pushed["id"], {"uptime": 5})
    assert event.resource == await client.hardware.by_id(str(pushed["id"]))


@check
async def a_template_lives_from_its_creation_to_its_deletion(client: Client) -> None:
    created = await client.templates.create(TEMPLATE)
    assert (await client.templates.create(TEMPLATE, id=created.id)).revision == 0
    found = await client.templates.get(name="two-steps")
    assert (found.id, found.version, found.data) == (created.id, 1, TEMPLATE)
    with pytest.raises(errors.AlreadyExists):
        await client.templates.create(TEMPLATE)
    assert (await client.templates.update(created.id, name="renamed", expected_version=1)).version == 2
    with pytest.raises(errors.LostRace):
        await client.templates.update(created.id, name="again", expected_version=1)
    assert [(each.name, each.data) async for each in client.templates.list("RE*")] == [("renamed", None)]
    assert [each async for each in client.templates.list("other*")] == []
    await client.templates.delete(id=created.id)
    with pytest.raises(errors.NotFound):
        await client.templates.get(name="renamed")


@check
async def what_is_wrong_with_a_request_is_named(client: Client) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        await client.templates.create("name: [")
    assert [violation.field for violation in caught.value.violations] == ["data"]
    with pytest.raises(errors.InvalidField) as caught:
        await client.events.publish("workflow.exploded")
    assert [violation.field for violation in caught.value.violations] == ["name"]
    with pytest.raises(errors.InvalidField) as caught:
        await anext(client.events.watch(resource_id=str(uuid.uuid4())))
    assert [violation.field for violation in caught.value.violations] == ["resource_types"]


async def workflow_of(client: Client) -> tuple[str, str]:
    """Create a workflow, and give its id and that of its worker."""
    await client.hardware.push(pushed := machine())
    await client.templates.create(TEMPLATE)
    created = await client.workflows.create("two-steps", {"device_1": MAC})
    return created.id, str(pushed["id"])


@check
async def a_workflow_is_frozen_into_ordered_actions(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    workflow = await client.workflows.get(workflow_id)
    assert (workflow.state, workflow.template_name, workflow.total_actions) == (State.PENDING, "two-steps", 2)
    assert (workflow.hardware, workflow.global_timeout_seconds) == ({"device_1": MAC}, 600)
    assert MAC in (workflow.data or "")
    actions = await client.workflows.actions(workflow_id)
    assert [(a.index, a.task_name, a.name, a.worker_id, a.environment) for a in actions] == [
        (0, "provision", "wipe", worker_id, ("A=1",)),
        (1, "provision", "write", worker_id, ("A=1",)),
    ]
    assert (await client.workflows.context(workflow_id)).actions == ()
    assert (await client.workflows.context(workflow_id, with_actions=True)).actions == actions
    again = await client.workflows.create("two-steps", {"device_1": MAC}, id=workflow_id)
    assert (again.id, again.revision) == (workflow_id, 0)


@check
async def reports_become_events_in_one_order(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    for name in ("wipe", "write"):
        for state in (State.RUNNING, State.RUNNING, State.SUCCEEDED):
            await client.workflows.report(
                workflow_id, task_name="provision", action_name=name, worker_id=worker_id, state=state
            )
    assert await names(client, ["WORKFLOW", "ACTION"], "workflow.succeeded") == [
        "workflow.started",
        "action.started",
        "action.succeeded",
        "workflow.inprogress",
        "action.started",
        "action.succeeded",
        "workflow.succeeded",
    ]
    journal = [(each.action_name, each.state) async for each in client.workflows.events(workflow_id)]
    assert journal == [(name, state) for name in ("wipe", "write") for state in (State.RUNNING, State.SUCCEEDED)]


@check
async def a_failed_action_ends_its_workflow_with_a_cause(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    first, _ = await client.workflows.actions(workflow_id)
    for state in (State.RUNNING, State.FAILED):
        reported = await client.workflows.report(
            workflow_id, action_id=first.id, worker_id=worker_id, state=state, exit_code=7, message="no disk"
        )
        assert reported.attempt == 1
    workflow = await client.workflows.get(workflow_id)
    assert (workflow.state, workflow.completed_actions) == (State.FAILED, 0)
    assert workflow.cause is not None
    expected = {"reason": "ACTION_FAILED", "message": "no disk", "action_id": first.id, "exit_code": 7}
    assert {key: workflow.cause[key] for key in expected} == expected
    states = [(action.state, action.exit_code) for action in await client.workflows.actions(workflow_id)]
    assert states == [(State.FAILED, 7), (State.CANCELLED, None)]
    with pytest.raises(errors.IllegalTransition):
        await client.workflows.report(workflow_id, action_id=first.id, worker_id=worker_id, state=State.SUCCEEDED)


@check
async def a_failed_attempt_is_repeated_while_one_is_left(client: Client) -> None:
    await client.hardware.push(machine())
    again = TEMPLATE.replace("timeout: 60}", "timeout: 60, retries: 1, retry-delay: 60}", 1)
    await client.templates.create(again + "on-failure: rescue\n")
    workflow_id = (await client.workflows.create("two-steps", {"device_1": MAC})).id
    assert (await client.workflows.get(workflow_id)).on_failure == "rescue"
    first, _ = await client.workflows.actions(workflow_id)
    assert (first.retries, first.retry_delay_seconds, first.wait_seconds) == (1, 60, None)
    for state in (State.RUNNING, State.FAILED):
        reported = await client.workflows.report(
            workflow_id, action_id=first.id, worker_id=first.worker_id, state=state, message="no", exit_code=3
        )
    assert (reported.attempt, reported.state) == (1, State.PENDING)
    waiting, _ = await client.workflows.actions(workflow_id)
    assert (waiting.state, waiting.attempt, waiting.exit_code, waiting.message) == (State.PENDING, 1, 3, "no")
    assert waiting.wait_seconds is not None
    assert 30 < waiting.wait_seconds <= 60
    context = await client.workflows.context(workflow_id)
    assert (context.current_action, context.current_action_state) == (first.name, State.PENDING)
    assert (await names(client, ["ACTION"], "action.retrying")) == ["action.started", "action.retrying"]


@check
async def only_its_worker_may_report_on_an_action(client: Client) -> None:
    workflow_id, _ = await workflow_of(client)
    with pytest.raises(errors.WrongWorker):
        await client.workflows.report(
            workflow_id, task_name="provision", action_name="wipe", worker_id=str(uuid.uuid4()), state=State.RUNNING
        )


@check
async def a_machine_runs_one_workflow_at_a_time(client: Client) -> None:
    first, worker_id = await workflow_of(client)
    second = (await client.workflows.create("two-steps", {"device_1": MAC})).id
    start = functools.partial(
        client.workflows.report, task_name="provision", action_name="wipe", worker_id=worker_id, state=State.RUNNING
    )
    await start(first)
    with pytest.raises(errors.MachineBusy) as caught:
        await start(second)
    assert (caught.value.worker_id, caught.value.held_by) == (worker_id, first)
    context = await client.workflows.context(second)
    assert (context.waits_for_workflow, context.waits_for_worker) == (first, worker_id)
    assert [each.workflow_id async for each in client.workflows.contexts(worker_id)] == [first]
    await client.workflows.cancel(first)
    assert [each.workflow_id async for each in client.workflows.contexts(worker_id)] == [second]
    await start(second)


@check
async def unfinished_workflows_are_named_by_what_they_are_at(client: Client) -> None:
    running, worker_id = await workflow_of(client)
    over, pending = [(await client.workflows.create("two-steps", {"device_1": MAC})).id for _ in range(2)]
    await client.workflows.report(
        running, task_name="provision", action_name="wipe", worker_id=worker_id, state=State.RUNNING
    )
    await client.workflows.cancel(over)
    pages = [page async for page in client.workflows.unfinished()]
    assert [id_ for page in pages for id_ in page.running_ids] == [running]
    assert [id_ for page in pages for id_ in page.pending_ids] == [pending]


@check
async def contexts_tell_how_far_a_workflow_is(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    assert (await client.workflows.context(workflow_id)).current_action_state is None
    await client.workflows.report(
        workflow_id, task_name="provision", action_name="wipe", worker_id=worker_id, state=State.RUNNING
    )
    context = await client.workflows.context(workflow_id)
    assert (context.current_action, context.current_action_state, context.current_worker) == (
        "wipe",
        State.RUNNING,
        worker_id,
    )
    # Which machines it holds is told of one workflow alone.
    listed = dataclasses.replace(context, holds=())
    assert [each async for each in client.workflows.contexts(worker_id)] == [listed]
    assert await client.workflows.context_list(worker_id) == (listed,)


@check
async def a_cancelled_workflow_stays_cancelled(client: Client) -> None:
    workflow_id, _ = await workflow_of(client)
    assert (await client.workflows.cancel(workflow_id, "wrong rack")).revision > 0
    assert (await client.workflows.cancel(workflow_id)).revision == 0
    workflow = await client.workflows.get(workflow_id)
    assert workflow.state is State.CANCELLED
    assert (workflow.cause or {})["message"] == "wrong rack"


@check
async def deleting_an_unfinished_workflow_cancels_it_first(client: Client) -> None:
    workflow_id, _ = await workflow_of(client)
    await client.workflows.delete(workflow_id)
    assert await names(client, ["WORKFLOW"], "workflow.deleted") == ["workflow.cancelled", "workflow.deleted"]
    with pytest.raises(errors.NotFound):
        await client.workflows.get(workflow_id)


@check
async def only_a_creation_carries_the_rendered_template(client: Client) -> None:
    workflow_id, _ = await workflow_of(client)
    await client.workflows.cancel(workflow_id)
    events = client.workflows.watch(resource_types=["WORKFLOW"])
    created, cancelled = await anext(events), await anext(events)
    assert isinstance(created.resource, Workflow)
    assert created.resource.data == (await client.workflows.get(workflow_id)).data
    assert "data" not in cancelled.data


@check
async def output_lines_are_kept_once(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    action, _ = await client.workflows.actions(workflow_id)
    await client.workflows.report(workflow_id, action_id=action.id, worker_id=worker_id, state=State.RUNNING)
    lines = [LogLine(action.id, 1, number, f"line {number}") for number in (1, 2, 3)]
    assert await client.workflows.append_logs(workflow_id, lines[:2]) == 2
    assert await client.workflows.append_logs(workflow_id, lines) == 3
    seen = [(line.number, line.text, line.action_name) async for line in client.workflows.logs(workflow_id)]
    assert seen == [(1, "line 1", "wipe"), (2, "line 2", "wipe"), (3, "line 3", "wipe")]


@check
async def an_open_line_is_replaced_until_it_is_complete(client: Client) -> None:
    workflow_id, worker_id = await workflow_of(client)
    action, _ = await client.workflows.actions(workflow_id)
    await client.workflows.report(workflow_id, action_id=action.id, worker_id=worker_id, state=State.RUNNING)

    async def append(*lines: tuple[int, str, bool]) -> None:
        sent = [LogLine(action.id, 1, number, text, is_open=is_open) for number, text, is_open in lines]
        assert await client.workflows.append_logs(workflow_id, sent) == len(lines)

    async def seen() -> list[tuple[int, str, bool]]:
        return [(line.number, line.text, line.is_open) async for line in client.workflows.logs(workflow_id)]

    await append((1, "begin", False), (2, "1 %", True))
    assert await seen() == [(1, "begin", False), (2, "1 %", True)]
    followed = client.workflows.logs(workflow_id, follow=True)
    assert isinstance(followed, AsyncGenerator)
    async with asyncio.timeout(20), contextlib.aclosing(followed):
        assert [(await anext(followed)).text for _ in range(2)] == ["begin", "1 %"]
        await append((2, "50 %", True))
        assert (await anext(followed)).text == "50 %"
        await append((2, "99 %", True), (2, "done", False), (2, "late", True), (3, "end", False))
        assert [(await anext(followed)).text for _ in range(2)] == ["done", "end"]
    await append((2, "later", False))
    assert await seen() == [(1, "begin", False), (2, "done", False), (3, "end", False)]


@check
async def the_shared_document_has_versions(client: Client) -> None:
    workflow_id, _ = await workflow_of(client)
    assert await client.workflows.data(workflow_id) == (b"", 0)
    assert await client.workflows.update_data(workflow_id, b'{"a": 1}', b'{"by": "wipe"}') == 1
    assert await client.workflows.update_data(workflow_id, b'{"a": 2}', b"{}") == 2
    assert (await client.workflows.data(workflow_id)).version == 2
    assert (await client.workflows.metadata(workflow_id, 1)).data == b'{"by": "wipe"}'
    assert await client.workflows.data_version(workflow_id) == 2


@check
async def a_watch_begins_where_it_is_told_and_filters(client: Client) -> None:
    published = [await client.events.publish(name) for name in ("rack.opened", "rack.closed", "rack.opened")]
    revisions = [each.revision for each in published]
    assert (await anext(client.events.watch())).revision == revisions[0]
    assert (await anext(client.events.watch(from_revision=revisions[1]))).revision == revisions[1]
    assert (await anext(client.events.watch(names=["rack.closed"], since=60))).revision == revisions[1]
    async with client.events.watch(now=True, names=["rack.moved"]) as events:
        last = await client.events.publish("rack.moved", data={"rack": 5})
        event = await anext(events)
    assert (event.revision, event.id, event.data) == (last.revision, last.id, {"rack": 5})


@check
async def a_revision_beyond_the_end_is_of_another_history(client: Client) -> None:
    with pytest.raises(errors.OtherHistory) as caught:
        await anext(client.events.watch(from_revision=1_000_000))
    assert caught.value.history_id
    with pytest.raises(errors.OtherHistory):
        await anext(client.events.watch(from_revision=1, history_id=str(uuid.uuid4())))


@check
async def a_position_belongs_to_whom_claimed_it_last(client: Client) -> None:
    async with client.events.watch(now=True) as events:
        history_id = events.history_id
    published = await client.events.publish("rack.opened")
    with pytest.raises(errors.NotFound):
        await client.events.position("mailer")
    first = await client.events.position("mailer", claim=True)
    assert first.revision == 0
    second = await client.events.position("mailer", claim=True)
    with pytest.raises(errors.LostRace):
        await client.events.commit_position(
            "mailer", revision=published.revision, history_id=history_id, token=first.token
        )
    await client.events.commit_position(
        "mailer", revision=published.revision, history_id=history_id, token=second.token
    )
    stored = await client.events.position("mailer")
    assert (stored.revision, stored.history_id) == (published.revision, history_id)
