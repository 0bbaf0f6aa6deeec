"""What every server answers about tests, plans and drift: run against the real one and against the fake."""

import dataclasses
import json
import uuid

import pytest

from support import chart_archive
from support.client_conformance import Check
from support.release_conformance import names
from support.release_provisioner import MANIFEST, PLAN, RENDERED, Provisioner, apply, step
from tinkwell.client import Client, OperationHandle, ReleaseFailed, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, OperationKind, ReleaseState, ResourceStatus, StepKind
from tinkwell.core.release.report import FinishReport, NodeReport, RemovedReport, ResourceReport

CHECKS: list[Check] = []
FOUND = {"format": 1, "digest": "abc", "revision": 0, "nodes": [{"path": "db", "mark": "~"}]}
SHOP = chart_archive.packed(values={"size": 1})


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


async def deployed(client: Client) -> Provisioner:
    """Install the release, and give who did."""
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.deploy(handle)
    return owner


async def plan(client: Client, **options: object) -> OperationHandle:
    """Plan the manifest."""
    return await client.releases.plan("shop", files={"shop.yaml": MANIFEST}, variables={"size": 3}, **options)  # type: ignore[arg-type]


async def drift(client: Client, owner: Provisioner, digest: str) -> None:
    """Look for drift, and find it by its digest."""
    await owner.look(await client.releases.drift("shop"), {"drift": digest})


@check
async def a_plan_leaves_its_release_as_it_is(client: Client) -> None:
    owner = await deployed(client)
    before = await client.releases.get("shop")
    history = [found async for found in client.releases.history("shop")]
    resources = [found async for found in client.releases.resources("shop")]
    handle = await plan(client, reason="look", atomic=True)
    assert (handle.operation.kind, handle.operation.state) == (OperationKind.PLAN, State.PENDING)
    await owner.look(handle, FOUND)
    assert await handle.plan() == FOUND
    ended = await client.releases.operation(handle.id)
    assert (ended.revision, ended.result, ended.changed_nodes, ended.reason) == (0, FOUND, 0, "look")
    assert await client.releases.get("shop") == before
    assert [found async for found in client.releases.history("shop")] == history
    assert [found async for found in client.releases.resources("shop")] == resources
    listed = [found async for found in client.releases.operations("shop")]
    assert [(each.id, each.result) for each in listed][:1] == [(handle.id, None)]


@check
async def a_plan_that_fails_leaves_its_release_as_it_is(client: Client) -> None:
    owner = await deployed(client)
    before = await client.releases.get("shop")
    handle = await plan(client, atomic=True)
    await owner.begin(handle.id)
    await owner.report(handle.id, NodeReport(path="role", state=NodeState.FAILED, message="no such image"))
    await owner.finish(handle.id, State.FAILED, path="role")
    with pytest.raises(ReleaseFailed) as failed:
        await handle.result()
    assert failed.value.follow_up is None
    assert await client.releases.get("shop") == before
    unfinished = await plan(client)
    await client.releases.cancel(unfinished.id)
    assert await client.releases.get("shop") == before


@check
async def a_plan_only_asks(client: Client) -> None:
    owner = await deployed(client)
    handle = await plan(client)
    await owner.begin(handle.id)
    begins = NodeReport(path="role", state=NodeState.INSTALLING)
    await owner.report(handle.id, begins, step("role", 1, StepKind.STATE, State.RUNNING))
    listed = step("role", 2, StepKind.ACTION, State.PENDING, attempt=0)
    await owner.report(handle.id, step("role", 1, StepKind.STATE, State.SUCCEEDED, exit_code=0), listed)
    with pytest.raises(errors.IllegalTransition, match="only asks"):
        await owner.report(handle.id, step("role", 2, StepKind.ACTION, State.RUNNING))
    with pytest.raises(errors.InvalidField, match="which changes nothing"):
        await owner.report(handle.id, RemovedReport("role"))
    seen = ResourceReport(path="role", type="other", status=ResourceStatus.STALE, config='{"size": 9}')
    await owner.report(handle.id, seen, NodeReport(path="role", state=NodeState.READY))
    assert "other" not in [found.type async for found in client.releases.resources("shop")]
    role, _ = [node async for node in client.releases.nodes(handle.id)]
    assert [(each.kind, each.state) for each in role.steps] == [
        (StepKind.STATE, State.SUCCEEDED),
        (StepKind.ACTION, State.CANCELLED),
    ]
    with pytest.raises(errors.InvalidField, match="the document of a PLAN that SUCCEEDED"):
        await owner.report(
            handle.id, NodeReport(path="db", state=NodeState.SKIPPED), FinishReport(state=State.SUCCEEDED)
        )
    await owner.report(handle.id, NodeReport(path="db", state=NodeState.SKIPPED, message="decided at run"))
    await owner.finish(handle.id, result=json.dumps(FOUND))
    assert (await handle.result()).skipped_nodes == 1


@check
async def beside_a_plan_or_a_test_nothing_begins(client: Client) -> None:
    await deployed(client)
    for begin in (plan, lambda client: client.releases.test("shop"), lambda client: client.releases.drift("shop")):
        active = await begin(client)
        for other in (
            apply(client),
            client.releases.uninstall("shop"),
            client.releases.test("shop"),
            client.releases.drift("shop"),
            plan(client),
        ):
            with pytest.raises(errors.OperationActive) as refused:
                await other
            assert refused.value.operation_id == active.id
        await client.releases.cancel(active.id)
    changing = await apply(client)
    with pytest.raises(errors.OperationActive) as refused:
        await plan(client)
    assert refused.value.operation_id == changing.id


@check
async def a_plan_for_a_free_name_holds_it_for_nothing(client: Client) -> None:
    owner = await Provisioner.enter(client)
    handle = await plan(client)
    await owner.look(handle, FOUND)
    release = await client.releases.get("shop")
    assert (release.state, release.revision, release.operation_id) == (ReleaseState.PLANNED, 0, handle.id)
    assert [found async for found in client.releases.list()] == []
    assert [found.id async for found in client.releases.list(include_planned=True)] == [release.id]
    assert [found.id async for found in client.releases.list(states=["PLANNED"])] == [release.id]
    for call in (
        client.releases.uninstall("shop"),
        client.releases.rollback("shop"),
        client.releases.resume("shop"),
        client.releases.test("shop"),
        client.releases.drift("shop"),
    ):
        with pytest.raises(errors.NotFound):
            await call
    again = await plan(client)
    await owner.look(again, FOUND)
    assert (await client.releases.get("shop")).operation_id == again.id
    installed = await apply(client)
    assert (installed.operation.kind, installed.operation.release_id) == (OperationKind.INSTALL, release.id)
    assert (await client.releases.get("shop")).state is ReleaseState.PENDING_INSTALL
    await owner.deploy(installed)
    assert [found.state async for found in client.releases.list()] == [ReleaseState.DEPLOYED]


@check
async def what_was_planned_is_applied_as_it_was_planned(client: Client) -> None:
    owner = await Provisioner.enter(client)
    planned = await plan(client, description="first", parallel=3, secret_variables={"password": "hunter22"})
    await owner.look(planned, FOUND)
    id_ = str(uuid.uuid4())
    handle, again = [await client.releases.apply_plan(planned.id, id=id_) for _ in range(2)]
    assert handle.id == again.id == id_
    operation = handle.operation
    assert (operation.kind, operation.plan_of) == (OperationKind.INSTALL, planned.id)
    assert operation.options is not None
    assert operation.options.parallel == 3
    await client.releases.acquire(handle.id, owner.token)
    work = await client.releases.work(handle.id, owner.token)
    variables = {"size": 3, "password": "hunter22"}
    assert json.loads(work.source) == {"files": {"shop.yaml": MANIFEST}, "variables": variables}
    assert (json.loads(work.expected), work.operation.plan_of) == (FOUND, planned.id)
    assert "hunter22" in work.secrets
    await owner.deploy(handle)
    revision = await client.releases.revision("shop")
    assert (revision.revision, revision.description) == (1, "first")
    assert revision.source is not None
    assert revision.source["variables"] == {"size": 3, "password": None}
    with pytest.raises(errors.AlreadyExists):
        await apply(client, id=id_)
    with pytest.raises(errors.PlanStale, match=f"operation {id_} has changed its release") as refused:
        await client.releases.apply_plan(planned.id)
    assert refused.value.reason == "PLAN_STALE"


@check
async def what_applied_a_plan_and_failed_is_resumed_by_that_plan(client: Client) -> None:
    owner = await Provisioner.enter(client)
    planned = await plan(client)
    await owner.look(planned, FOUND)
    applied = await client.releases.apply_plan(planned.id)
    await owner.begin(applied.id)
    await owner.fail(applied.id, "role", "no route to host")
    await owner.finish(applied.id, State.FAILED, path="role")
    resumed = await client.releases.resume("shop")
    assert resumed.operation.plan_of == planned.id
    await client.releases.acquire(resumed.id, owner.token)
    work = await client.releases.work(resumed.id, owner.token)
    assert (json.loads(work.expected), work.operation.plan_of) == (FOUND, planned.id)


@check
async def a_plan_of_a_chart_is_applied_with_its_values(client: Client) -> None:
    owner = await Provisioner.enter(client)
    planned = await client.releases.plan("shop", SHOP, values={"size": 7}, wait="eager")
    await owner.look(planned, FOUND)
    assert (await client.releases.get("shop")).chart_name == "shop"
    await owner.deploy(await client.releases.apply_plan(planned.id))
    release, revision = await client.releases.get("shop"), await client.releases.revision("shop")
    assert (release.state, release.chart_name) == (ReleaseState.DEPLOYED, "shop")
    assert revision.source is not None
    assert revision.source["user_values"] == {"size": 7}
    newer = await client.releases.plan("shop", SHOP, values={"color": "red"})
    await owner.look(newer, FOUND)
    applied = await client.releases.apply_plan(newer.id)
    assert applied.operation.kind is OperationKind.UPGRADE
    await client.releases.acquire(applied.id, owner.token)
    work = await client.releases.work(applied.id, owner.token)
    assert json.loads(work.source)["user_values"] == {"size": 7, "color": "red"}
    assert work.chart


@check
async def only_a_plan_that_succeeded_is_applied_and_only_as_long_as_nothing_changes(client: Client) -> None:
    owner = await deployed(client)
    with pytest.raises(errors.NotFound):
        await client.releases.apply_plan(str(uuid.uuid4()))
    looked = await client.releases.drift("shop")
    await owner.look(looked, {"drift": ""})
    with pytest.raises(errors.IllegalTransition, match="about the installed revision"):
        await client.releases.apply_plan(looked.id)
    failed, good = await plan(client), None
    await client.releases.cancel(failed.id)
    with pytest.raises(errors.IllegalTransition, match="only a plan that SUCCEEDED"):
        await client.releases.apply_plan(failed.id)
    good = await plan(client)
    await owner.look(good, FOUND)
    # What ends before it has a plan has changed nothing.
    await client.releases.cancel((await apply(client)).id)
    await drift(client, owner, "")
    applied = await client.releases.apply_plan(good.id)
    await client.releases.cancel(applied.id)
    await owner.uninstall(await client.releases.uninstall("shop"))
    with pytest.raises(errors.PlanStale):
        await client.releases.apply_plan(good.id)


@check
async def a_look_at_what_is_installed_has_its_documents(client: Client) -> None:
    owner = await deployed(client)
    for begin in (client.releases.drift, client.releases.test):
        handle = await begin("shop")
        await client.releases.acquire(handle.id, owner.token)
        work = await client.releases.work(handle.id, owner.token)
        assert json.loads(work.manifest) == json.loads(RENDERED)
        assert (json.loads(work.plan), work.late) == (json.loads(PLAN.dump()), "{}")
        assert sorted(resource.path for resource in work.resources) == ["db", "role"]
        await client.releases.cancel(handle.id, now=True)
        await owner.finish(handle.id, State.CANCELLED)


@check
async def drift_is_told_once_for_each_change_of_it(client: Client) -> None:
    owner = await deployed(client)
    for digest, is_drifted in (
        ("", False),
        ("ab12", True),
        ("ab12", True),
        ("cd34", True),
        ("", False),
        ("ab12", True),
    ):
        await drift(client, owner, digest)
        assert (await client.releases.get("shop")).drifted is is_drifted
    # Whatever succeeds in bringing all about again has mended it.
    handle = await apply(client)
    await owner.begin(handle.id)
    for path in ("role", "db"):
        await owner.keep(handle.id, path)
    await owner.finish(handle.id)
    assert (await client.releases.get("shop")).drifted is False
    seen = await names(client, "release.deployed", count=2)
    assert seen.count("release.drifted") == 3


@check
async def a_test_runs_steps_and_leaves_the_release_as_it_is(client: Client) -> None:
    owner = await deployed(client)
    before = await client.releases.get("shop")
    handle = await client.releases.test("shop", reason="nightly")
    await owner.begin(handle.id)
    await owner.install(handle.id, "role")
    await owner.fail(handle.id, "db", "no route to host")
    await owner.finish(handle.id, State.FAILED, path="db")
    with pytest.raises(ReleaseFailed) as failed:
        await handle.result()
    assert failed.value.log_tail == ("no route to host",)
    assert await client.releases.get("shop") == before
    passed = await client.releases.test("shop")
    await owner.look(passed, {})
    assert dataclasses.replace(await passed.result(), result=None).state is State.SUCCEEDED


@check
async def what_a_plan_found_shows_no_secret(client: Client) -> None:
    owner = await Provisioner.enter(client)
    planned = await plan(client, secret_variables={"password": "hunter22"})
    await owner.look(planned, FOUND | {"url": "https://me:hunter22@db/"})
    assert (await planned.result()).result == FOUND | {"url": None}
    applied = await client.releases.apply_plan(planned.id)
    await client.releases.acquire(applied.id, owner.token)
    work = await client.releases.work(applied.id, owner.token)
    assert json.loads(work.expected) == FOUND | {"url": "https://me:hunter22@db/"}


@check
async def a_plan_has_one_source(client: Client) -> None:
    await client.releases.upload_chart(SHOP)
    with pytest.raises(errors.InvalidField) as refused:
        await client.releases.plan("shop", SHOP, files={"shop.yaml": MANIFEST})
    assert [violation.field for violation in refused.value.violations] == ["files"]
    with pytest.raises(errors.InvalidField) as refused:
        await client.releases.plan("shop", values={"size": 3}, files={"shop.yaml": MANIFEST})
    assert [violation.field for violation in refused.value.violations] == ["values"]
    with pytest.raises(errors.InvalidField):
        await client.releases.plan("shop")
    with pytest.raises(errors.NotFound):
        await client.releases.drift("shop")
