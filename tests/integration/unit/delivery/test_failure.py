"""An event that fails is tried again, one that is lost as well, and who comes too late is refused."""

import grpc

from support import edge
from support.unit_site import Site, bag
from tinkwell.api.v1 import application_service_pb2 as application_pb
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.server.unit.service.agent import overdue

IN_ERROR = pb.NO_EVENT_REASON_IN_ERROR


async def test_a_failed_event_waits_and_is_tried_again(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await agent.next(unit)
    failed = await agent.fail(unit, "exit 1")
    assert failed.none.reason == IN_ERROR
    assert 0 < failed.none.due_in_seconds <= 7.5
    status = await site.sql.fetchrow("SELECT status_name, status_message FROM unit")
    assert tuple(status) == ("error", "install: exit 1")
    assert (await agent.next(unit)).none.reason == IN_ERROR
    assert (await agent.fail(unit, "exit 1")).none.reason == IN_ERROR
    await site.retry_now()
    again = (await agent.next(unit)).grant.event
    assert (again.kind, again.attempt, again.ordinal) == ("install", 2, 1)
    await agent.commit(unit)
    assert (await site.told(unit))[0] == "install COMMITTED"
    assert await site.sql.fetchval("SELECT status_name FROM unit") == "waiting"


async def test_what_a_charm_says_of_itself_is_kept_while_its_unit_is_in_error(site: Site) -> None:
    async def shown() -> tuple[str, str]:
        return tuple(await site.sql.fetchrow("SELECT status_name, status_message FROM unit"))

    async def say(name: str, message: str) -> None:
        status = application_pb.UnitStatus(name=name, message=message)
        await agent.stub.SetStatus(pb.SetStatusRequest(lease_token=agent.token, unit_id=unit, status=status))

    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await agent.next(unit)
    await say("blocked", "no disk")
    await agent.fail(unit, "exit 1")
    assert await shown() == ("error", "install: exit 1")
    await site.retry_now()
    await agent.next(unit)
    assert await shown() == ("blocked", "no disk")
    await agent.fail(unit, "exit 2")
    await say("maintenance", "copying")
    assert await shown() == ("error", "install: exit 2")
    await site.retry_now()
    await agent.next(unit)
    assert await shown() == ("maintenance", "copying")


async def test_where_nothing_is_retried_a_failed_event_waits_for_somebody(site: Site) -> None:
    await site.sql.execute("UPDATE namespace SET is_retrying = false")
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await agent.next(unit)
    failed = await agent.fail(unit)
    assert (failed.none.reason, failed.none.HasField("due_in_seconds")) == (IN_ERROR, False)


async def test_an_event_that_failed_and_whose_ground_is_gone_does_not_come_back(site: Site) -> None:
    await site.rows.application("web")
    await site.rows.application("pg")
    web, pg = await site.rows.unit("web"), await site.rows.unit("pg")
    agent = await site.agent()
    await agent.run(web, pg)
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    await agent.next(web)
    await agent.fail(web)
    await site.unrelate(relation)
    # Long before it would be tried again.
    assert (await agent.next(web)).none.reason == pb.NO_EVENT_REASON_NOTHING_DUE
    assert (await site.told(web))[-1] == "relation-created WITHDRAWN"
    assert await site.count("relation") == 0


async def test_the_rest_of_a_pair_is_left_out_with_its_relation(site: Site) -> None:
    await site.rows.application("web")
    await site.rows.application("pg")
    web, pg = await site.rows.unit("web"), await site.rows.unit("pg")
    agent = await site.agent()
    await agent.run(web, pg)
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    await agent.next(pg)
    await agent.commit(pg)
    await agent.next(web)
    assert (await agent.commit(web)).grant.event.kind == "relation-joined"
    assert (await agent.commit(web)).grant.event.kind == "relation-changed"
    await agent.fail(web)
    await site.unrelate(relation)
    assert (await agent.next(web)).grant.event.kind == "relation-departed"
    assert (await site.told(web))[-3:] == [
        "relation-joined COMMITTED",
        "relation-changed SKIPPED",
        "relation-departed RUNNING",
    ]


async def test_an_agent_that_comes_back_makes_the_lost_attempt_again(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    former = await site.agent()
    assert (await former.next(unit)).grant.event.attempt == 1
    agent = await site.agent()
    assert (await agent.next(unit)).grant.event.attempt == 2
    told = await edge.refused(site.stub.CommitEvent(former.committing(unit)))
    assert told.reason == "LEASE_LOST"
    # The second time in a row somebody has to look.
    third = await site.agent()
    assert (await third.next(unit)).none.reason == IN_ERROR
    assert await site.told(unit) == ["install ERROR"]


async def test_an_agent_that_stops_in_order_loses_nothing(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    for attempt in (1, 2):
        agent = await site.agent()
        assert (await agent.next(unit)).grant.event.attempt == attempt
        assert (await agent.fail(unit, is_handed_back=True)).none.reason == pb.NO_EVENT_REASON_NOTHING_DUE
    for attempt in (3, 4):
        agent = await site.agent()
        assert (await agent.next(unit)).grant.event.attempt == attempt
        await site.stop(agent)
    # What is lost counts still.
    for attempt in (5, 6):
        agent = await site.agent()
        assert (await agent.next(unit)).grant.event.attempt == attempt
    last = await site.agent()
    assert (await last.next(unit)).none.reason == IN_ERROR


async def test_an_attempt_that_its_agent_does_not_end_is_ended_after_its_deadline(site: Site) -> None:
    async def late(seconds: float) -> None:
        await site.sql.execute(
            "UPDATE unit_event SET deadline_at = clock_timestamp() - make_interval(secs => $1)", seconds
        )
        await site.service.rounds.run_once()

    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await agent.next(unit)
    await late(overdue.GRACE_SECONDS - 10)
    assert await site.told(unit) == ["install RUNNING"]
    # Of an agent that is not alive the outcome may still be told.
    await site.kill(agent)
    await late(overdue.GRACE_SECONDS + 1)
    assert await site.told(unit) == ["install RUNNING"]
    again = await site.agent()
    await again.next(unit)
    await late(overdue.GRACE_SECONDS + 1)
    assert await site.told(unit) == ["install ERROR"]
    status = await site.sql.fetchval("SELECT status_message FROM unit")
    assert status == "install: it took longer than 3,600 s, and its agent did not end it"
    told = await edge.refused(site.stub.CommitEvent(again.committing(unit)))
    assert (told.reason, told.message) == (
        "ILLEGAL_TRANSITION",
        f"unit event {again.grants[unit].event.id}: this attempt at it has failed already",
    )


async def test_the_outcome_of_an_attempt_is_heard_from_who_comes_back(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    former = await site.agent()
    await former.next(unit)
    agent = await site.agent()
    agent.grants = former.grants
    await agent.commit(unit)
    assert await site.told(unit) == ["install COMMITTED"]


async def test_of_two_agents_one_frozen_past_its_lease_one_commits(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    frozen = await site.agent("a", "one")
    await frozen.next(unit)
    other = await site.agent("b", "two")
    told = await edge.refused(site.stub.NextEvent(other.asking(unit)))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "LEASE_HELD")
    await site.kill(frozen)
    assert (await other.next(unit)).grant.event.attempt == 2
    told = await edge.refused(site.stub.CommitEvent(frozen.committing(unit)))
    assert told.reason == "LEASE_LOST"
    await other.commit(unit)
    told = await edge.refused(site.stub.CommitEvent(frozen.committing(unit)))
    assert told.reason == "LEASE_LOST"
    assert (await site.told(unit))[0] == "install COMMITTED"


async def test_an_expired_lease_is_heard_as_long_as_nobody_took_over(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await agent.next(unit)
    await site.kill(agent)
    assert (await agent.commit(unit)).none.reason == pb.NO_EVENT_REASON_NOTHING_DUE
    assert await site.told(unit) == ["install COMMITTED"]
    told = await edge.refused(site.stub.NextEvent(agent.asking(unit)))
    assert told.reason == "LEASE_LOST"


async def test_an_attempt_that_was_ended_from_outside_is_made_again_once(site: Site) -> None:
    await site.rows.application("web")
    unit = await site.rows.unit("web")
    agent = await site.agent()
    await agent.next(unit)
    assert (await agent.fail(unit, is_lost=True)).grant.event.attempt == 2
    assert (await agent.fail(unit, is_lost=True)).none.reason == IN_ERROR


async def test_a_refused_effect_fails_the_event_and_writes_nothing(site: Site) -> None:
    await site.rows.application("web")
    await site.rows.application("pg")
    web = await site.rows.unit("web")
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    agent = await site.agent()
    await agent.next(web)
    await agent.commit(web)
    assert (await agent.next(web)).grant.event.kind == "relation-created"
    wrong = [bag(relation, port="80"), bag(7, port="80"), bag(relation, is_application=True, port="80")]
    told = await edge.refused(site.stub.CommitEvent(agent.committing(web, bags=wrong)))
    assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "COMMIT_REFUSED")
    assert sorted(told.fields) == ["effects.bags[1].relation", "effects.bags[2].is_application"]
    assert (await site.told(web))[-1] == "relation-created ERROR"
    assert await site.count("relation_bag") == 0
    told = await edge.refused(site.stub.CommitEvent(agent.committing(web)))
    assert told.reason == "ILLEGAL_TRANSITION"


async def test_what_nobody_knows_is_not_found(site: Site) -> None:
    agent = await site.agent()
    unknown = "00000000-0000-4000-8000-000000000000"
    request = pb.CommitEventRequest(lease_token=agent.token, event_id=unknown, attempt=1)
    assert (await edge.refused(site.stub.CommitEvent(request))).reason == "NOT_FOUND"
    assert (await agent.next(unknown)).none.reason == pb.NO_EVENT_REASON_GONE
    told = await edge.refused(site.stub.NextEvent(pb.NextEventRequest(unit_id=unknown)))
    assert list(told.fields) == ["lease_token"]
