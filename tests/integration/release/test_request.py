"""Requests begin operations: one at a time, once for each id, and not without saying what is wrong."""

import asyncio
import json
import uuid
from typing import Any

import grpc
import pytest

from support import edge
from support.release_site import UNKNOWN, Flow, Site, manifest, plan
from tinkwell.api.v1 import release_service_pb2 as pb

ROUNDS = 20
LARGE = json.dumps({"a": "x" * 600_000})


async def refused(site: Site, *names: str, **more: Any) -> edge.Refusal:
    return await edge.refused(site.stub.Apply(site.applying(*names, **more)))


async def refused_call(site: Site, call: str, **more: Any) -> edge.Refusal:
    return await edge.refused(site.begin(call, **more))


async def test_apply_makes_a_release_and_stores_what_was_given(site: Site) -> None:
    options = pb.OperationOptions(timeout_seconds=60, readiness_timeout_seconds=10, parallel=2, atomic=True)
    flow = await site.apply(
        "role", "db", variables='{"b": 1.10, "a": "x"}', options=options, description="first", reason="because"
    )
    operation, release = await flow.get(), await site.release()
    assert (operation.kind, await flow.state()) == (pb.OPERATION_KIND_INSTALL, "PENDING")
    assert (operation.release_id, operation.namespace, operation.release_name) == (release.id, "default", "shop")
    assert (operation.reason, operation.revision, operation.lease_token) == ("because", 0, 0)
    assert 55 < operation.remaining_seconds <= 60
    assert (operation.options.parallel, operation.options.history_max, operation.options.atomic) == (2, 10, True)
    assert operation.options.on_failure == pb.ON_FAILURE_STOP
    assert (await site.release_state(), release.operation_id, release.description) == (
        "PENDING_INSTALL",
        flow.id,
        "first",
    )
    assert (release.revision, release.latest_revision) == (0, 0)
    source = await site.sql.fetchval("SELECT source::text FROM operation")
    assert source == f'{{"files":{{"m.yaml":{json.dumps(manifest("role", "db"))}}},"variables":{{"b":1.10,"a":"x"}}}}'
    assert await site.events() == ["release.created shop", "operation.created"]


async def test_files_of_variables_are_stored_in_their_order(site: Site) -> None:
    files = [pb.VariableFile(name=name, variables=f'{{"{name}": "{{{{ x }}}}"}}') for name in ("b", "a")]
    await site.apply("db", variables='{"x": 1}', variable_files=files)
    source = json.loads(await site.sql.fetchval("SELECT source::text FROM operation"))
    assert source["variable_files"] == [
        {"name": "b", "variables": {"b": "{{ x }}"}},
        {"name": "a", "variables": {"a": "{{ x }}"}},
    ]


async def test_options_that_are_left_out_have_their_defaults(site: Site) -> None:
    options = (await (await site.apply()).get()).options
    assert (options.timeout_seconds, options.readiness_timeout_seconds) == (300, 0)
    assert (options.parallel, options.history_max, options.on_failure) == (8, 10, pb.ON_FAILURE_STOP)
    assert (options.wait, options.strict) == (pb.WAIT_MODE_ORDERED, False)
    stored = json.loads(await site.sql.fetchval("SELECT options::text FROM operation"))
    assert not {"wait", "strict"} & stored.keys(), "a former release reads it"


async def test_how_charts_wait_is_stored(site: Site) -> None:
    flow = await site.apply(options=pb.OperationOptions(wait=pb.WAIT_MODE_EAGER, strict=True))
    options = (await flow.get()).options
    assert (options.wait, options.strict) == (pb.WAIT_MODE_EAGER, True)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"operation_id": "x"}, "operation_id"),
        ({"namespace": "A"}, "namespace"),
        ({"release": "a_b"}, "name"),
        ({"files": []}, "files"),
        ({"files": [pb.ManifestFile(name="", text="{}")]}, "files[0].name"),
        ({"files": [pb.ManifestFile(name="a", text="{}")] * 2}, "files[1].name"),
        ({"files": [pb.ManifestFile(name=str(n), text="#" * (1 << 19)) for n in range(5)]}, "files"),
        ({"files": [pb.ManifestFile(name="a", text="resources: {a: {}}")]}, "files.a.resources.a.type"),
        ({"variables": "[]"}, "variables"),
        ({"variables": '{"a": 1, "a": 2}'}, "variables"),
        ({"variables": '{"a": "' + "x" * (1 << 20) + '"}'}, "variables"),
        ({"variables": '{"a": ' + "[" * 65 + "]" * 65 + "}"}, "variables"),
        ({"variable_files": [pb.VariableFile(name="a", variables="")]}, "variable_files[0].variables"),
        ({"variable_files": [pb.VariableFile(name="a", variables="{}")] * 2}, "variable_files[1].name"),
        ({"variable_files": [pb.VariableFile(name=n, variables=LARGE) for n in "ab"]}, "variable_files"),
        ({"description": "a\nb"}, "description"),
        ({"reason": "x" * 1025}, "reason"),
        ({"options": pb.OperationOptions(timeout_seconds=-1)}, "options.timeout_seconds"),
        ({"options": pb.OperationOptions(timeout_seconds=604_801)}, "options.timeout_seconds"),
        ({"options": pb.OperationOptions(readiness_timeout_seconds=301)}, "options.readiness_timeout_seconds"),
        ({"options": pb.OperationOptions(parallel=257)}, "options.parallel"),
        ({"options": pb.OperationOptions(history_max=1001)}, "options.history_max"),
        ({"options": pb.OperationOptions(on_failure=9)}, "options.on_failure"),  # type: ignore[arg-type] # that is it
        ({"options": pb.OperationOptions(wait=9)}, "options.wait"),  # type: ignore[arg-type] # that is it
    ],
)
async def test_a_wrong_request_is_refused_with_its_field_and_leaves_nothing(
    site: Site, more: dict[str, Any], field: str
) -> None:
    told = await refused(site, **more)
    assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert list(told.fields) == [field]
    assert await site.sql.fetchval("SELECT count(*) FROM release") == 0


async def test_all_that_is_wrong_is_told_at_once(site: Site) -> None:
    told = await refused(site, release="A", variables="x", reason="\n", options=pb.OperationOptions(parallel=-1))
    assert set(told.fields) == {"name", "variables", "reason", "options.parallel"}


async def test_a_repeated_request_is_answered_with_the_operation_that_it_began(site: Site) -> None:
    request = site.applying("db", variables='{"a": 1.0, "b": {"x": 1, "y": 2}}', reason="why")
    first = await site.stub.Apply(request)
    again = pb.ApplyRequest()
    again.CopyFrom(request)
    again.variables = '{"b": {"y": 2, "x": 1}, "a": 1.00}'
    assert (await site.stub.Apply(again)).id == first.id
    assert await site.sql.fetchval("SELECT count(*) FROM operation") == 1
    assert await site.events() == ["release.created shop", "operation.created"]
    # Also once it has ended, and another one has begun.
    await Flow(site, first.id, "shop").cancel()
    other = await site.apply()
    assert (await site.stub.Apply(request)).id == first.id
    assert (await site.release()).operation_id == other.id


@pytest.mark.parametrize(
    "more",
    [
        {"names": ("other",)},
        {"release": "other"},
        {"namespace": "other"},
        {"variables": '{"a": 2}'},
        {"reason": "another"},
        {"description": "another"},
        {"options": pb.OperationOptions(parallel=2)},
    ],
)
async def test_the_id_of_an_operation_that_was_asked_for_in_other_words_is_taken(
    site: Site, more: dict[str, Any]
) -> None:
    flow = await site.apply("db", variables='{"a": 1}')
    told = await refused(site, *more.pop("names", ("db",)), **{"variables": '{"a": 1}', **more}, operation_id=flow.id)
    assert (told.code, told.reason) == (grpc.StatusCode.ALREADY_EXISTS, "ALREADY_EXISTS")
    assert told.metadata == {"what": "operation_id", "value": flow.id}
    assert await site.sql.fetchval("SELECT count(*) FROM release") == 1
    for call in ("Uninstall", "Rollback", "Resume"):
        assert (await refused_call(site, call, operation_id=flow.id)).reason == "ALREADY_EXISTS"


@pytest.mark.parametrize("call", ["Apply", "Rollback", "Uninstall", "Resume"])
async def test_a_second_operation_is_told_of_the_first(site: Site, call: str) -> None:
    flow = await site.apply()
    told = await (refused(site) if call == "Apply" else refused_call(site, call))
    assert (told.code, told.reason) == (grpc.StatusCode.ABORTED, "OPERATION_ACTIVE")
    assert told.metadata == {"subject": "release shop", "operation_id": flow.id}
    assert flow.id in told.message


@pytest.mark.parametrize("call", ["Rollback", "Uninstall", "Resume"])
async def test_what_does_not_exist_is_not_found(site: Site, call: str) -> None:
    told = await refused_call(site, call)
    assert (told.code, told.metadata) == (
        grpc.StatusCode.NOT_FOUND,
        {"resource_type": "RELEASE", "resource_id": "shop"},
    )
    assert (await refused_call(site, call, namespace="n")).metadata["resource_id"] == "n/shop"
    assert await site.sql.fetchval("SELECT count(*) FROM release") == 0


async def test_of_two_that_apply_at_once_one_wins_and_the_other_is_told_who(site: Site) -> None:
    for number in range(ROUNDS):
        name = f"shop-{number}"
        answers = await asyncio.gather(
            *(site.stub.Apply(site.applying(release=name)) for _ in range(3)), return_exceptions=True
        )
        won = [answer for answer in answers if isinstance(answer, pb.Operation)]
        lost = [edge.refusal(answer) for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        assert (len(won), [told.reason for told in lost]) == (1, ["OPERATION_ACTIVE"] * 2)
        assert {told.metadata["operation_id"] for told in lost} == {won[0].id}
        assert (await site.release(name)).operation_id == won[0].id


async def test_of_many_that_repeat_one_request_at_once_all_are_answered_alike(site: Site) -> None:
    for number in range(ROUNDS):
        request = site.applying(release=f"shop-{number}")
        answers = await asyncio.gather(*(site.stub.Apply(request) for _ in range(3)))
        assert {answer.id for answer in answers} == {request.operation_id}
    assert await site.sql.fetchval("SELECT count(*) FROM operation") == ROUNDS


async def test_one_id_for_two_releases_at_once_is_given_once(site: Site) -> None:
    for number in range(ROUNDS):
        operation_id = str(uuid.uuid4())
        requests = [site.applying(release=f"{side}-{number}", operation_id=operation_id) for side in "ab"]
        answers = await asyncio.gather(*map(site.stub.Apply, requests), return_exceptions=True)
        lost = [edge.refusal(answer).reason for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        assert lost == ["ALREADY_EXISTS"]
    assert await site.sql.fetchval("SELECT count(*) FROM release") == ROUNDS


async def test_operators_that_apply_and_uninstall_against_each_other_never_deploy_twice(site: Site) -> None:
    async def operate(call: str, owner: int) -> None:
        for _ in range(ROUNDS):
            try:
                flow = await (site.apply() if call == "Apply" else site.begin(call))
            except grpc.aio.AioRpcError as error:
                refusals.add(edge.refusal(error).reason)
                continue
            if call == "Uninstall":
                await flow.carry_out(removed=["db"], token=owner)
            else:
                await flow.carry_out("db", token=owner)

    refusals: set[str] = set()
    owners = [await site.acquire(name) for name in "abc"]
    calls = ("Apply", "Apply", "Uninstall")
    await asyncio.gather(*(operate(call, owner) for call, owner in zip(calls, owners, strict=True)))
    assert refusals <= {"OPERATION_ACTIVE", "NOT_FOUND"}
    deployed = await site.sql.fetch(
        "SELECT count(*) FROM release_revision WHERE state = 'DEPLOYED' GROUP BY release_id HAVING count(*) > 1"
    )
    assert deployed == []
    assert await site.sql.fetchval("SELECT count(*) FROM operation WHERE state IN ('PENDING', 'RUNNING')") == 0
    assert await site.sql.fetchval("SELECT count(*) FROM release WHERE deleted_at IS NULL") <= 1


async def test_an_upgrade_follows_what_was_installed(site: Site) -> None:
    await site.install("db")
    before = await site.last_revision()
    flow = await site.apply("db", "web", description="second")
    assert (await flow.get()).kind == pb.OPERATION_KIND_UPGRADE
    assert await site.release_state() == "PENDING_UPGRADE"
    assert await site.events(after=before) == ["release.updated shop", "operation.created"]
    await flow.carry_out("db", "web")
    assert await site.revisions() == {2: "DEPLOYED", 1: "SUPERSEDED"}
    release = await site.release()
    assert (release.revision, release.latest_revision, release.description) == (2, 2, "second")


async def test_an_installation_that_failed_is_repeated_as_an_installation(site: Site) -> None:
    flow = await site.apply()
    await flow.cancel()
    assert await site.release_state() == "FAILED"
    again = await site.apply()
    assert (await again.get()).kind == pb.OPERATION_KIND_INSTALL
    assert await site.release_state() == "PENDING_INSTALL"


async def test_a_rollback_brings_about_what_was_there_before(site: Site) -> None:
    await site.install("db", description="one")
    await site.install("db", "web")
    flow = await site.begin("Rollback", description="back")
    assert ((await flow.get()).kind, await site.release_state()) == (pb.OPERATION_KIND_ROLLBACK, "PENDING_ROLLBACK")
    await flow.acquire()
    submitted = await flow.submit_text(plan("db", removed=["web"]))
    assert submitted.revision == 3
    found = await site.stub.GetRevision(pb.GetRevisionRequest(name="shop", revision=3))
    former = await site.stub.GetRevision(pb.GetRevisionRequest(name="shop", revision=1))
    assert (found.rollback_of, found.description) == (1, "back")
    assert (found.source, found.manifest) == (former.source, former.manifest)
    assert json.loads(found.plan) == json.loads(plan("db"))


@pytest.mark.parametrize(("revision", "reason"), [(7, "NOT_FOUND"), (2, "ILLEGAL_TRANSITION"), (-1, "INVALID_FIELD")])
async def test_a_rollback_needs_a_revision_that_was_brought_about(site: Site, revision: int, reason: str) -> None:
    await site.install("db")
    await (await site.apply("db", "web")).fail("db", "web")
    assert (await refused_call(site, "Rollback", revision=revision)).reason == reason
    # After a failure, what is brought about again is the last that was deployed.
    flow = await site.begin("Rollback")
    assert await site.sql.fetchval("SELECT rollback_of FROM operation WHERE id = $1", uuid.UUID(flow.id)) == 1


async def test_a_rollback_without_anything_before_is_refused(site: Site) -> None:
    await site.install()
    assert (await refused_call(site, "Rollback")).reason == "ILLEGAL_TRANSITION"


async def test_an_uninstallation_frees_the_name(site: Site) -> None:
    await site.install("role", "db")
    release = await site.release()
    before = await site.last_revision()
    flow = await site.begin("Uninstall", reason="old")
    assert await site.release_state() == "UNINSTALLING"
    await flow.carry_out(removed=["db", "role"])
    assert await flow.state() == "SUCCEEDED"
    assert (await site.events(after=before))[-3:] == [
        "operation.succeeded",
        "release.uninstalled shop",
        "release.deleted shop",
    ]
    assert (await edge.refused(site.release())).reason == "NOT_FOUND"
    found = await site.stub.GetRelease(pb.GetReleaseRequest(id=release.id))
    assert found.state == pb.RELEASE_STATE_UNINSTALLED
    assert await site.sql.fetchval("SELECT count(*) FROM release_resource") == 0
    assert (await (await site.apply()).get()).release_id != release.id
    repeated = await site.stub.Uninstall(pb.UninstallRequest(operation_id=flow.id, name="shop", reason="old"))
    assert repeated.id == flow.id


async def test_a_failed_release_is_resumed_with_the_plan_that_it_had(site: Site) -> None:
    first = await site.apply("db", "web")
    await first.fail("db", "web")
    flow = await site.begin("Resume")
    operation = await flow.get()
    assert (operation.kind, operation.revision) == (pb.OPERATION_KIND_INSTALL, 1)
    assert (await site.release_state(), await site.revisions()) == ("PENDING_INSTALL", {1: "FAILED"})
    await flow.acquire()
    assert (await flow.submit_text(plan("db", "web"))).revision == 1
    assert await site.revisions() == {1: "PENDING"}
    assert (await site.stub.GetRevision(pb.GetRevisionRequest(name="shop"))).operation_id == first.id


async def test_only_what_has_failed_and_was_planned_is_resumed(site: Site) -> None:
    await (await site.apply()).cancel()
    told = await refused_call(site, "Resume")
    assert (told.reason, "apply it again" in told.message) == ("ILLEGAL_TRANSITION", True)
    await site.install()
    assert "only a FAILED one" in (await refused_call(site, "Resume")).message


async def test_unknown_operations_are_not_found(site: Site) -> None:
    told = await edge.refused(site.stub.Cancel(pb.CancelRequest(operation_id=UNKNOWN)))
    assert told.metadata == {"resource_type": "OPERATION", "resource_id": UNKNOWN}
    assert (await edge.refused(site.stub.GetOperation(pb.GetOperationRequest(id=UNKNOWN)))).reason == "NOT_FOUND"
    assert (await edge.refused(site.stub.GetOperation(pb.GetOperationRequest(id="x")))).reason == "INVALID_FIELD"
