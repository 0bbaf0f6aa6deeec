"""An application has at most one leader, whose term ends with its agent's lease and a while."""

import asyncio

from support import edge
from support.unit_site import Agent, Site, bag
from support.waiting import eventually
from tinkwell.api.v1 import application_service_pb2 as application_pb
from tinkwell.api.v1 import unit_service_pb2 as pb


async def _led(site: Site) -> tuple[int | None, int]:
    row = await site.sql.fetchrow("SELECT leader, term FROM application WHERE name = 'web'")
    return row["leader"], row["term"]


async def _two(site: Site) -> tuple[str, str, Agent]:
    await site.rows.application("web")
    units = await site.rows.unit("web"), await site.rows.unit("web")
    agent = await site.agent()
    await agent.run(*units)
    return *units, agent


async def test_one_leads_and_the_others_are_told(site: Site) -> None:
    await site.rows.application("web")
    units = [await site.rows.unit("web") for _ in range(3)]
    agent = await site.agent()
    told = await agent.run(*units)
    # In the setup of the others it may come before the leader knows, and then once more.
    assert {each for each in told if "leader" in each} == {
        "web/0 leader-elected",
        "web/1 leader-settings-changed",
        "web/2 leader-settings-changed",
    }
    assert await _led(site) == (0, 1)


async def test_who_takes_over_from_a_dead_agent_is_elected_once_its_while_is_over(site: Site) -> None:
    await site.rows.application("web")
    first, second = await site.rows.unit("web"), await site.rows.unit("web")
    one, two = await site.agent("one", "one"), await site.agent("two", "two")
    await one.next(first)
    await one.commit(first)
    assert (await one.next(first)).grant.event.kind == "leader-elected"
    await two.run(second)
    await site.kill(one, ago_seconds=20)
    await site.service.rounds.run_once()
    assert await _led(site) == (0, 1)
    await site.kill(one, ago_seconds=31)
    await site.service.rounds.run_once()
    assert await _led(site) == (1, 2)
    assert await two.run(second) == ["web/1 leader-elected"]
    # What the frozen one was granted as leader is lost on it.
    assert (await two.next(first)).grant.event.kind == "leader-settings-changed"
    assert (await site.told(first))[-2:] == ["leader-elected WITHDRAWN", "leader-settings-changed RUNNING"]


async def test_an_incumbent_that_is_alive_again_keeps_its_term(site: Site) -> None:
    await _two(site)
    await site.sql.execute("UPDATE lease SET expires_at = clock_timestamp() - interval '40 seconds'")
    await site.agent()
    await site.service.rounds.run_once()
    assert await _led(site) == (0, 1)


async def test_what_a_leader_writes_after_its_term_is_lost(site: Site) -> None:
    first, _, agent = await _two(site)
    await site.rows.application("pg")
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    assert (await agent.next(first)).grant.leadership.is_leader
    await site.sql.execute("UPDATE application SET leader = 1, term = 2 WHERE name = 'web'")
    request = agent.committing(first, bags=[bag(relation, is_application=True, primary="web/0")], term=1)
    assert (await edge.refused(site.stub.CommitEvent(request))).reason == "NOT_LEADER"
    assert await site.count("relation_bag") == 0
    again = (await agent.next(first)).grant
    assert (again.event.kind, again.event.attempt, again.leadership.is_leader) == ("relation-created", 2, False)


async def test_a_leader_writes_the_bag_of_its_application(site: Site) -> None:
    first, second, agent = await _two(site)
    await site.rows.application("pg")
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    await agent.next(first)
    await agent.commit(first, bags=[bag(relation, is_application=True, primary="web/0")], term=1)
    assert await site.sql.fetchval("SELECT data ->> 'primary' FROM relation_bag WHERE owner = 'web'") == "web/0"
    await agent.next(second)
    request = agent.committing(second, bags=[bag(relation, is_application=True, primary="web/1")])
    assert (await edge.refused(site.stub.CommitEvent(request))).reason == "COMMIT_REFUSED"


async def test_a_removed_leader_leads_until_its_teardown_begins(site: Site) -> None:
    first, second, agent = await _two(site)
    await site.dying(first)
    assert await _led(site) == (0, 1)
    assert (await agent.next(first)).grant.event.kind == "stop"
    assert await _led(site) == (None, 1)
    assert (await agent.next(second)).grant.event.kind == "leader-elected"
    assert await _led(site) == (1, 2)


async def test_a_dying_application_elects_nobody(site: Site) -> None:
    first, second, agent = await _two(site)
    await site.sql.execute("UPDATE application SET life = 'DYING'")
    await site.dying(first)
    await site.dying(second)
    told = await agent.run(first, second)
    assert told == ["web/0 stop", "web/1 stop", "web/0 remove", "web/1 remove"]
    assert await site.count("application") == 0


async def test_only_the_leader_says_how_its_application_is(site: Site) -> None:
    first, second, agent = await _two(site)

    def saying(unit_id: str) -> pb.SetStatusRequest:
        status = application_pb.UnitStatus(name="active", message="serves")
        return pb.SetStatusRequest(
            lease_token=agent.token, unit_id=unit_id, status=status, application_status=status, workload_version="2.1"
        )

    await site.stub.SetStatus(saying(first))
    assert await site.sql.fetchval("SELECT status_name FROM application") == "active"
    assert await site.sql.fetchval("SELECT workload_version FROM unit WHERE number = 0") == "2.1"
    assert (await edge.refused(site.stub.SetStatus(saying(second)))).reason == "NOT_LEADER"
    assert await site.sql.fetchval("SELECT status_name FROM unit WHERE number = 1") == "waiting"


async def test_a_hundred_times_in_a_row_the_next_leader_has_the_next_term(site: Site) -> None:
    await site.rows.application("web")
    units = [await site.rows.unit("web") for _ in range(2)]
    for owner, unit in zip(("one", "two"), units, strict=True):
        await (await site.agent(owner, owner)).run(unit)
    leases = {0: "one", 1: "two"}
    for term in range(1, 101):
        leader, found = await _led(site)
        assert (leader, found) == ((term + 1) % 2, term)
        await site.sql.execute(
            """
            UPDATE lease
               SET expires_at = clock_timestamp() + make_interval(secs => CASE owner WHEN $1 THEN -31 ELSE 60 END)
            """,
            leases[(term + 1) % 2],
        )
        await site.service.rounds.run_once()
    rows = await site.sql.fetch(
        "SELECT data ->> 'term' AS term, data ->> 'leader' AS leader FROM events WHERE resource_type = 'APPLICATION'"
    )
    led = {(row["term"], row["leader"]) for row in rows if row["leader"]}
    assert len(led) == len({term for term, _ in led}) == 101


async def test_the_leader_step_of_a_setup_comes_also_from_who_takes_it_over(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    former = await site.agent("one", "one")
    await former.next(unit)
    assert (await former.commit(unit)).none.due_in_seconds == 0
    await site.kill(former, ago_seconds=60)
    other = await site.agent("two", "two")
    assert (await other.next(unit)).grant.event.kind == "leader-elected"


async def test_who_was_elected_waits_for_the_application_before_it_holds_its_unit(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await agent.next(unit)
    assert (await agent.commit(unit)).none.due_in_seconds == 0
    assert (await agent.next(unit)).grant.event.kind == "leader-elected"
    # Its term is over before it says that it has heard of it.
    await site.sql.execute("UPDATE application SET leader = NULL")
    async with site.sql.transaction():
        await site.sql.execute("SELECT FROM application FOR NO KEY UPDATE")
        committing = asyncio.ensure_future(agent.commit(unit))

        async def waits() -> bool:
            return bool(await site.sql.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))

        await eventually(waits)
        await site.sql.execute("SELECT FROM unit FOR NO KEY UPDATE NOWAIT")
    await committing
    assert (await site.told(unit))[1] == "leader-elected COMMITTED"
