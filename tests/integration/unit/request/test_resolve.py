"""Resolve and Request: failed events tried again or left out, and events that nothing else brings about."""

from support.application_site import PG, WEB, Site, refusal
from support.unit_site import Agent
from tinkwell.api.v1 import application_service_pb2 as pb


async def resolve(site: Site, unit: str = "web/0", *, skip: bool = False) -> pb.Unit:
    return await site.apps.Resolve(pb.ResolveRequest(unit=unit, skip=skip))


async def request(site: Site, asked: pb.UnitRequest.ValueType) -> pb.Unit:
    return await site.apps.Request(pb.RequestRequest(unit="web/0", request=asked))


async def failed(site: Site) -> tuple[Agent, str]:
    """A unit whose install has failed."""
    await site.deploy(WEB, "web")
    agent = await site.agent()
    unit_id = (await site.unit("web/0")).id
    await agent.next(unit_id)
    await agent.fail(unit_id)
    return agent, unit_id


async def test_a_failed_event_is_tried_again_now_and_the_log_tells_of_it(site: Site) -> None:
    agent, unit_id = await failed(site)
    unit = await site.unit("web/0")
    assert (unit.event.state, unit.event.message) == (pb.UNIT_EVENT_STATE_ERROR, "exit 1")
    assert (await agent.next(unit_id)).none.due_in_seconds > 1
    before = await site.sql.fetchval("SELECT max(revision) FROM events")
    await resolve(site)
    told = await site.sql.fetch("SELECT name, event_type FROM events WHERE revision > $1", before)
    assert [(row["name"], row["event_type"]) for row in told] == [("unit.install.updated", "UPDATED")]
    granted = (await agent.next(unit_id)).grant
    assert (granted.event.name, granted.event.attempt) == ("install", 2)


async def test_a_failed_event_is_left_out_as_if_it_had_been_heard(site: Site) -> None:
    agent, unit_id = await failed(site)
    resolved = await resolve(site, skip=True)
    assert not resolved.HasField("event")
    assert (await agent.run(unit_id))[-1] == "web/0 start"
    first = [each async for each in site.apps.ListEvents(pb.ListUnitEventsRequest(unit="web/0"))][-1]
    assert (first.kind, first.state) == ("install", pb.UNIT_EVENT_STATE_SKIPPED)
    assert first.message == "it was left out by anonymous: exit 1"


async def test_what_has_to_follow_is_left_out_with_it(site: Site) -> None:
    await site.deploy(WEB, "web")
    await site.deploy("name: pg\nprovides: {db: postgresql}", "pg")
    agent = await site.agent()
    await site.run(agent, "web/0", "pg/0")
    await site.apps.Relate(pb.RelateRequest(first="web", second="pg"))
    await site.run(agent, "pg/0")
    unit_id = (await site.unit("web/0")).id
    await agent.next(unit_id)
    await agent.commit(unit_id)
    await agent.fail(unit_id)
    await resolve(site, skip=True)
    listed = site.apps.ListEvents(pb.ListUnitEventsRequest(unit="web/0", limit=2))
    assert [(each.name, each.state) async for each in listed] == [
        ("db-relation-changed", pb.UNIT_EVENT_STATE_SKIPPED),
        ("db-relation-joined", pb.UNIT_EVENT_STATE_SKIPPED),
    ]


async def test_nothing_is_resolved_where_nothing_has_failed(site: Site) -> None:
    await site.deploy(WEB, "web")
    assert (await refusal(resolve(site))).message == "unit web/0: no event of it has failed; nothing is to resolve"
    assert (await refusal(resolve(site, "web/1"))).message == "unit web/1 does not exist"
    assert list((await refusal(resolve(site, "web"))).fields) == ["unit"]


async def test_what_is_asked_for_comes_once(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    await site.run(agent, "web/0")
    refused = await refusal(request(site, pb.UNIT_REQUEST_FINISH_UPGRADE))
    assert refused.message == "unit web/0: no upgrade of its machine was prepared; do that first"
    before = await site.sql.fetchval("SELECT max(revision) FROM events")
    for _ in range(2):
        await request(site, pb.UNIT_REQUEST_PREPARE_UPGRADE)
    assert await site.sql.fetchval("SELECT count(*) FROM events WHERE revision > $1", before) == 1
    await request(site, pb.UNIT_REQUEST_COLLECT_METRICS)
    assert sorted(await site.run(agent, "web/0")) == ["web/0 collect-metrics", "web/0 pre-series-upgrade"]
    for _ in range(2):
        await request(site, pb.UNIT_REQUEST_FINISH_UPGRADE)
    refused = await refusal(request(site, pb.UNIT_REQUEST_PREPARE_UPGRADE))
    assert refused.message == "unit web/0: post-series-upgrade has not ended; wait for it"
    assert await site.run(agent, "web/0") == ["web/0 post-series-upgrade"]
    assert list((await refusal(request(site, pb.UNIT_REQUEST_UNSPECIFIED))).fields) == ["request"]


async def test_nothing_is_asked_of_a_unit_that_has_failed_or_goes(site: Site) -> None:
    await failed(site)
    refused = await refusal(request(site, pb.UNIT_REQUEST_COLLECT_METRICS))
    assert refused.reason == "UNIT_IN_ERROR"
    assert refused.message == "unit web/0: its event install has failed; resolve that first"
    await site.deploy(PG, "pg")
    await site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="web/0"))
    refused = await refusal(request(site, pb.UNIT_REQUEST_COLLECT_METRICS))
    assert refused.reason == "ILLEGAL_TRANSITION"
