"""What units say lands with their events or at once, and they read what they may."""

import hashlib

from support import edge
from support.unit_rows import DIGEST
from support.unit_site import Agent, Site, bag, edits
from tinkwell.api.v1 import application_service_pb2 as application_pb
from tinkwell.api.v1 import unit_service_pb2 as pb


async def _installed(site: Site) -> tuple[str, Agent]:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await agent.run(unit)
    await _tick(site)
    await agent.next(unit)
    return unit, agent


async def _tick(site: Site) -> None:
    await site.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp()")


async def test_state_and_ports_come_back_with_the_next_event(site: Site) -> None:
    unit, agent = await _installed(site)
    ports = [application_pb.Port(protocol="tcp", number=80), application_pb.Port(protocol="icmp")]
    await agent.commit(unit, state=edits(seed="7", other="x"), opened=ports)
    await _tick(site)
    granted = (await agent.next(unit)).grant
    assert dict(granted.state) == {"seed": "7", "other": "x"}
    assert [(each.protocol, each.number) for each in granted.ports] == [("icmp", 0), ("tcp", 80)]
    await agent.commit(unit, state=edits(other=None, more=""), closed=ports[:1])
    await _tick(site)
    granted = (await agent.next(unit)).grant
    assert dict(granted.state) == {"seed": "7", "more": ""}
    assert [each.protocol for each in granted.ports] == ["icmp"]


async def test_effects_that_a_unit_may_not_have_are_refused(site: Site) -> None:
    wrong: list[tuple[str, dict[str, object]]] = [
        ('effects.state["key"]', {"state": edits(key="x" * (2 << 20))}),
        ("effects.state.key", {"state": edits(**{"": "x"})}),
        ("effects.opened[0].number", {"opened": [application_pb.Port(protocol="tcp", number=70_000)]}),
        ("effects.opened[0].number", {"opened": [application_pb.Port(protocol="icmp", number=1)]}),
        ("effects.closed[0].protocol", {"closed": [application_pb.Port(protocol="sctp", number=1)]}),
        ("effects.deferred[0].ordinal", {"deferred": [application_pb.Notice(ordinal=9, handler="h", event="{}")]}),
        ("effects.deferred[0].event", {"deferred": [application_pb.Notice(ordinal=1, handler="h", event="{")]}),
        ("effects.consumed[0]", {"consumed": [application_pb.Notice(ordinal=1, handler="h", event="{}")]}),
        ("effects.storages[0].name", {"storages": [application_pb.StorageCount(name="nothing", count=1)]}),
    ]
    await site.sql.execute("""UPDATE charm SET manifest = '{"name": "any", "kind": "scripts"}'""")
    unit, agent = await _installed(site)
    for field, effects in wrong:
        told = await edge.refused(site.stub.CommitEvent(agent.committing(unit, **effects)))
        assert (told.reason, list(told.fields)) == ("COMMIT_REFUSED", [field])
        assert (await site.told(unit))[-1] == "update-status ERROR"
        await site.retry_now()
        await agent.next(unit)
    assert [await site.count(table) for table in ("unit_state", "port", "deferred_notice", "storage")] == [0, 0, 0, 0]


async def test_a_notice_waits_in_its_place_until_it_is_consumed(site: Site) -> None:
    unit, agent = await _installed(site)
    first, second = (application_pb.Notice(ordinal=5, handler=name, event='{"kind": "start"}') for name in "ab")
    await agent.commit(unit, deferred=[first, second, first])
    await _tick(site)
    granted = (await agent.next(unit)).grant
    assert [(each.handler, each.event, each.attempts) for each in granted.deferred] == [
        ("a", '{"kind": "start"}', 1),
        ("b", '{"kind": "start"}', 1),
    ]
    await agent.commit(unit, consumed=[first])
    row = await site.sql.fetchrow("SELECT deferred, consumed FROM unit_event ORDER BY ordinal DESC LIMIT 1")
    assert tuple(row) == (0, 1)
    await _tick(site)
    granted = (await agent.next(unit)).grant
    assert [(each.handler, each.attempts) for each in granted.deferred] == [("b", 2)]


async def test_a_failed_event_leaves_notices_as_they_were(site: Site) -> None:
    unit, agent = await _installed(site)
    await agent.commit(unit, deferred=[application_pb.Notice(ordinal=5, handler="a", event="{}")])
    await _tick(site)
    await agent.next(unit)
    await agent.fail(unit)
    await site.retry_now()
    granted = (await agent.next(unit)).grant
    assert [each.attempts for each in granted.deferred] == [1]


async def test_a_unit_asks_for_storage_as_far_as_its_charm_allows(site: Site) -> None:
    await site.sql.execute(
        "UPDATE charm SET manifest = $1::text::json",
        '{"name": "any", "kind": "scripts", "storage": {"data": {"type": "filesystem", "multiple": {"range": "0-2"}}}}',
    )
    unit, agent = await _installed(site)
    asked = [application_pb.StorageCount(name="data", count=2)]
    assert (await agent.commit(unit, storages=asked)).grant.event.name == "data-storage-attached"
    told = await edge.refused(site.stub.CommitEvent(agent.committing(unit, storages=asked)))
    assert told.reason == "COMMIT_REFUSED"
    assert list(told.fields) == ["effects.storages[0].count"]
    assert await site.count("storage") == 2


async def test_bags_are_read_by_members_alone(site: Site) -> None:
    for name in ("web", "pg", "other"):
        await site.rows.application(name)
    web, pg = await site.rows.unit("web"), await site.rows.unit("pg")
    other = await site.rows.unit("other")
    agent = await site.agent()
    await agent.run(web, pg, other)
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    foreign = await site.rows.relate(("pg", "db"), ("other", "db"))
    await agent.next(web)
    # Nobody else is in it, and its own bag is empty.
    assert dict((await agent.read(web, relation, "web/0")).data) == {}
    assert (await edge.refused(agent.read(web, relation, "pg/0"))).reason == "NOT_FOUND"
    await agent.commit(web)
    await agent.next(pg)
    await agent.commit(pg, bags=[bag(relation, dsn="x", user="y")])
    await agent.next(web)
    found = await agent.read(web, relation, "pg/0")
    assert (dict(found.data), found.version) == ({"dsn": "x", "user": "y"}, 1)
    assert dict((await agent.read(web, relation, "pg")).data) == {}
    for number, owner in ((foreign, "pg/0"), (relation, "other/0"), (relation, "web/1"), (99, "pg/0")):
        assert (await edge.refused(agent.read(web, number, owner))).reason == "NOT_FOUND"
    # It leads, so it may read what its application says.
    assert (await agent.read(web, relation, "web")).version == 0
    other_agent = await site.agent("b")
    other_agent.grants = agent.grants
    assert (await edge.refused(other_agent.read(web, relation, "pg/0"))).reason == "LEASE_LOST"
    await site.sql.execute("UPDATE application SET leader = NULL")
    assert (await edge.refused(agent.read(web, relation, "web"))).reason == "NOT_FOUND"


def _may_read(unit: str, application: str, relation: tuple[str, ...], owner: str, *, leads: bool) -> bool:
    """Whether a unit whose relations are all settled may read a bag, in profile JUJU."""
    others = [each for each in relation if each != application] or [application]
    if application not in relation:
        return False
    if owner == application:
        return leads or len(relation) == 1
    return owner == unit or owner in others or owner.partition("/")[0] in others


async def test_of_all_bags_a_unit_reads_those_that_it_may(site: Site) -> None:
    names = ("web", "pg", "cache", "log")
    applications: dict[str, list[str]] = {}
    for name in names:
        await site.rows.application(name, profile="JUJU")
        applications[name] = [await site.rows.unit(name) for _ in range(2)]
    ends = [("web", "pg"), ("pg", "cache"), ("cache", "log"), ("web",), ("log",)]
    relations = {
        await site.rows.relate(*((name, "cluster" if len(both) == 1 else "db") for name in both)): both for both in ends
    }
    agent = await site.agent()
    units = [unit for found in applications.values() for unit in found]
    await agent.run(*units)
    await _tick(site)
    owners = [*names, *(f"{name}/{number}" for name in names for number in range(3))]
    refused = 0
    for unit in units:
        granted = (await agent.next(unit)).grant
        for relation, both in relations.items():
            for owner in owners:
                leads = granted.leadership.is_leader
                may = _may_read(granted.unit, granted.application, both, owner, leads=leads) and "/2" not in owner
                if may:
                    assert (await agent.read(unit, relation, owner)).owner == owner
                else:
                    assert (await edge.refused(agent.read(unit, relation, owner))).reason == "NOT_FOUND"
                    refused += 1
    assert refused > 200


async def test_nothing_is_read_of_a_relation_that_is_broken(site: Site) -> None:
    await site.rows.application("web")
    await site.rows.application("pg")
    web, pg = await site.rows.unit("web"), await site.rows.unit("pg")
    agent = await site.agent()
    await agent.run(web, pg)
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    await agent.run(web, pg)
    await site.unrelate(relation)
    assert (await agent.next(web)).grant.event.kind == "relation-departed"
    assert (await agent.read(web, relation, "pg/0")).owner == "pg/0"
    assert (await agent.commit(web)).grant.event.kind == "relation-broken"
    assert (await agent.commit(web)).none.reason == pb.NO_EVENT_REASON_NOTHING_DUE
    await _tick(site)
    assert (await agent.next(web)).grant.event.kind == "update-status"
    assert not agent.grants[web].relations
    assert (await edge.refused(agent.read(web, relation, "pg/0"))).reason == "NOT_FOUND"


async def test_lines_are_kept_once_and_survive_a_failure(site: Site) -> None:
    unit, agent = await _installed(site)
    lines = [
        application_pb.UnitLogLine(ordinal=5, attempt=1, number=number, level="INFO", text=f"line {number}")
        for number in (1, 2, 10_001)
    ]
    request = pb.AppendUnitLogsRequest(lease_token=agent.token, unit_id=unit, lines=lines)
    assert (await site.stub.AppendLogs(request)).accepted == 2
    assert (await site.stub.AppendLogs(request)).accepted == 2
    await agent.fail(unit)
    assert await site.count("unit_log") == 2
    other = await site.agent("b")
    request.lease_token = other.token
    assert (await edge.refused(site.stub.AppendLogs(request))).reason == "LEASE_LOST"


async def test_a_charm_is_fetched_whole(site: Site) -> None:
    _, agent = await _installed(site)
    parts = [b"a" * 1000, b"b" * 10]
    charm = await site.sql.fetchval("SELECT id FROM charm")
    for number, data in enumerate(parts):
        await site.sql.execute("INSERT INTO charm_chunk VALUES ($1, $2, $3)", charm, number, data)
    call = site.stub.FetchCharm(pb.FetchCharmRequest(lease_token=agent.token, digest=DIGEST))
    fetched = b"".join([part.data async for part in call])
    assert hashlib.sha256(fetched).digest() == hashlib.sha256(b"".join(parts)).digest()

    async def fetch(digest: str) -> None:
        async for _ in site.stub.FetchCharm(pb.FetchCharmRequest(lease_token=agent.token, digest=digest)):
            pass

    assert (await edge.refused(fetch("sha256:" + "9" * 64))).reason == "NOT_FOUND"
    await site.kill(agent)
    assert (await edge.refused(fetch(DIGEST))).reason == "LEASE_LOST"


async def test_options_have_what_is_set_or_their_default(site: Site) -> None:
    await site.sql.execute(
        "UPDATE charm SET manifest = $1::text::json",
        '{"config": {"options": {"a": {"type": "int", "default": 1}, "b": {"type": "string"}, "c": {"type": "int"}}}}',
    )
    unit, agent = await _installed(site)
    assert agent.grants[unit].config == '{ "a" : 1 }'
    await agent.commit(unit)
    await site.configure("web", a=2, b="x")
    granted = (await agent.next(unit)).grant
    assert (granted.event.kind, granted.config_version) == ("config-changed", 2)
    assert granted.config == '{ "a" : 2, "b" : "x" }'
