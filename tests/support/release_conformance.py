"""What every server answers about releases: run against the real one and against the fake that users test with."""

import asyncio
import contextlib
import dataclasses
import json
import uuid
from collections.abc import AsyncGenerator

import pytest

from support.client_conformance import Check
from support.release_provisioner import MANIFEST, PLAN, RENDERED, Provisioner, apply, step
from tinkwell.client import Client, EventType, ResourceType, StepLogLine, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import (
    NodeState,
    OperationKind,
    Phase,
    ReleaseState,
    ResourceStatus,
    RevisionState,
    StepKind,
)
from tinkwell.core.release.report import NodeReport, PhaseReport, step_id

CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


async def names(client: Client, last: str, *, count: int = 1) -> list[str]:
    """Give the names of the events of releases, up to one of this name, the `count`th."""
    seen: list[str] = []
    async with asyncio.timeout(20):
        async for event in client.releases.watch():
            seen.append(event.name)
            if seen.count(last) == count:
                break
    return seen


@check
async def what_was_asked_for_is_pending_until_somebody_takes_it(client: Client) -> None:
    handle = await apply(client, description="first", reason="try", timeout_seconds=60)
    operation = await client.releases.operation(handle.id)
    assert (operation.kind, operation.state, operation.phase) == (OperationKind.INSTALL, State.PENDING, Phase.LOAD)
    assert (operation.release_name, operation.namespace, operation.reason) == ("shop", "default", "try")
    assert operation.options is not None
    assert (operation.options.timeout_seconds, operation.options.parallel) == (60, 8)
    assert operation.remaining_seconds is not None
    assert 0 < operation.remaining_seconds <= 60
    release = await client.releases.get("shop")
    assert (release.state, release.revision, release.operation_id) == (ReleaseState.PENDING_INSTALL, 0, handle.id)
    assert release.description == "first"
    assert release == await client.releases.get(id=release.id)
    assert await names(client, "operation.created") == ["release.created", "operation.created"]


@check
async def a_repeated_request_begins_no_second_operation(client: Client) -> None:
    id_ = str(uuid.uuid4())
    first, second = await apply(client, id=id_), await apply(client, id=id_)
    assert first.id == second.id == id_
    with pytest.raises(errors.AlreadyExists):
        await client.releases.apply("shop", manifest="{resources: {}}", id=id_)


@check
async def a_release_has_one_operation_at_a_time(client: Client) -> None:
    handle = await apply(client)
    for begin in (apply(client), client.releases.uninstall("shop")):
        with pytest.raises(errors.OperationActive) as refused:
            await begin
        assert refused.value.operation_id == handle.id
        assert refused.value.code == "ABORTED"
    await client.releases.apply("shop", manifest={"resources": {}}, namespace="other")
    found = [(release.namespace, release.name) async for release in client.releases.list()]
    assert found == [("default", "shop"), ("other", "shop")]
    assert [release.namespace async for release in client.releases.list("other")] == ["other"]
    assert [release async for release in client.releases.list(states=["DEPLOYED"])] == []


@check
async def what_is_wrong_with_a_request_is_named(client: Client) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        await client.releases.apply("Shop", manifest=MANIFEST)
    assert [violation.field for violation in refused.value.violations] == ["name"]
    wrong = {"a.yaml": MANIFEST, "b.yaml": "resources:\n  web: {typ: x}\n"}
    with pytest.raises(errors.InvalidField) as refused:
        await client.releases.apply("shop", files=wrong)
    fields = [violation.field for violation in refused.value.violations]
    assert fields
    assert all(field.startswith('files["b.yaml"].resources.web') for field in fields)
    assert "line 2" in refused.value.message
    with pytest.raises(errors.InvalidField):
        await client.releases.apply("shop", files={})
    assert [release async for release in client.releases.list()] == []


@check
async def what_does_not_exist_is_not_found(client: Client) -> None:
    for call in (
        client.releases.get("shop"),
        client.releases.uninstall("shop"),
        client.releases.rollback("shop"),
        client.releases.resume("shop"),
        client.releases.revision("shop"),
        client.releases.operation(str(uuid.uuid4())),
        client.releases.cancel(str(uuid.uuid4())),
    ):
        with pytest.raises(errors.NotFound):
            await call
    for listing in (
        client.releases.history("shop"),
        client.releases.operations("shop"),
        client.releases.resources("shop"),
    ):
        with pytest.raises(errors.NotFound):
            await anext(listing)


@check
async def who_takes_an_operation_has_it_alone(client: Client) -> None:
    handle = await apply(client)
    owner, other = await Provisioner.enter(client), await Provisioner.enter(client, "p2", "docker:2")
    taken = await client.releases.acquire(handle.id, owner.token)
    assert (taken.is_first, taken.operation.state) == (True, State.RUNNING)
    assert taken.operation.lease_token == owner.token
    again = await client.releases.acquire(handle.id, owner.token)
    assert (again.is_first, again.is_same_engine) == (False, True)
    with pytest.raises(errors.LeaseHeld) as refused:
        await client.releases.acquire(handle.id, other.token)
    assert refused.value.operation_id == handle.id
    for call in (client.releases.work(handle.id, other.token), other.submit(handle.id), other.report(handle.id)):
        with pytest.raises(errors.LeaseLost):
            await call
    (unfinished,) = [found async for found in client.releases.unfinished()]
    assert (unfinished.id, unfinished.namespace, unfinished.state, unfinished.is_held) == (
        handle.id,
        "default",
        State.RUNNING,
        True,
    )
    assert [found async for found in client.releases.unfinished(["other"])] == []


@check
async def an_operation_comes_along_with_the_lease_of_its_owner(client: Client) -> None:
    handle = await apply(client)
    owner = await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    lease = await client.work.acquire("p1", "docker:1")
    assert lease.operation_ids == (handle.id,)
    with pytest.raises(errors.LeaseLost):
        await owner.report(handle.id, PhaseReport(Phase.RENDER))
    await client.releases.report(handle.id, lease.token, [PhaseReport(Phase.RENDER)])
    assert (await client.releases.operation(handle.id)).phase is Phase.RENDER


@check
async def an_installation_is_told_event_by_event(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    ended = await owner.deploy(handle)
    assert (ended.state, ended.revision, ended.total_nodes, ended.changed_nodes) == (State.SUCCEEDED, 1, 2, 2)
    installed = ["node.started", "step.started", "step.succeeded", "node.ready"]
    assert await names(client, "release.deployed") == [
        "release.created",
        "operation.created",
        "operation.started",
        "release.updated",
        *installed,
        *installed,
        "operation.succeeded",
        "release.deployed",
    ]
    release = await client.releases.get("shop")
    assert (release.state, release.revision, release.latest_revision) == (ReleaseState.DEPLOYED, 1, 1)
    assert await handle.result() == await client.releases.operation(handle.id)


@check
async def events_carry_what_they_are_about(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.deploy(handle)
    release = await client.releases.get("shop")
    nodes = [node async for node in client.releases.nodes(handle.id)]
    latest = {}
    async with asyncio.timeout(20):
        async for event in client.releases.watch(resource_id=release.id):
            assert release.id in (event.resource_id, event.parent_id)
            latest[event.resource_id] = event.resource
            if event.event_type is EventType.RELEASE_DEPLOYED:
                break
    assert latest[release.id] == release
    operation = await client.releases.operation(handle.id)
    assert latest[handle.id] == dataclasses.replace(operation, options=None, remaining_seconds=None, lease_token=0)
    assert [latest[node.id] for node in nodes] == [dataclasses.replace(node, after=(), steps=()) for node in nodes]
    actions = [found for node in nodes for found in node.steps if found.kind is StepKind.ACTION]
    assert [latest[action.id] for action in actions] == [dataclasses.replace(action, args=None) for action in actions]


@check
async def nodes_come_with_their_steps_and_what_they_wait_for(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    assert [node async for node in client.releases.nodes(handle.id)] == []
    await owner.begin(handle.id)
    await owner.install(handle.id, "role")
    role, db = [node async for node in client.releases.nodes(handle.id)]
    assert [(node.path, node.ordinal, node.batch, node.after) for node in (role, db)] == [
        ("role", 0, 1, ()),
        ("db", 1, 2, ("role",)),
    ]
    assert (role.state, role.changed, db.state) == (NodeState.READY, True, NodeState.PENDING)
    assert [(found.ordinal, found.kind, found.state, found.attempt) for found in role.steps] == [
        (1, StepKind.STATE, State.SUCCEEDED, 1),
        (2, StepKind.ACTION, State.SUCCEEDED, 1),
        (3, StepKind.RECHECK, State.SUCCEEDED, 1),
    ]
    action = role.steps[1]
    assert (action.id, action.node_id) == (step_id(handle.id, "role", 2), role.id)
    assert (action.name, action.args, action.exit_code) == ("create", ("--now",), 0)
    assert action.started_at is not None
    assert action.finished_at is not None
    assert db.steps == ()


@check
async def a_repeated_report_changes_nothing(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    begins = (NodeReport(path="role", state=NodeState.INSTALLING), step("role", 1, StepKind.STATE, State.RUNNING))
    first, second = await owner.report(handle.id, *begins), await owner.report(handle.id, *begins)
    assert first.version == second.version
    assert (await owner.submit(handle.id)).revision == 1
    with pytest.raises(errors.IllegalTransition):
        await owner.report(handle.id, NodeReport(path="db", state=NodeState.READY))
    with pytest.raises(errors.NotFound):
        await owner.report(handle.id, NodeReport(path="other", state=NodeState.INSTALLING))


@check
async def a_revision_keeps_the_documents_of_its_operation(client: Client) -> None:
    handle, owner = await apply(client, description="first"), await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    work = await client.releases.work(handle.id, owner.token)
    source = {"files": {"shop.yaml": MANIFEST}, "variables": {"size": 3}}
    assert (json.loads(work.source), work.manifest, work.plan, work.nodes) == (source, "", "", ())
    assert (work.operation.id, work.release.name) == (handle.id, "shop")
    submitted = await owner.submit(handle.id)
    assert (submitted.revision, [node.path for node in submitted.nodes]) == (1, ["role", "db"])
    work = await client.releases.work(handle.id, owner.token)
    assert json.loads(work.manifest) == json.loads(RENDERED)
    assert json.loads(work.plan) == json.loads(PLAN.dump())
    assert json.loads(work.late) == {}
    assert [node.state for node in work.nodes] == [NodeState.PENDING] * 2
    revision = await client.releases.revision("shop")
    assert (revision.revision, revision.state, revision.description) == (1, RevisionState.PENDING, "first")
    assert (revision.source, revision.manifest) == (source, json.loads(RENDERED))
    assert revision.plan == json.loads(PLAN.dump())
    (listed,) = [found async for found in client.releases.history("shop")]
    assert listed == dataclasses.replace(revision, source=None, manifest=None, plan=None)


@check
async def documents_of_megabytes_are_sent_and_come_back(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    # Characters of several bytes, so that parts are cut by more than their number.
    manifest = json.dumps({"outputs": {"text": "ä€" * 600_000}}, ensure_ascii=False)
    assert len(manifest.encode()) > 2 * 1024 * 1024
    await owner.submit(handle.id, manifest=manifest)
    work = await client.releases.work(handle.id, owner.token)
    assert work.manifest == manifest
    revision = await client.releases.revision("shop")
    assert revision.manifest == json.loads(manifest)


@check
async def resources_are_kept_as_they_were_seen_last(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.deploy(handle)
    db, role = [found async for found in client.releases.resources("shop")]
    assert (db.path, db.type, db.revision, db.image_id) == ("db", "acme/db:1", 1, "sha256:1")
    assert (db.status, db.owned, db.init, db.config, db.state) == (
        ResourceStatus.VALID,
        True,
        None,
        {"size": 3},
        {"port": 5432},
    )
    assert role.path == "role"


@check
async def output_is_kept_once_and_followed_to_the_end(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    begins = (NodeReport(path="role", state=NodeState.INSTALLING), step("role", 1, StepKind.STATE, State.RUNNING))
    await owner.report(handle.id, *begins)
    printer = step_id(handle.id, "role", 1)
    lines = [StepLogLine(printer, 1, number, f"line {number}") for number in (1, 2)]
    assert await client.releases.append_logs(handle.id, lines) == 2
    assert await client.releases.append_logs(handle.id, lines) == 2
    found = [line async for line in client.releases.logs(handle.id)]
    assert [(line.number, line.text, line.path, line.step_name) for line in found] == [
        (1, "line 1", "role", "state"),
        (2, "line 2", "role", "state"),
    ]
    assert [line async for line in client.releases.logs(handle.id, path="db")] == []
    with pytest.raises(errors.NotFound):
        await client.releases.append_logs(handle.id, [StepLogLine(str(uuid.uuid4()), 1, 1, "x")])

    async def follow() -> list[str]:
        return [line.text async for line in client.releases.logs(handle.id, follow=True)]

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        followed = group.create_task(follow())
        await client.releases.append_logs(handle.id, [StepLogLine(printer, 1, 3, "line 3")])
        failed = step("role", 1, StepKind.STATE, State.FAILED, exit_code=1)
        await owner.report(handle.id, failed, NodeReport(path="role", state=NodeState.FAILED))
        await owner.finish(handle.id, State.FAILED, path="role")
    assert followed.result() == ["line 1", "line 2", "line 3"]


@check
async def an_open_line_is_replaced_until_it_is_complete(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    begins = (NodeReport(path="role", state=NodeState.INSTALLING), step("role", 1, StepKind.STATE, State.RUNNING))
    await owner.report(handle.id, *begins)
    printer = step_id(handle.id, "role", 1)

    async def append(*lines: tuple[int, str, bool]) -> None:
        sent = [StepLogLine(printer, 1, number, text, is_open=is_open) for number, text, is_open in lines]
        assert await client.releases.append_logs(handle.id, sent) == len(lines)

    async def seen() -> list[tuple[int, str, bool]]:
        return [(line.number, line.text, line.is_open) async for line in client.releases.logs(handle.id)]

    await append((1, "begin", False), (2, "1 %", True))
    assert await seen() == [(1, "begin", False), (2, "1 %", True)]
    followed = client.releases.logs(handle.id, follow=True)
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
async def a_release_belongs_to_the_engine_that_has_its_files(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    await owner.submit(handle.id, has_plugs=True)
    for path in ("role", "db"):
        await owner.install(handle.id, path)
    await owner.finish(handle.id)
    assert (await client.releases.get("shop")).engine == "docker:1"
    other = await Provisioner.enter(client, "p2", "docker:2")
    again = await apply(client)
    with pytest.raises(errors.IllegalTransition, match="docker:1"):
        await client.releases.acquire(again.id, other.token)
    await client.releases.cancel(again.id)
    moved = await apply(client, move_engine=True)
    await client.releases.acquire(moved.id, other.token)


@check
async def the_services_watch_leaves_out_what_is_not_about_releases(client: Client) -> None:
    await client.events.publish("rack.door_opened")
    await apply(client)
    events = client.releases.watch(resource_types=[ResourceType.RELEASE])
    async with asyncio.timeout(20):
        event = await anext(events)
    assert event.name == "release.created"
    await events.aclose()
