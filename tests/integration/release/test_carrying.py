"""Operations are carried out by who holds them, report by report, and what they say is judged."""

import asyncio
import json
from typing import Any

import grpc
import pytest

from support import edge
from support.release_site import (
    CANCELLED,
    FAILED,
    PENDING,
    RUNNING,
    SUCCEEDED,
    UNKNOWN,
    Flow,
    Site,
    finish,
    installs,
    manifest,
    node,
    phase,
    plan,
    removed,
    removes,
    resource,
    step,
)
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.api.v1 import work_service_pb2 as wk


async def carried_out(site: Site) -> Flow:
    """Install a role, at the second attempt, and a database that is there already; all but the end is reported."""
    flow = await site.apply("role", "db")
    await flow.acquire()
    for found in (pb.OPERATION_PHASE_RENDER, pb.OPERATION_PHASE_VALIDATE):
        await flow.report(phase(found))
    submitted = await flow.submit("role", "db")
    assert (submitted.revision, [each.path for each in submitted.nodes]) == (1, ["role", "db"])
    await flow.report(
        step("role", 1, "INIT", RUNNING),
        step("role", 1, "INIT", SUCCEEDED),
        resource("role", "UNKNOWN", image_id="sha256:1", init='{"state_action": {}}'),
        node("role", "INSTALLING"),
        step("role", 2, "STATE", RUNNING),
    )
    await flow.report(
        step("role", 2, "STATE", SUCCEEDED),
        step("role", 3, "ACTION", PENDING, attempt=0, name="create", image="alpine", args=pb.Args(values=["-x"])),
        step("role", 3, "ACTION", RUNNING),
    )
    await flow.report(step("role", 3, "ACTION", PENDING, message="exit 1", exit_code=1))
    await flow.report(step("role", 3, "ACTION", RUNNING, attempt=2))
    await flow.report(
        step("role", 3, "ACTION", SUCCEEDED, attempt=2, exit_code=0),
        step("role", 4, "RECHECK", RUNNING),
        step("role", 4, "RECHECK", SUCCEEDED),
        resource("role", config='{"a": 1}', state='{"b": 2}', owned=True),
        node("role", "READY", changed=True),
        *installs("db"),
    )
    return flow


async def test_an_installation_is_told_in_the_order_in_which_it_happened(site: Site) -> None:
    flow = await carried_out(site)
    ended = await flow.report(finish())
    assert (await flow.state(), ended.revision, ended.lease_token) == ("SUCCEEDED", 1, 0)
    assert (ended.total_nodes, ended.changed_nodes, ended.failed_nodes, ended.skipped_nodes) == (2, 1, 0, 0)
    assert not ended.HasField("remaining_seconds")
    assert ended.started_at.ToDatetime() <= ended.finished_at.ToDatetime()
    assert await site.events() == [
        "release.created shop",
        "operation.created",
        "operation.started",
        # The newest revision has another number.
        "release.updated shop",
        "node.started role",
        "step.started role",
        "step.retrying role",
        "step.started role",
        "step.succeeded role",
        "node.ready role",
        "node.started db",
        "node.ready db",
        "operation.succeeded",
        "release.deployed shop",
    ]


async def test_an_installation_is_kept_with_its_nodes_steps_and_resources(site: Site) -> None:
    flow = await carried_out(site)
    await flow.report(finish())
    nodes = [each async for each in site.stub.ListNodes(pb.ListNodesRequest(operation_id=flow.id))]
    assert [(each.path, each.ordinal, each.batch, each.changed, list(each.after)) for each in nodes] == [
        ("role", 0, 1, True, []),
        ("db", 1, 2, False, ["role"]),
    ]
    kinds = [pb.StepKind.Name(each.kind).removeprefix("STEP_KIND_") for each in nodes[0].steps]
    assert kinds == ["INIT", "STATE", "ACTION", "RECHECK"]
    action = nodes[0].steps[2]
    assert (action.id, action.name, action.image, list(action.args.values)) == (
        flow.step_id("role", 3),
        "create",
        "alpine",
        ["-x"],
    )
    assert (action.attempt, action.exit_code, action.state) == (2, 0, SUCCEEDED)
    assert not nodes[0].steps[0].HasField("args")
    [db, role] = [each async for each in site.stub.ListResources(pb.ListResourcesRequest(name="shop"))]
    assert (role.type, role.image_id, role.revision, role.owned) == ("image-of-role", "sha256:1", 1, True)
    assert (role.init, role.config, role.state) == ('{"state_action": {}}', '{"a": 1}', '{"b": 2}')
    assert (db.path, db.status, db.init) == ("db", pb.RESOURCE_STATUS_VALID, "")


async def test_what_a_resource_report_leaves_out_stays_and_what_is_empty_goes(site: Site) -> None:
    flow = await site.apply()
    await flow.acquire()
    await flow.submit("db")
    await flow.report(resource("db", "UNKNOWN", image_id="1", init="{}", config='{"a": 1}', state="{}", owned=True))
    await flow.report(resource("db", "STALE", config="", owned=False))
    [found] = [each async for each in site.stub.ListResources(pb.ListResourcesRequest(name="shop"))]
    assert (found.status, found.image_id, found.init, found.config) == (pb.RESOURCE_STATUS_STALE, "1", "{}", "")
    assert (found.state, found.owned) == ("{}", False)


async def test_a_plan_is_stored_once_and_another_one_refused(site: Site) -> None:
    flow = await site.apply()
    await flow.acquire()
    first = await flow.submit("db")
    before = await site.last_revision()
    again = await flow.submit("db")
    assert (again.revision, [each.id for each in again.nodes]) == (first.revision, [each.id for each in first.nodes])
    assert await site.last_revision() == before
    assert (await edge.refused(flow.submit("web"))).reason == "ILLEGAL_TRANSITION"
    assert await site.sql.fetchval("SELECT count(*) FROM release_revision") == 1


@pytest.mark.parametrize(
    ("text", "documents", "field"),
    [
        ("{}", {}, "plan.format"),
        (plan("db", "db"), {}, "plan.nodes[1].path"),
        (plan("db"), {"manifest": "[]"}, "manifest"),
        (plan("db"), {"late": '{"a": 1, "a": 2}'}, "late"),
        (plan("db"), {"other": "{}"}, "document.name"),
        (plan("db"), {"manifest": '"' + "x" * (8 << 20) + '"'}, "manifest"),
        ("", {}, "plan"),
    ],
)
async def test_a_plan_that_is_none_is_refused_with_its_place(
    site: Site, text: str, documents: dict[str, str], field: str
) -> None:
    flow = await site.apply()
    await flow.acquire()
    documents = {"manifest": "{}", "late": "{}", **documents}
    told = await edge.refused(site.stub.SubmitPlan(flow.submitting(text, documents)))
    assert told.reason == "INVALID_FIELD"
    assert next(iter(told.fields)) == field


async def test_an_installation_needs_the_documents_of_its_revision(site: Site) -> None:
    flow = await site.apply()
    await flow.acquire()
    assert set((await edge.refused(flow.submit_text(plan("db")))).fields) == {"manifest", "late"}


async def test_a_plan_begins_with_its_head(site: Site) -> None:
    async def messages() -> Any:
        yield pb.SubmitPlanRequest(document=pb.DocumentPart(name="plan", text="{}"))

    assert list((await edge.refused(site.stub.SubmitPlan(messages()))).fields) == ["head"]


async def test_what_is_deployed_already_makes_no_revision(site: Site) -> None:
    await site.install("db", variables='{"a": 1, "b": 2}')
    flow = await site.apply("db", variables='{"b": 2.0, "a": 1}')
    await flow.acquire()
    assert (await flow.submit("db")).revision == 1
    await flow.report(*installs("db"), finish())
    assert await site.revisions() == {1: "DEPLOYED"}
    assert (await flow.get()).revision == 1
    other = await site.apply("db", variables='{"b": 3, "a": 1}')
    await other.acquire()
    assert (await other.submit("db")).revision == 2


async def test_what_a_manifest_no_longer_has_is_removed(site: Site) -> None:
    await site.install("role", "db")
    flow = await site.apply("role")
    before = await site.last_revision()
    await flow.carry_out("role", removed=["db"])
    assert await flow.nodes() == {"role": "READY", "db": "REMOVED"}
    assert await site.events(after=before) == [
        "operation.started",
        "release.updated shop",
        "node.started role",
        "node.ready role",
        "node.started db",
        "step.started db",
        "step.succeeded db",
        "node.removed db",
        "operation.succeeded",
        "release.deployed shop",
    ]
    found = [each.path async for each in site.stub.ListResources(pb.ListResourcesRequest(name="shop"))]
    assert found == ["role"]
    revision = await site.stub.GetRevision(pb.GetRevisionRequest(name="shop"))
    assert json.loads(revision.plan) == json.loads(plan("role"))


async def test_a_group_of_reports_is_taken_as_a_whole_or_not_at_all(site: Site) -> None:
    flow = await site.apply("role", "db")
    await flow.acquire()
    await flow.submit("role", "db")
    before = await site.last_revision()
    told = await flow.refused(*installs("role"), node("db", "READY"))
    assert told.reason == "ILLEGAL_TRANSITION"
    assert await site.last_revision() == before
    assert await flow.nodes() == {"role": "PENDING", "db": "PENDING"}
    assert (await flow.refused(*installs("role"), node("web", "INSTALLING"))).reason == "NOT_FOUND"


async def test_a_repeated_group_changes_nothing(site: Site) -> None:
    flow = await site.apply("role", "db")
    await flow.acquire()
    await flow.submit("role", "db")
    for group in (installs("role"), [*installs("db"), finish()]):
        await flow.report(*group)
        before = await site.last_revision()
        await flow.report(*group)
        assert await site.last_revision() == before


@pytest.mark.parametrize(
    ("report", "field"),
    [
        (pb.OperationReport(), "reports[0]"),
        (phase(pb.OPERATION_PHASE_UNSPECIFIED), "reports[0].phase"),
        (pb.OperationReport(node=pb.NodeReport(path="db")), "reports[0].node.state"),
        (node("", "READY"), "reports[0].node.path"),
        (node("db", "FAILED", message="x" * 1001), "reports[0].node.message"),
        (node("db", "FAILED", message="\0"), "reports[0].node.message"),
        (step("db", 0, "STATE", RUNNING), "reports[0].step.ordinal"),
        (step("db", 1, "STATE", RUNNING, attempt=-1), "reports[0].step.attempt"),
        (step("db", 1, "STATE", RUNNING, id=UNKNOWN), "reports[0].step.id"),
        (step("db", 1, "STATE", RUNNING, entrypoint="x" * 5000), "reports[0].step.entrypoint"),
        (step("db", 1, "ACTION", RUNNING, args=pb.Args(values=["x"] * 1001)), "reports[0].step.args"),
        (step("db", 1, "ACTION", FAILED, exit_code=1 << 40), "reports[0].step.exit_code"),
        (resource("db", state="[]"), "reports[0].resource.state"),
        (resource("db", state='{"a": "' + "x" * (1 << 20) + '"}'), "reports[0].resource.state"),
        (resource("db", config='{"a": ' + "[" * 65 + "]" * 65 + "}"), "reports[0].resource.config"),
        (removed(""), "reports[0].removed"),
        (finish(FAILED, "no"), "reports[0].finish.cause"),
        (finish(FAILED, '{"a": "' + "x" * (16 << 10) + '"}'), "reports[0].finish.cause"),
    ],
)
async def test_a_report_that_says_nonsense_is_refused_with_its_field(
    site: Site, report: pb.OperationReport, field: str
) -> None:
    flow = await site.apply()
    await flow.acquire()
    await flow.submit("db")
    told = await flow.refused(report)
    assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, [field])


async def test_too_many_reports_at_once_are_refused(site: Site) -> None:
    flow = await site.apply()
    await flow.acquire()
    told = await flow.refused(*[phase(pb.OPERATION_PHASE_LOAD)] * 501)
    assert list(told.fields) == ["reports"]


async def test_what_fails_leaves_what_was_changed_and_what_was_deployed(site: Site) -> None:
    await site.install("db")
    flow = await site.apply("db", "web")
    before = await site.last_revision()
    await flow.fail("db", "web")
    assert (await flow.state(), await site.release_state()) == ("FAILED", "FAILED")
    assert await flow.nodes() == {"db": "FAILED", "web": "SKIPPED"}
    assert await site.revisions() == {2: "FAILED", 1: "DEPLOYED"}
    operation = await flow.get()
    assert json.loads(operation.cause) == {"reason": "NODE_FAILED", "message": "it has failed", "path": "db"}
    assert (operation.failed_nodes, operation.skipped_nodes) == (1, 1)
    assert await site.events(after=before) == [
        "operation.started",
        "release.updated shop",
        "node.started db",
        "node.failed db",
        "node.skipped web",
        "operation.failed",
        "release.failed shop",
    ]
    release = await site.release()
    assert (release.revision, release.latest_revision) == (1, 2)


async def test_an_operation_that_ends_before_its_plan_leaves_the_release_as_it_was(site: Site) -> None:
    await site.install("db")
    flow = await site.apply("db", "web")
    await flow.acquire()
    before = await site.last_revision()
    await flow.report(phase(pb.OPERATION_PHASE_RENDER), finish(FAILED))
    assert (await flow.state(), await site.release_state()) == ("FAILED", "DEPLOYED")
    assert await site.revisions() == {1: "DEPLOYED"}
    assert await site.events(after=before) == ["operation.failed", "release.updated shop"]


async def test_an_atomic_upgrade_that_fails_is_made_up_for_by_its_owner(site: Site) -> None:
    await site.install("db")
    flow = await site.apply("db", "web", options=pb.OperationOptions(atomic=True, timeout_seconds=60))
    await flow.fail("db", "web")
    following = Flow(site, (await site.release()).operation_id, "shop", flow.token)
    operation = await following.get()
    assert (operation.follows, operation.kind, operation.lease_token) == (
        flow.id,
        pb.OPERATION_KIND_ROLLBACK,
        flow.token,
    )
    assert (operation.options.atomic, 55 < operation.remaining_seconds <= 60) == (False, True)
    assert await site.release_state() == "PENDING_ROLLBACK"
    back = await site.work.Acquire(wk.AcquireRequest(owner="a", engine="engine"))
    assert list(back.operation_ids) == [following.id]
    taken = await following.acquire(back.lease_token)
    assert (taken.is_first, taken.is_same_engine) == (True, True)
    assert (await following.submit_text(plan("db", removed=["web"]))).revision == 1
    await following.report(*installs("db"), node("web", "LEFT", message="never made"), finish())
    assert (await following.state(), await site.release_state()) == ("SUCCEEDED", "DEPLOYED")
    assert await site.revisions() == {2: "FAILED", 1: "DEPLOYED"}
    assert list((await site.work.Acquire(wk.AcquireRequest(owner="a", engine="engine"))).operation_ids) == []


async def test_an_atomic_installation_that_fails_is_removed(site: Site) -> None:
    flow = await site.apply("db", "web", options=pb.OperationOptions(atomic=True))
    await flow.fail("db", "web")
    following = Flow(site, (await site.release()).operation_id, "shop")
    assert ((await following.get()).kind, await site.release_state()) == (pb.OPERATION_KIND_UNINSTALL, "UNINSTALLING")
    await following.acquire(flow.token)
    assert (await following.submit_text(plan(removed=["db"]))).revision == 0
    await following.report(*removes("db"), finish())
    assert (await edge.refused(site.release())).reason == "NOT_FOUND"
    assert (await site.events())[-2:] == ["release.uninstalled shop", "release.deleted shop"]


async def test_a_cancelled_operation_is_ended_by_its_owner_with_a_reason(site: Site) -> None:
    flow = await site.apply()
    await flow.acquire()
    await flow.submit("db")
    await flow.report(node("db", "INSTALLING"), step("db", 1, "STATE", RUNNING))
    before = await site.last_revision()
    asked = await flow.cancel(reason="wrong one")
    assert (asked.state, asked.cancel_requested, asked.cancel_grace_seconds) == (RUNNING, True, 30)
    assert asked.cancel_reason == "wrong one"
    assert (await flow.cancel()).version == asked.version
    assert (await flow.cancel(now=True)).cancel_grace_seconds == 0
    assert (await flow.get()).cancel_reason == "wrong one"
    ended = await flow.report(step("db", 1, "STATE", CANCELLED), finish(CANCELLED))
    assert (ended.state, await site.release_state()) == (CANCELLED, "FAILED")
    assert await site.events(after=before) == [
        "operation.updated",
        "operation.updated",
        "node.failed db",
        "operation.cancelled",
        "release.failed shop",
    ]
    # What has ended stays as it is.
    assert (await flow.cancel()).version == ended.version


@pytest.mark.parametrize("is_dead", [False, True], ids=["no owner", "a dead owner"])
async def test_what_nobody_alive_holds_is_cancelled_at_once(site: Site, is_dead: bool) -> None:
    flow = await site.apply("db", "web")
    if is_dead:
        await flow.acquire()
        await flow.submit("db", "web")
        await flow.report(node("db", "INSTALLING"), step("db", 1, "STATE", RUNNING))
        await site.kill(flow.token)
    ended = await flow.cancel(reason="nobody is there")
    assert ended.state == CANCELLED
    assert json.loads(ended.cause) == {"reason": "CANCELLED", "message": "nobody is there"}
    assert await site.release_state() == "FAILED"
    if is_dead:
        assert await flow.nodes() == {"db": "FAILED", "web": "SKIPPED"}
        assert (await flow.refused(finish(FAILED))).reason == "ILLEGAL_TRANSITION"


async def test_cancellation_and_success_at_once_end_in_one_of_the_two(site: Site) -> None:
    for number in range(20):
        name = f"shop-{number}"
        flow = await site.apply(release=name)
        await flow.acquire()
        await flow.submit("db")
        await asyncio.gather(flow.report(*installs("db"), finish()), flow.cancel())
        assert (await flow.state(), await site.release_state(name)) == ("SUCCEEDED", "DEPLOYED")


async def test_an_operation_is_worked_on_with_all_its_documents(site: Site) -> None:
    large = json.dumps({"text": "ä" * 500_000}, ensure_ascii=False)
    await site.install("role", "db")
    flow = await site.apply("role", variables=large)
    await flow.acquire()

    async def work() -> tuple[pb.Operation, pb.Release, dict[str, str], list[pb.Node], list[pb.Resource]]:
        request = pb.GetWorkRequest(operation_id=flow.id, lease_token=flow.token)
        parts = [part async for part in site.stub.GetWork(request)]
        assert parts[0].HasField("operation")
        assert all(part.ByteSize() <= 1 << 21 for part in parts)
        documents: dict[str, str] = {}
        for part in parts:
            if part.HasField("document"):
                documents[part.document.name] = documents.get(part.document.name, "") + part.document.text
        [release] = [part.release for part in parts if part.HasField("release")]
        nodes = [part.node for part in parts if part.HasField("node")]
        resources = [part.resource for part in parts if part.HasField("resource")]
        return parts[0].operation, release, documents, nodes, resources

    operation, release, documents, nodes, resources = await work()
    assert (operation.id, release.name, nodes) == (flow.id, "shop", [])
    assert set(documents) == {"source", "removed/1"}
    assert json.loads(documents["source"])["variables"] == json.loads(large)
    assert json.loads(documents["removed/1"]) == json.loads(plan("role", "db"))
    assert [(each.path, each.revision) for each in resources] == [("db", 1), ("role", 1)]
    await flow.submit("role", removed=["db"])
    await flow.report(*installs("role"))
    _, _, documents, nodes, resources = await work()
    assert set(documents) == {"source", "manifest", "late", "plan", "removed/1", "removed/2"}
    assert json.loads(documents["manifest"]) == json.loads(manifest("role"))
    assert json.loads(documents["plan"]) == json.loads(plan("role", removed=["db"]))
    assert [(each.path, len(each.steps)) for each in nodes] == [("role", 1), ("db", 0)]
    assert [(each.path, each.revision) for each in resources] == [("db", 1), ("role", 2)]
    await flow.report(*removes("db"), finish())
    # A rollback works by what is stored of the revision that it goes back to.
    flow = await site.begin("Rollback")
    await flow.acquire(await site.acquire())
    _, _, documents, _, _ = await work()
    assert set(documents) == {"source", "manifest", "late", "plan", "removed/2"}
    assert json.loads(documents["manifest"]) == json.loads(manifest("role", "db"))
    assert json.loads(documents["plan"]) == json.loads(plan("role", "db"))
