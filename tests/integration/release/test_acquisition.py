"""Operations are held under leases: who takes them, who loses them, and what others learn of them."""

import asyncio

import grpc
import pytest

from support import edge
from support.release_site import (
    FAILED,
    RUNNING,
    Site,
    finish,
    installs,
    node,
    phase,
)
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.api.v1 import work_service_pb2 as wk


async def test_an_operation_is_taken_once_and_by_its_owner_as_often_as_it_likes(site: Site) -> None:
    flow = await site.apply()
    mine, other = await site.acquire("a"), await site.acquire("b")
    first = await flow.acquire(mine)
    assert (first.is_first, first.is_same_engine, first.operation.state) == (True, True, RUNNING)
    assert first.operation.lease_token == mine
    again = await flow.acquire(mine)
    assert (again.is_first, again.is_same_engine) == (False, True)
    told = await edge.refused(flow.acquire(other))
    assert (told.reason, told.metadata) == ("LEASE_HELD", {"subject": f"operation {flow.id}", "operation_id": flow.id})
    for token in (4_711, 0):
        assert (await edge.refused(flow.acquire(token or -1))).reason in ("LEASE_LOST", "INVALID_FIELD")
    assert await site.events() == ["release.created shop", "operation.created", "operation.started"]


@pytest.mark.parametrize("where", ["engine", "another"])
async def test_after_its_owner_has_died_an_operation_is_taken_over_and_the_owner_refused(
    site: Site, where: str
) -> None:
    flow = await site.apply()
    former, heir = await site.acquire("a"), await site.acquire("b", where)
    await flow.acquire(former)
    await flow.submit("db")
    await site.kill(former)
    # As long as nobody has taken it away, an end is heard, and nothing else begins.
    assert (await flow.refused(node("db", "INSTALLING"), token=former)).reason == "LEASE_LOST"
    taken = await flow.acquire(heir)
    assert (taken.is_first, taken.is_same_engine) == (False, where == "engine")
    for report in (node("db", "INSTALLING"), phase(pb.OPERATION_PHASE_CLEANUP), finish(FAILED)):
        assert (await flow.refused(report, token=former)).reason == "LEASE_LOST"
    assert (await edge.refused(flow.submit("db", lease_token=former))).reason == "LEASE_LOST"
    await flow.report(*installs("db"), finish(), token=heir)
    assert await flow.state() == "SUCCEEDED"


async def test_an_owner_is_told_what_it_held_and_others_what_is_lost(site: Site) -> None:
    flows = [await site.apply(release=name) for name in ("a", "b")]
    mine = await site.acquire("a")
    for flow in flows:
        await flow.acquire(mine)
    back = await site.work.Acquire(wk.AcquireRequest(owner="a", engine="engine"))
    assert sorted(back.operation_ids) == sorted(flow.id for flow in flows)
    await flows[0].report(finish(FAILED), token=back.lease_token)
    other = await site.acquire("b")
    renewed = await site.work.Renew(wk.RenewRequest(lease_token=other))
    assert list(renewed.lost_operation_ids) == []
    await site.kill(back.lease_token)
    renewed = await site.work.Renew(wk.RenewRequest(lease_token=other))
    assert list(renewed.lost_operation_ids) == [flows[1].id]
    elsewhere = await site.work.Acquire(wk.AcquireRequest(owner="a", engine="another"))
    assert list(elsewhere.operation_ids) == []
    await flows[1].acquire(other)
    assert list((await site.work.Renew(wk.RenewRequest(lease_token=other))).lost_operation_ids) == []


async def test_who_holds_nothing_learns_and_changes_nothing(site: Site) -> None:
    flow = await site.apply()
    mine = await site.acquire("a")
    flow.token = mine
    for call in (
        flow.report(node("db", "INSTALLING")),
        flow.submit("db"),
        site.stub.GetWork(pb.GetWorkRequest(operation_id=flow.id, lease_token=mine)).read(),
    ):
        assert (await edge.refused(call)).reason in ("LEASE_LOST", "ILLEGAL_TRANSITION")
    assert await flow.state() == "PENDING"


async def test_a_release_with_files_on_an_engine_belongs_to_it(site: Site) -> None:
    flow = await site.apply()
    await flow.acquire(await site.acquire("a", "here"))
    await flow.submit("db", has_plugs=True)
    await flow.report(*installs("db"), finish())
    assert (await site.release()).engine == "here"
    again = await site.apply()
    told = await edge.refused(again.acquire(await site.acquire("b", "there")))
    assert (told.reason, "engine here" in told.message) == ("ILLEGAL_TRANSITION", True)
    await again.cancel()
    moving = await site.apply(options=pb.OperationOptions(move_engine=True))
    await moving.acquire(await site.acquire("b", "there"))
    await moving.submit("db", has_plugs=True)
    assert (await site.release()).engine == "there"


async def test_two_owners_that_take_one_operation_at_once_are_told_apart(site: Site) -> None:
    tokens = [await site.acquire(owner) for owner in "abc"]
    for number in range(20):
        flow = await site.apply(release=f"shop-{number}")
        requests = [pb.AcquireOperationRequest(operation_id=flow.id, lease_token=token) for token in tokens]
        answers = await asyncio.gather(*map(site.stub.AcquireOperation, requests), return_exceptions=True)
        lost = [edge.refusal(answer).reason for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        assert lost == ["LEASE_HELD", "LEASE_HELD"]
