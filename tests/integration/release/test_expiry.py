"""Nothing is stuck: what is past its deadline and held by nobody alive is ended by whoever asks."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support import edge, waiting
from support.release_site import FAILED, RUNNING, Flow, Site, finish, installs, node, step
from tinkwell.api.v1 import release_service_pb2 as pb


async def drain(stream: Any) -> list[Any]:
    return [each async for each in stream]


ASK: dict[str, Callable[[Site, Flow], Awaitable[Any]]] = {
    "GetOperation": lambda site, flow: site.stub.GetOperation(pb.GetOperationRequest(id=flow.id)),
    "GetRelease": lambda site, _: site.stub.GetRelease(pb.GetReleaseRequest(name="shop")),
    "History": lambda site, _: drain(site.stub.History(pb.HistoryRequest(name="shop"))),
    "ListOperations": lambda site, _: drain(site.stub.ListOperations(pb.ListOperationsRequest(name="shop"))),
    "ListNodes": lambda site, flow: drain(site.stub.ListNodes(pb.ListNodesRequest(operation_id=flow.id))),
    "ListResources": lambda site, _: drain(site.stub.ListResources(pb.ListResourcesRequest(name="shop"))),
    "ListUnfinished": lambda site, _: drain(site.stub.ListUnfinished(pb.ListUnfinishedOperationsRequest())),
    "WatchLogs": lambda site, flow: drain(
        site.stub.WatchLogs(pb.WatchStepLogsRequest(operation_id=flow.id, follow=True))
    ),
    "Apply": lambda site, _: site.stub.Apply(site.applying()),
    "Resume": lambda site, _: edge.refused(site.begin("Resume")),
    "AcquireOperation": lambda _, flow: edge.refused(flow.acquire()),
}


@pytest.mark.parametrize("call", ASK)
async def test_whoever_asks_ends_what_nobody_took_in_time(site: Site, call: str) -> None:
    flow = await site.apply()
    await flow.outlive()
    await ASK[call](site, flow)
    assert await site.sql.fetchval("SELECT state FROM operation WHERE id = $1", uuid.UUID(flow.id)) == "TIMEOUT"
    operation = await flow.get()
    assert json.loads(operation.cause)["reason"] == "TIMEOUT"
    assert "no provisioner took the operation" in operation.cause
    assert (await site.events())[:4] == [
        "release.created shop",
        "operation.created",
        "operation.timeout",
        "release.failed shop",
    ]


async def test_one_that_cannot_be_ended_keeps_no_other_one_from_it(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    broken, other = await site.apply(), await site.apply(release="back")
    # Nobody writes such options, and nobody can read them.
    await site.sql.execute("UPDATE operation SET options = '{\"no\": 1}' WHERE id = $1", uuid.UUID(broken.id))
    for flow in (broken, other):
        await flow.outlive()
    left = await drain(site.stub.ListUnfinished(pb.ListUnfinishedOperationsRequest()))
    assert [each.id for each in left] == [broken.id]
    assert await other.state() == "TIMEOUT"
    (told,) = [each for each in caplog.records if each.message == "an operation that is due cannot be ended"]
    assert getattr(told, "operation", "") == broken.id


async def test_a_release_that_is_asked_for_by_its_id_is_ended_too(site: Site) -> None:
    flow = await site.apply()
    release = await site.release()
    await flow.outlive()
    found = await site.stub.GetRelease(pb.GetReleaseRequest(id=release.id))
    assert found.state == pb.RELEASE_STATE_FAILED


async def test_what_a_dead_owner_left_is_ended_with_its_nodes_and_steps(site: Site) -> None:
    flow = await site.apply("db", "web")
    await flow.acquire()
    await flow.submit("db", "web")
    await flow.report(node("db", "INSTALLING"), step("db", 1, "STATE", RUNNING))
    await flow.outlive()
    # Its owner lives, and sees to it.
    assert await flow.state() == "RUNNING"
    await site.kill(flow.token)
    assert await flow.state() == "TIMEOUT"
    assert await flow.nodes() == {"db": "FAILED", "web": "SKIPPED"}
    assert await site.revisions() == {1: "FAILED"}
    assert await site.sql.fetchval("SELECT state FROM step") == "TIMEOUT"
    assert await site.sql.fetchval("SELECT lease_id FROM operation") is None
    assert (await flow.refused(finish(FAILED))).reason == "ILLEGAL_TRANSITION"


@pytest.mark.parametrize("call", [call for call in ASK if call not in ("AcquireOperation", "Resume")])
async def test_what_was_cancelled_ends_when_its_owner_dies(site: Site, call: str) -> None:
    flow = await site.apply("db")
    await flow.acquire()
    await flow.submit("db")
    await site.stub.Cancel(pb.CancelRequest(operation_id=flow.id, reason="enough"))
    # Its owner lives, and sees to it.
    assert await flow.state() == "RUNNING"
    await site.kill(flow.token)
    await ASK[call](site, flow)
    assert await site.sql.fetchval("SELECT state FROM operation WHERE id = $1", uuid.UUID(flow.id)) == "CANCELLED"
    assert json.loads((await flow.get()).cause) == {"reason": "CANCELLED", "message": "enough"}


async def test_who_cancels_once_more_without_a_reason_leaves_the_first(site: Site) -> None:
    flow = await site.apply("db")
    await flow.acquire()
    await site.stub.Cancel(pb.CancelRequest(operation_id=flow.id, reason="enough"))
    await site.kill(flow.token)
    ended = await site.stub.Cancel(pb.CancelRequest(operation_id=flow.id))
    assert json.loads(ended.cause) == {"reason": "CANCELLED", "message": "enough"}


async def test_what_was_cancelled_may_be_taken_as_long_as_nobody_has_ended_it(site: Site) -> None:
    flow = await site.apply("db")
    await flow.acquire()
    await site.stub.Cancel(pb.CancelRequest(operation_id=flow.id))
    await site.kill(flow.token)
    taken = await flow.acquire(await site.acquire("b"))
    assert taken.operation.cancel_requested
    assert await flow.state() == "RUNNING"


async def test_what_is_not_due_goes_on(site: Site) -> None:
    waiting_one, dead = await site.apply(release="a"), await site.apply(release="b")
    await dead.acquire()
    await site.kill(dead.token)
    listed = await drain(site.stub.ListUnfinished(pb.ListUnfinishedOperationsRequest()))
    assert [(each.id, each.is_held, each.namespace) for each in listed] == [
        (waiting_one.id, False, "default"),
        (dead.id, False, "default"),
    ]
    assert [await flow.state() for flow in (waiting_one, dead)] == ["PENDING", "RUNNING"]


async def test_unfinished_operations_are_listed_by_namespace_with_who_may_take_them(site: Site) -> None:
    first = await site.apply(release="a", namespace="one")
    other = await site.apply(release="b", namespace="two")
    await site.install(release="done", namespace="two")
    await first.acquire()
    request = pb.ListUnfinishedOperationsRequest
    assert [each.id for each in await drain(site.stub.ListUnfinished(request()))] == [first.id, other.id]
    [held] = await drain(site.stub.ListUnfinished(request(namespaces=["one", "three"])))
    assert (held.id, held.state, held.is_held, held.engine) == (first.id, RUNNING, True, "")
    told = await edge.refused(site.stub.ListUnfinished(request(namespaces=["one", "A"])).read())
    assert list(told.fields) == ["namespaces[1]"]
    told = await edge.refused(site.stub.ListUnfinished(request(namespaces=["n"] * 101)).read())
    assert list(told.fields) == ["namespaces"]


async def test_an_atomic_operation_that_nobody_ended_is_made_up_for_by_whoever_comes(site: Site) -> None:
    await site.install("db")
    flow = await site.apply("db", "web", options=pb.OperationOptions(atomic=True))
    await flow.acquire()
    await flow.submit("db", "web")
    await site.kill(flow.token)
    await flow.outlive()
    assert await flow.state() == "TIMEOUT"
    [following] = await drain(site.stub.ListUnfinished(pb.ListUnfinishedOperationsRequest()))
    assert (following.is_held, await site.release_state()) == (False, "PENDING_ROLLBACK")
    taken = Flow(site, following.id, "shop")
    assert (await taken.acquire(await site.acquire("b", "another"))).is_first


async def test_many_that_ask_at_once_end_it_once(site: Site) -> None:
    for number in range(10):
        flow = await site.apply(release=f"shop-{number}")
        before = await site.last_revision()
        await flow.outlive()
        await asyncio.gather(*(flow.get() for _ in range(5)))
        assert await site.events(after=before) == ["operation.timeout", f"release.failed shop-{number}"]


async def test_an_owner_that_is_late_is_still_heard(site: Site) -> None:
    flow = await site.apply()
    await flow.acquire()
    await flow.submit("db")
    await flow.report(*installs("db"))
    await flow.outlive()
    await site.kill(flow.token)
    await flow.report(finish())
    assert await flow.state() == "SUCCEEDED"


async def test_who_follows_output_sees_the_end_of_what_nobody_carries_out(site: Site) -> None:
    flow = await site.apply()
    reading = asyncio.ensure_future(ASK["WatchLogs"](site, flow))
    await waiting.eventually(lambda: site.logs.watcher_count == 1)
    await flow.outlive()
    assert await asyncio.wait_for(reading, 10) == []
    assert await flow.state() == "TIMEOUT"
