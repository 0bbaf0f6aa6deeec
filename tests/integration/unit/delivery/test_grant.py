"""Units are granted their events in order, one at a time, and each is heard once."""

import grpc

from support import edge
from support.unit_rows import DIGEST
from support.unit_site import Site, bag
from tinkwell.api.v1 import unit_service_pb2 as pb

NOTHING_DUE = pb.NO_EVENT_REASON_NOTHING_DUE


async def test_a_unit_is_set_up_and_then_waits_for_its_tick(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    assert (await agent.next(unit)).grant.event.kind == "install"
    following = await agent.commit(unit)
    # The setup asks who leads: NextEvent holds the election.
    assert (following.none.reason, following.none.due_in_seconds) == (NOTHING_DUE, 0.0)
    assert (await agent.next(unit)).grant.event.kind == "leader-elected"
    assert agent.grants[unit].leadership.is_leader
    assert (await agent.commit(unit)).grant.event.kind == "config-changed"
    assert (await agent.commit(unit)).grant.event.kind == "start"
    waits = await agent.commit(unit)
    assert waits.none.reason == NOTHING_DUE
    assert 0 < waits.none.due_in_seconds <= 360
    assert await site.told(unit) == [
        "install COMMITTED",
        "leader-elected COMMITTED",
        "config-changed COMMITTED",
        "start COMMITTED",
    ]
    await site.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp()")
    assert (await agent.next(unit)).grant.event.kind == "update-status"
    assert (await agent.commit(unit)).none.reason == NOTHING_DUE
    await site.sql.execute("UPDATE unit SET next_tick_at = NULL")
    # Only a wake tells when to ask for a unit that never ticks.
    assert not (await agent.next(unit)).none.HasField("due_in_seconds")


async def test_who_asks_again_is_granted_the_same_attempt(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    first, again = await agent.next(unit), await agent.next(unit)
    assert (first.grant.event.id, first.grant.event.attempt) == (again.grant.event.id, again.grant.event.attempt)
    request = agent.committing(unit)
    following = (await site.stub.CommitEvent(request)).next
    repeated = (await site.stub.CommitEvent(request)).next
    assert repeated.grant.event == following.grant.event
    assert await site.told(unit) == ["install COMMITTED", "leader-elected RUNNING"]


async def test_two_related_units_meet_and_part(site: Site) -> None:
    await site.rows.application("web")
    await site.rows.application("pg")
    web, pg = await site.rows.unit("web"), await site.rows.unit("pg")
    agent = await site.agent()
    await agent.run(web, pg)
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    assert (await agent.next(web)).grant.event.name == "db-relation-created"
    assert [each.number for each in agent.grants[web].relations] == [relation]
    await agent.commit(web, bags=[bag(relation, port="80")])
    told = await agent.run(web, pg)
    assert told == [
        "pg/0 db-relation-created",
        "web/0 db-relation-joined pg/0",
        "pg/0 db-relation-joined web/0",
        "web/0 db-relation-changed pg/0",
        "pg/0 db-relation-changed web/0",
    ]
    await site.unrelate(relation)
    assert sorted(await agent.run(web, pg)) == [
        "pg/0 db-relation-broken",
        "pg/0 db-relation-departed web/0",
        "web/0 db-relation-broken",
        "web/0 db-relation-departed pg/0",
    ]
    assert await site.count("relation") == 0


async def test_a_removed_unit_is_torn_down_and_leaves_nothing(site: Site) -> None:
    await site.rows.application("web")
    await site.rows.application("pg")
    web, pg = await site.rows.unit("web"), await site.rows.unit("pg")
    storage = await site.rows.storage(web)
    await site.rows.relate(("pg", "db"), ("web", "db"))
    agent = await site.agent()
    assert (await agent.next(web)).grant.event.storage == storage
    await agent.run(web, pg)
    await site.dying(web)
    granted = (await agent.next(web)).grant.event
    assert (granted.reason, granted.leaving, granted.actor) == ("UNIT_REMOVED", "SELF", "ann")
    told = await agent.run(web, pg)
    assert [each for each in told if each.startswith("web/0")] == [
        "web/0 db-relation-departed pg/0",
        "web/0 db-relation-broken",
        "web/0 data-storage-detaching",
        "web/0 stop",
        "web/0 remove",
    ]
    assert [each for each in told if each.startswith("pg/0")] == ["pg/0 db-relation-departed web/0"]
    assert (await agent.next(web)).none.reason == pb.NO_EVENT_REASON_GONE
    assert (await site.count("unit"), await site.count("storage")) == (1, 0)


async def test_a_dying_unit_that_was_never_installed_is_gone_at_once(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await site.dying(unit)
    assert (await agent.next(unit)).none.reason == pb.NO_EVENT_REASON_GONE
    assert await site.count("unit") == 0


async def test_only_who_has_said_that_it_serves_a_unit_is_granted_its_events(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    other = await site.agent(application="pg")
    told = await edge.refused(site.stub.NextEvent(other.asking(unit)))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ILLEGAL_TRANSITION")
    stale = await site.agent(charm="sha256:" + "1" * 64)
    told = await edge.refused(site.stub.NextEvent(stale.asking(unit)))
    assert told.reason == "ILLEGAL_TRANSITION"


async def test_while_a_workflow_holds_the_machine_its_units_get_no_new_events(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    machine = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a01"
    await site.sql.execute("UPDATE unit SET is_anywhere = false, machine_id = $1::text::uuid", machine)
    agent = await site.agent(machines=[machine])
    await agent.next(unit)
    lease = await site.sql.fetchval("SELECT id FROM lease")
    workflow = await site.sql.fetchval(
        """
        WITH made AS (INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), 't', '') RETURNING id)
        INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions)
        SELECT gen_random_uuid(), made.id, 't', '{}', '', 0 FROM made RETURNING id
        """
    )
    await site.sql.execute("INSERT INTO machine_hold VALUES ($1::text::uuid, $2, $3)", machine, workflow, lease)
    held = await agent.commit(unit)
    assert (held.none.reason, held.none.due_in_seconds) == (pb.NO_EVENT_REASON_MACHINE_HELD, 10.0)
    assert (await agent.next(unit)).none.reason == pb.NO_EVENT_REASON_MACHINE_HELD
    await site.sql.execute("DELETE FROM machine_hold")
    assert (await agent.next(unit)).grant.event.kind == "leader-elected"


async def _refresh(site: Site) -> str:
    digest = "sha256:" + "2" * 64
    await site.sql.execute(
        "INSERT INTO charm (digest, name, kind, manifest, size) VALUES ($1, 'any', 'SCRIPTS', '{}', 0)", digest
    )
    await site.sql.execute("UPDATE application SET charm = $1", digest)
    return digest


async def test_an_agent_of_one_charm_is_granted_what_runs_on_that_alone(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    former = await site.agent(charm=DIGEST)
    await former.run(unit)
    digest = await _refresh(site)
    assert (await former.next(unit)).none.reason == pb.NO_EVENT_REASON_OTHER_CHARM
    agent = await site.agent(charm=digest)
    told = [(await agent.next(unit)).grant.event]
    told += [(await agent.commit(unit)).grant.event for _ in range(2)]
    assert [(each.kind, each.seen.charm) for each in told] == [
        ("upgrade-charm", digest),
        ("config-changed", digest),
        ("start", digest),
    ]


async def test_who_runs_the_new_charm_alone_does_not_wait_for_the_former_one(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    await (await site.agent(charm=DIGEST)).run(unit)
    digest = await _refresh(site)
    # Its term was over meanwhile, so that it is elected once more, which would come first.
    await site.sql.execute("UPDATE application SET term = 2")
    agent = await site.agent(charm=digest)
    assert (await agent.run(unit))[:4] == [
        "web/0 upgrade-charm",
        "web/0 config-changed",
        "web/0 start",
        "web/0 leader-elected",
    ]


async def test_an_attempt_that_was_lost_is_made_again_by_who_runs_the_new_charm(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    former = await site.agent(charm=DIGEST)
    assert (await former.next(unit)).grant.charm == DIGEST
    digest = await _refresh(site)
    agent = await site.agent(charm=digest)
    again = (await agent.next(unit)).grant
    assert (again.event.kind, again.event.attempt, again.charm) == ("install", 2, digest)
