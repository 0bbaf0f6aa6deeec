"""As much is kept of a release as was asked for, and whatever is still needed."""

import uuid

import pytest

from support import edge
from support.release_site import CANCELLED, Site, node, plan
from tinkwell.api.v1 import release_service_pb2 as pb


def keeping(count: int) -> pb.OperationOptions:
    return pb.OperationOptions(history_max=count)


async def upgrade(site: Site, *names: str, number: int, keep: int) -> None:
    flow = await site.apply(*names, variables=f'{{"n": {number}}}', options=keeping(keep))
    await flow.carry_out(*names)


async def operations(site: Site) -> list[str]:
    return [each.id async for each in site.stub.ListOperations(pb.ListOperationsRequest(name="shop"))]


async def test_the_newest_revisions_are_kept_with_their_operations(site: Site) -> None:
    for number in range(5):
        await upgrade(site, "db", number=number, keep=3)
    assert await site.revisions() == {5: "DEPLOYED", 4: "SUPERSEDED", 3: "SUPERSEDED"}
    kept = await operations(site)
    assert len(kept) == 3
    assert kept[0] == (await site.release()).operation_id
    assert await site.sql.fetchval("SELECT count(DISTINCT operation_id) FROM node") == 3
    assert await site.sql.fetchval("SELECT count(DISTINCT operation_id) FROM step") == 3
    assert (await site.events()).count("operation.deleted") == 2
    told = await edge.refused(site.stub.GetRevision(pb.GetRevisionRequest(name="shop", revision=1)))
    assert (told.reason, told.metadata["resource_id"]) == ("NOT_FOUND", "1 of release shop")


async def test_before_its_first_plan_a_release_has_no_revision_to_be_shown(site: Site) -> None:
    await site.apply("db")
    told = await edge.refused(site.stub.GetRevision(pb.GetRevisionRequest(name="shop")))
    assert (told.reason, told.metadata["resource_id"]) == ("NOT_FOUND", "of release shop")


async def test_what_is_deployed_and_what_resources_were_seen_in_stays(site: Site) -> None:
    await upgrade(site, "old", number=0, keep=1)
    flow = await site.apply("db", variables='{"n": 1}', options=keeping(1))
    await flow.acquire()
    # What is left in place stays known by the revision that made it.
    await flow.submit("db", removed=["old"])
    await flow.report(node("old", "LEFT", message="kept"))
    await flow.carry_on("db")
    for number in range(2, 5):
        await (await site.apply("web", variables=f'{{"n": {number}}}', options=keeping(1))).fail("web")
    assert await site.revisions() == {5: "FAILED", 2: "DEPLOYED", 1: "SUPERSEDED"}
    assert await site.release_state() == "FAILED"
    await (await site.begin("Resume")).cancel()


async def test_operations_without_a_revision_are_not_kept_for_ever(site: Site) -> None:
    installed = await site.install("db")
    for _ in range(5):
        await (await site.apply("db", options=keeping(2))).cancel()
    kept = await operations(site)
    assert len(kept) == 3
    assert installed.id in kept


async def test_the_operation_that_a_resumption_goes_on_with_is_kept(site: Site) -> None:
    await site.install("db")
    failed = await site.begin("Uninstall")
    await failed.acquire()
    await failed.submit_text(plan(removed=["db"]))
    await failed.cancel()
    await failed.report(finish_cancelled())
    for _ in range(4):
        await (await site.apply("db", options=keeping(1))).cancel()
    assert failed.id in await operations(site)
    resumed = await site.begin("Resume")
    assert (await resumed.get()).kind == pb.OPERATION_KIND_UNINSTALL


def finish_cancelled() -> pb.OperationReport:
    return pb.OperationReport(finish=pb.FinishReport(state=CANCELLED, cause='{"reason": "CANCELLED", "message": "x"}'))


@pytest.mark.parametrize(("days", "is_kept"), [(0, True), (2, False)])
async def test_a_release_that_was_uninstalled_is_forgotten_a_day_later(site: Site, days: int, is_kept: bool) -> None:
    installed = await site.install("db")
    release = await site.release()
    flow = await site.begin("Uninstall")
    await flow.carry_out(removed=["db"])
    await site.sql.execute(f"UPDATE release SET deleted_at = deleted_at - interval '{days} days'")
    before = await site.last_revision()
    assert [each async for each in site.stub.ListUnfinished(pb.ListUnfinishedOperationsRequest())] == []
    assert await site.sql.fetchval("SELECT count(*) FROM release WHERE id = $1", uuid.UUID(release.id)) == is_kept
    for table in ("operation", "node", "step", "release_revision"):
        assert bool(await site.sql.fetchval(f"SELECT count(*) FROM {table}")) == is_kept
    assert await site.events(after=before) == []
    if is_kept:
        assert await installed.state() == "SUCCEEDED"
