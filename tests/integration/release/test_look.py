"""Plans and tests in the database: one at a time, as long as they are of use, whoever dies, and without secrets."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
import pytest
from integration.release.test_secret import FIRST, leaked, owners, work_of

from support import edge
from support.release_site import (
    FAILED,
    PENDING,
    RUNNING,
    SUCCEEDED,
    Flow,
    Site,
    finish,
    manifest,
    node,
    open_site,
    resource,
    step,
)
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.server.release.store import history
from tinkwell.server.secret.keys import Keys

PASSWORD, TOKEN, FOUND = "hunter22-é+", "generated-47", "found-while-stale"
FILES = [pb.ManifestFile(name="m.yaml", text=manifest("db"))]
SECRET: dict[str, Any] = {"variables": json.dumps({"password": PASSWORD}), "secret_variables": ["password"]}


@pytest.fixture
async def sealing(database_url: str) -> AsyncIterator[Site]:
    """A server that has keys."""
    async with open_site(database_url, keys=Keys([FIRST])) as opened:
        yield opened


async def plan(site: Site, *, release: str = "shop", **more: Any) -> Flow:
    return await site.begin("Plan", release=release, files=FILES, **more)


async def drift(site: Site, digest: str = "") -> Flow:
    flow = await site.begin("Plan")
    await flow.carry_out_plan("db", result=json.dumps({"drift": digest}))
    return flow


async def operations(site: Site) -> list[str]:
    return [each.id async for each in site.stub.ListOperations(pb.ListOperationsRequest(name="shop"))]


async def test_of_all_that_begin_at_once_one_does(site: Site) -> None:
    await site.install("db")

    async def begin(number: int) -> Flow | edge.Refusal:
        call = ("Plan", "Test", "Uninstall", "Plan")[number % 4]
        more: dict[str, Any] = {"files": FILES} if number % 4 == 3 else {}
        try:
            return await site.begin(call, **more)
        except grpc.aio.AioRpcError as error:
            return edge.refusal(error)

    for _ in range(5):
        outcomes = await asyncio.gather(*(begin(number) for number in range(8)))
        (begun,) = [each for each in outcomes if isinstance(each, Flow)]
        refused = [each for each in outcomes if isinstance(each, edge.Refusal)]
        assert {(each.reason, each.metadata["operation_id"]) for each in refused} == {("OPERATION_ACTIVE", begun.id)}
        await begun.cancel()
    assert await site.release_state() == "DEPLOYED"


async def test_of_all_that_plan_a_free_name_at_once_one_does(site: Site) -> None:
    outcomes = await asyncio.gather(*(plan(site) for _ in range(6)), return_exceptions=True)
    (begun,) = [each for each in outcomes if isinstance(each, Flow)]
    assert (await site.release()).operation_id == begun.id
    assert await site.sql.fetchval("SELECT count(*) FROM release") == 1


async def test_what_is_no_more_than_planned_goes_with_its_last_plan(site: Site) -> None:
    begun = await plan(site)

    async def forget(age_seconds: float) -> list[str]:
        await history.forget_releases(site.sql.fetch, age_seconds=age_seconds, limit=10)
        return [row["name"] for row in await site.sql.fetch("SELECT name FROM release")]

    assert await forget(0.0) == ["shop"]  # a plan of it has not ended
    await begun.carry_out_plan("db")
    assert await forget(60.0) == ["shop"]
    await (await plan(site)).carry_out_plan("db")
    last = await site.last_revision()
    assert await forget(0.0) == []
    assert await site.events(after=last) == ["release.deleted shop"]
    assert await site.sql.fetchval("SELECT count(*) FROM operation") == 0
    told = await edge.refused(site.stub.ApplyPlan(pb.ApplyPlanRequest(operation_id=str(uuid.uuid4()), plan=begun.id)))
    assert told.reason == "NOT_FOUND"
    await (await plan(site)).carry_out_plan("db")
    await site.install("db")
    assert await forget(0.0) == ["shop"]


async def test_the_last_ten_are_kept_and_the_history_is_left(site: Site) -> None:
    for number in range(4):
        flow = await site.apply("db", variables=json.dumps({"n": number}))
        await flow.carry_out("db")
    installed, planned = await operations(site), await plan(site)
    await planned.carry_out_plan("db")
    begun = await site.stub.ApplyPlan(pb.ApplyPlanRequest(operation_id=str(uuid.uuid4()), plan=planned.id))
    await Flow(site, begun.id, "shop").carry_out("db")
    looks = [(await drift(site)).id for _ in range(12)]
    keeping = await site.begin("Test", options=pb.OperationOptions(history_max=1))
    await keeping.carry_out_plan("db")
    # The plan stays as long as what has applied it.
    assert await operations(site) == [keeping.id, *reversed(looks[-9:]), begun.id, planned.id, *installed]
    assert len(await site.revisions()) == 4 + (begun.revision or 1)


@pytest.mark.parametrize("call", ["Plan", "Test"])
async def test_where_nobody_takes_it_over_it_ends_by_itself(site: Site, call: str) -> None:
    await site.install("db")
    before = await site.release()
    flow = await site.begin(call)
    await flow.acquire()
    await flow.submit("db")
    await flow.report(node("db", "INSTALLING"), step("db", 1, "STATE", RUNNING))
    await site.kill(flow.token)
    other = await site.acquire("b")
    taken = await flow.acquire(other)
    assert (taken.is_first, taken.is_same_engine) == (False, True)
    await site.kill(other)
    await flow.outlive()
    assert [each async for each in site.stub.ListUnfinished(pb.ListUnfinishedOperationsRequest())] == []
    assert (await flow.state(), await flow.nodes()) == ("TIMEOUT", {"db": "FAILED"})
    assert await site.release() == before
    await (await site.begin(call)).cancel()


async def test_a_plan_that_nobody_has_taken_is_no_hindrance_after_its_time(site: Site) -> None:
    first = await plan(site)
    await first.outlive()
    release = await site.stub.GetRelease(pb.GetReleaseRequest(id=(await site.release()).id))
    assert (release.state, await first.state()) == (pb.RELEASE_STATE_PLANNED, "TIMEOUT")
    second = await plan(site)
    await second.outlive()
    await site.install("db")
    assert (await second.state(), await site.release_state()) == ("TIMEOUT", "DEPLOYED")


async def test_nothing_that_is_secret_in_a_plan_is_stored(sealing: Site) -> None:
    planned = await plan(sealing, **SECRET)
    await planned.acquire()
    rendered = json.dumps({"resources": {"db": {"type": "acme/db", "config": {"key": TOKEN}, "sensitive": ["/key"]}}})
    await planned.submit("db", manifest=rendered)
    await planned.report(
        node("db", "INSTALLING"),
        step("db", 1, "STATE", RUNNING, args=pb.Args(values=[f"--key={TOKEN}"])),
        step("db", 1, "STATE", SUCCEEDED),
        resource("db", "STALE", config=json.dumps({"url": f"x:{PASSWORD}@y"}), secrets=[FOUND]),
        step("db", 2, "ACTION", PENDING, attempt=0, args=pb.Args(values=[FOUND, "--now"])),
        node("db", "READY"),
    )
    texts = {"nodes": [{"path": "db", "before": f"{PASSWORD}/{TOKEN}", "after": FOUND, "mark": "~"}]}
    await planned.report(finish(result=json.dumps(texts)))
    assert await leaked(sealing, PASSWORD, TOKEN, FOUND) == []
    assert await owners(sealing) == ["operation"]
    shown = json.loads((await planned.get()).result)
    assert shown == {"nodes": [{"path": "db", "before": None, "after": None, "mark": "~"}]}
    assert await sealing.sql.fetchval("SELECT count(*) FROM release_resource") == 0
    begun = await sealing.stub.ApplyPlan(pb.ApplyPlanRequest(operation_id=str(uuid.uuid4()), plan=planned.id))
    applied = Flow(sealing, begun.id, "shop")
    await applied.acquire()
    await sealing.kill(applied.token)
    await applied.acquire(await sealing.acquire("b"))
    work = await work_of(applied)
    assert work.documents["source"]["variables"] == {"password": PASSWORD}
    assert work.documents["expected"] == texts
    assert {PASSWORD, TOKEN, FOUND} <= set(work.secrets)
    assert await leaked(sealing, PASSWORD, TOKEN, FOUND) == []


async def test_a_plan_whose_secrets_cannot_be_sealed_is_refused(site: Site) -> None:
    with pytest.raises(Exception, match="no keys"):
        await plan(site, **SECRET)
    assert await site.sql.fetchval("SELECT count(*) FROM release") == 0


async def test_a_result_is_an_object_of_what_looks_or_brings_about_and_its_drift_a_digest(site: Site) -> None:
    flow = await site.apply("db")
    await flow.acquire()
    await flow.submit("db")
    # Nothing is given out by what has not been brought about.
    told = await flow.refused(node("db", "INSTALLING"), node("db", "FAILED"), finish(FAILED, result="{}"))
    assert (told.reason, [*told.fields]) == ("INVALID_FIELD", ["result"])
    await flow.report(node("db", "INSTALLING"), node("db", "READY"), finish(result='{"outputs": {"url": "x"}}'))
    assert json.loads((await flow.get()).result) == {"outputs": {"url": "x"}}
    looked = await site.begin("Plan")
    await looked.acquire()
    await looked.submit("db")
    for result, field in (
        ("[]", "reports[0].finish.result"),
        ('{"drift": "XYZ"}', "result.drift"),
        (json.dumps({"text": "x" * 3 * 1024 * 1024}), "reports[0].finish.result"),
    ):
        told = await looked.refused(finish(result=result))
        assert (told.reason, [*told.fields]) == ("INVALID_FIELD", [field])
