"""Relate and Unrelate: which endpoints are joined, what both sides are told, and what is refused."""

import pytest

from support.application_site import PG, WEB, Site, refusal
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.core.unit import limit


async def relate(site: Site, first: str = "web", second: str = "pg") -> pb.Relation:
    return await site.apps.Relate(pb.RelateRequest(first=first, second=second))


async def test_both_sides_are_told_of_a_relation_and_of_its_end(site: Site) -> None:
    await site.deploy(WEB, "web")
    await site.deploy("name: pg\nprovides: {db: postgresql}", "pg")
    agent = await site.agent()
    await site.run(agent, "web/0", "pg/0")
    made = await relate(site)
    assert [(end.application, end.endpoint) for end in made.ends] == [("pg", "db"), ("web", "db")]
    assert (made.number, made.interface, made.is_peer, made.life) == (1, "postgresql", False, pb.LIFE_ALIVE)
    assert sorted(await site.run(agent, "web/0", "pg/0")) == [
        "pg/0 db-relation-changed web/0",
        "pg/0 db-relation-created",
        "pg/0 db-relation-joined web/0",
        "web/0 db-relation-changed pg/0",
        "web/0 db-relation-created",
        "web/0 db-relation-joined pg/0",
    ]
    ended = await site.apps.Unrelate(pb.UnrelateRequest(first="pg:db", second="web"))
    assert ended.life == pb.LIFE_DYING
    assert sorted(await site.run(agent, "web/0", "pg/0")) == [
        "pg/0 db-relation-broken",
        "pg/0 db-relation-departed web/0",
        "web/0 db-relation-broken",
        "web/0 db-relation-departed pg/0",
    ]
    assert not await site.count("relation")


async def test_a_relation_that_is_there_is_answered_as_it_is(site: Site) -> None:
    await site.deploy(WEB, "web")
    await site.deploy(PG, "pg")
    made = await relate(site)
    assert await relate(site, "pg:db", "web:db") == made
    assert made.number == 2


async def test_the_ends_of_an_application_and_its_limits_are_kept(site: Site) -> None:
    await site.deploy(WEB, "web")
    for name in ("pg", "pg-two"):
        await site.deploy(PG, name)
    await relate(site)
    refused = await refusal(relate(site, "web", "pg-two"))
    assert refused.reason == "ENDPOINT_MISMATCH"
    assert refused.message == (
        "web:db: it has 1 relation already, which is all that its charm allows; remove one first"
    )
    refused = await refusal(relate(site, "web", "web"))
    assert refused.message == "web and web: an application is not related to itself; declare a peer endpoint"
    refused = await refusal(relate(site, "pg", "pg-two"))
    assert refused.reason == "ENDPOINT_MISMATCH"
    assert (await refusal(relate(site, "web", "none"))).message == "application none does not exist"
    assert sorted((await refusal(relate(site, "Web", "pg:"))).fields) == ["first", "second"]


async def test_a_relation_without_members_is_gone_at_once(site: Site) -> None:
    await site.deploy(WEB, "web", 0)
    await site.deploy(PG, "pg", 0)
    made = await relate(site)
    ended = await site.apps.Unrelate(pb.UnrelateRequest(number=made.number))
    assert ended.life == pb.LIFE_DYING
    refused = await refusal(site.apps.Unrelate(pb.UnrelateRequest(number=made.number)))
    assert refused.message == f"relation {made.number} does not exist"
    refused = await refusal(site.apps.Unrelate(pb.UnrelateRequest(first="web", second="pg")))
    assert refused.message == "relation of web and pg does not exist"
    assert (await relate(site)).number == made.number + 1


async def test_peers_are_not_taken_apart(site: Site) -> None:
    await site.deploy(PG, "pg")
    refused = await refusal(site.apps.Unrelate(pb.UnrelateRequest(number=1)))
    assert refused.message == "relation 1 (pg:cluster): it is a peer relation; remove the application instead"


async def test_relations_have_a_bounded_number_of_units(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await site.deploy(WEB, "web", 2)
    await site.deploy(PG, "pg", 2)
    monkeypatch.setattr(limit, "MEMBERS_PER_RELATION", 3)
    refused = await refusal(relate(site))
    assert refused.message == "the relation would have 4 units; at most 3 may be in one"


async def test_bags_are_read_where_they_are_asked_for(site: Site) -> None:
    await site.deploy(WEB, "web")
    await site.deploy(PG, "pg")
    made = await relate(site)
    statement = "INSERT INTO relation_bag (relation_id, owner, data) VALUES ($1::text::uuid, 'pg/0', $2::text::jsonb)"
    await site.sql.execute(statement, made.id, '{"dsn": "a"}')
    request = pb.GetRelationRequest(number=made.number)
    assert not (await site.apps.GetRelation(request)).bags
    [bag] = (await site.apps.GetRelation(pb.GetRelationRequest(number=made.number, with_bags=True))).bags
    assert (bag.owner, dict(bag.data), bag.version) == ("pg/0", {"dsn": "a"}, 1)
    listed = site.apps.ListRelations(pb.ListRelationsRequest(application="web"))
    assert [each.number async for each in listed] == [made.number]
    assert (await refusal(site.apps.GetRelation(pb.GetRelationRequest(number=9)))).reason == "NOT_FOUND"
