"""How operations on releases end, on every server, and what follows: run against the real one and against the fake."""

import json

import pytest

from support.client_conformance import Check
from support.release_conformance import names
from support.release_provisioner import PLAN, RENDERED, Provisioner, apply
from support.waiting import eventually
from tinkwell.client import Client, ReleaseFailed, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import (
    NodeState,
    NodeTask,
    OperationKind,
    ReleaseState,
    RevisionState,
)
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.transition.ending import follow_up_id

CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


@check
async def a_failure_says_which_step_and_what_it_printed(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    await owner.install(handle.id, "role")
    await owner.fail(handle.id, "db", "creating", 'role "bar" exists')
    await owner.finish(handle.id, State.FAILED, path="db")
    with pytest.raises(ReleaseFailed) as raised:
        await handle.result()
    failure = raised.value
    assert (failure.operation.state, failure.operation.failed_nodes) == (State.FAILED, 1)
    assert failure.node is not None
    assert failure.step is not None
    assert (failure.node.path, failure.step.name, failure.step.exit_code) == ("db", "create", 3)
    assert failure.log_tail == ("creating", 'role "bar" exists')
    assert failure.follow_up is None
    assert failure.operation.cause == {"reason": "NODE_FAILED", "message": "exited with code 3", "path": "db"}
    release = await client.releases.get("shop")
    assert (release.state, release.revision, release.latest_revision) == (ReleaseState.FAILED, 0, 1)
    assert (await client.releases.revision("shop")).state is RevisionState.FAILED
    assert (await names(client, "release.failed"))[-2:] == ["operation.failed", "release.failed"]


@check
async def a_failed_release_is_resumed_by_its_plan(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    await owner.install(handle.id, "role")
    await owner.fail(handle.id, "db")
    await owner.finish(handle.id, State.FAILED, path="db")
    resumed = await client.releases.resume("shop", reason="mended")
    assert (resumed.operation.kind, resumed.operation.revision) == (OperationKind.INSTALL, 1)
    await client.releases.acquire(resumed.id, owner.token)
    work = await client.releases.work(resumed.id, owner.token)
    assert json.loads(work.plan) == json.loads(PLAN.dump())
    assert json.loads(work.manifest) == json.loads(RENDERED)
    await owner.submit(resumed.id)
    await owner.keep(resumed.id, "role")
    await owner.install(resumed.id, "db")
    assert (await owner.finish(resumed.id)).state is State.SUCCEEDED
    release = await client.releases.get("shop")
    assert (release.state, release.revision, release.latest_revision) == (ReleaseState.DEPLOYED, 1, 1)
    found = [operation.id async for operation in client.releases.operations("shop")]
    assert found == [resumed.id, handle.id]
    with pytest.raises(errors.IllegalTransition):
        await client.releases.resume("shop")


@check
async def what_an_atomic_operation_left_is_made_up_for(client: Client) -> None:
    handle, owner = await apply(client, atomic=True), await Provisioner.enter(client)
    await owner.begin(handle.id)
    await owner.install(handle.id, "role")
    await owner.fail(handle.id, "db")
    await owner.finish(handle.id, State.FAILED, path="db")
    follow_up = await client.releases.operation(follow_up_id(handle.id))
    assert (follow_up.kind, follow_up.follows, follow_up.state) == (OperationKind.UNINSTALL, handle.id, State.PENDING)
    await owner.begin(follow_up.id, Plan((PlanNode(path="role", task=NodeTask.REMOVE),)))
    await owner.remove(follow_up.id, "role")
    await owner.finish(follow_up.id)
    with pytest.raises(ReleaseFailed) as raised:
        await handle.result()
    assert raised.value.follow_up is not None
    assert raised.value.follow_up.state is State.SUCCEEDED
    with pytest.raises(errors.NotFound):
        await client.releases.get("shop")


@check
async def a_removed_release_leaves_its_name_free(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.deploy(handle)
    release = await client.releases.get("shop")
    removal = await client.releases.uninstall("shop")
    assert removal.operation.kind is OperationKind.UNINSTALL
    assert (await client.releases.get("shop")).state is ReleaseState.UNINSTALLING
    ended = await owner.uninstall(removal)
    assert (ended.state, ended.revision) == (State.SUCCEEDED, 0)
    assert (await names(client, "release.deleted"))[-3:] == [
        "operation.succeeded",
        "release.uninstalled",
        "release.deleted",
    ]
    with pytest.raises(errors.NotFound):
        await client.releases.get("shop")
    assert (await client.releases.get(id=release.id)).state is ReleaseState.UNINSTALLED
    again = await apply(client)
    assert again.operation.kind is OperationKind.INSTALL
    assert again.operation.release_id != release.id


@check
async def a_rollback_brings_former_documents_about_again(client: Client) -> None:
    owner = await Provisioner.enter(client)
    await owner.deploy(await apply(client))
    with pytest.raises(errors.IllegalTransition):
        await client.releases.rollback("shop")
    second = await client.releases.apply("shop", manifest={"resources": {"role": {"type": "acme/role:1"}}})
    assert second.operation.kind is OperationKind.UPGRADE
    await client.releases.acquire(second.id, owner.token)
    await owner.submit(second.id, manifest='{"resources": {}}')
    for path in ("role", "db"):
        await owner.keep(second.id, path)
    await owner.finish(second.id)
    back = await client.releases.rollback("shop", description="back")
    await client.releases.acquire(back.id, owner.token)
    work = await client.releases.work(back.id, owner.token)
    assert json.loads(work.manifest) == json.loads(RENDERED)
    assert (await owner.submit(back.id, manifest="{}")).revision == 3
    for path in ("role", "db"):
        await owner.keep(back.id, path)
    await owner.finish(back.id)
    found = [(each.revision, each.state, each.rollback_of) async for each in client.releases.history("shop")]
    assert found == [
        (3, RevisionState.DEPLOYED, 1),
        (2, RevisionState.SUPERSEDED, 0),
        (1, RevisionState.SUPERSEDED, 0),
    ]
    assert (await client.releases.revision("shop", 3)).manifest == json.loads(RENDERED)
    with pytest.raises(errors.NotFound):
        await client.releases.rollback("shop", 9)


@check
async def an_upgrade_that_changes_nothing_makes_no_revision(client: Client) -> None:
    owner = await Provisioner.enter(client)
    await owner.deploy(await apply(client))
    again = await apply(client)
    await client.releases.acquire(again.id, owner.token)
    assert (await owner.submit(again.id)).revision == 1
    for path in ("role", "db"):
        await owner.keep(again.id, path)
    ended = await owner.finish(again.id)
    assert (ended.state, ended.revision, ended.changed_nodes) == (State.SUCCEEDED, 1, 0)
    assert [found.revision async for found in client.releases.history("shop")] == [1]


@check
async def what_nobody_has_is_cancelled_at_once(client: Client) -> None:
    handle = await apply(client)
    ended = await client.releases.cancel(handle.id, reason="not now")
    assert (ended.state, ended.cause) == (State.CANCELLED, {"reason": "CANCELLED", "message": "not now"})
    assert (await client.releases.cancel(handle.id)).version == ended.version
    assert (await client.releases.get("shop")).state is ReleaseState.FAILED
    with pytest.raises(ReleaseFailed, match="install of shop ended as CANCELLED: not now"):
        await handle.result()
    assert (await apply(client)).operation.kind is OperationKind.INSTALL


@check
async def what_somebody_has_is_asked_to_end(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    asked = await client.releases.cancel(handle.id, reason="stop it")
    assert (asked.state, asked.cancel_requested, asked.cancel_grace_seconds) == (State.RUNNING, True, 30)
    assert asked.cancel_reason == "stop it"
    at_once = await client.releases.cancel(handle.id, now=True)
    assert at_once.cancel_grace_seconds == 0
    ended = await owner.finish(handle.id, State.CANCELLED)
    assert (ended.state, ended.skipped_nodes) == (State.CANCELLED, 2)
    assert [node.state async for node in client.releases.nodes(handle.id)] == [NodeState.SKIPPED] * 2
    seen = await names(client, "operation.cancelled")
    assert seen.count("operation.updated") == 2


@check
async def what_nobody_takes_ends_at_its_deadline(client: Client) -> None:
    handle = await apply(client, timeout_seconds=1)

    async def is_over() -> bool:
        return (await client.releases.operation(handle.id)).state is State.TIMEOUT

    await eventually(is_over, interval_seconds=0.1)
    with pytest.raises(ReleaseFailed, match="ended as TIMEOUT"):
        await handle.result()
    assert [found async for found in client.releases.unfinished()] == []
