"""What agents may not do to units: those that others hold, of other namespaces, after their lease, by odd requests."""

import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from support import edge
from support.unit_rows import DIGEST
from support.unit_site import Agent, Site, bag, edits
from tinkwell.api.v1 import application_service_pb2 as application_pb
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.api.v1 import work_service_pb2
from tinkwell.server.unit.service.agent.wake import MAX_STREAMS_EACH_LEASE

_NOBODY = str(uuid.UUID(int=0))
_STATUS = application_pb.UnitStatus(name="active", message="mine now")


async def _tick(site: Site) -> None:
    await site.sql.execute("UPDATE unit SET next_tick_at = clock_timestamp()")


async def _related(site: Site) -> tuple[Agent, str, str, int]:
    """Two related units with an agent, each of which is granted an event."""
    await site.rows.application("web")
    await site.rows.application("pg")
    web, pg = await site.rows.unit("web"), await site.rows.unit("pg")
    agent = await site.agent()
    await agent.run(web, pg)
    relation = await site.rows.relate(("pg", "db"), ("web", "db"))
    await agent.run(web, pg)
    await _tick(site)
    for unit in (web, pg):
        await agent.next(unit)
    return agent, web, pg, relation


def _asked(stub: Any, token: int, grant: pb.Grant, relation: int) -> Iterator[tuple[str, Awaitable[object]]]:
    """Everything that can be asked about a unit and its event, under a token."""
    event, unit = grant.event, grant.unit_id
    line = application_pb.UnitLogLine(ordinal=event.ordinal, attempt=1, number=1, level="INFO", text="x")
    effects = pb.Effects(bags=[bag(relation, stolen="yes")], state=edits(stolen="yes"))
    commit = pb.CommitEventRequest(lease_token=token, event_id=event.id, attempt=event.attempt, effects=effects)
    fail = pb.FailEventRequest(lease_token=token, event_id=event.id, attempt=event.attempt, message="no")
    lost = pb.FailEventRequest(lease_token=token, event_id=event.id, attempt=event.attempt, is_lost=True)
    secret = pb.ReadSecretRequest(lease_token=token, event_id=event.id, id="0" * 20)
    yield "next", stub.NextEvent(pb.NextEventRequest(lease_token=token, unit_id=unit))
    for owner in ("web/0", "pg/0", "pg", "web"):
        request = pb.ReadBagRequest(lease_token=token, event_id=event.id, relation=relation, owner=owner)
        yield "read", stub.ReadBag(request)
    yield "read", stub.ReadSecret(secret)
    yield "commit", stub.CommitEvent(commit)
    yield "fail", stub.FailEvent(fail)
    yield "fail", stub.FailEvent(lost)
    yield "status", stub.SetStatus(pb.SetStatusRequest(lease_token=token, unit_id=unit, status=_STATUS))
    leads = pb.SetStatusRequest(lease_token=token, unit_id=unit, application_status=_STATUS)
    yield "status", stub.SetStatus(leads)
    yield "version", stub.SetStatus(pb.SetStatusRequest(lease_token=token, unit_id=unit, workload_version="9"))
    yield "log", stub.AppendLogs(pb.AppendUnitLogsRequest(lease_token=token, unit_id=unit, lines=[line]))


async def _all(site: Site) -> list[object]:
    """All that the requests above might have changed."""
    queries = (
        "SELECT CAST(id AS text), status_name, status_message, workload_version, CAST(lease_id AS text) FROM unit",
        "SELECT name, status_name, leader FROM application",
        "SELECT CAST(unit_id AS text), ordinal, state, attempt, lease_token FROM unit_event",
        "SELECT owner, CAST(data AS text) FROM relation_bag",
        "SELECT CAST(unit_id AS text), line FROM unit_log",
        "SELECT CAST(unit_id AS text), CAST(data AS text) FROM unit_state",
    )
    return [sorted(map(tuple, await site.sql.fetch(query)), key=repr) for query in queries]


async def test_an_agent_does_nothing_to_a_unit_that_another_one_holds(site: Site) -> None:
    agent, web, pg, relation = await _related(site)
    other = await site.agent("thief", where="elsewhere")
    before = await _all(site)
    for unit in (web, pg):
        for what, asked in _asked(site.stub, other.token, agent.grants[unit], relation):
            told = await edge.refused(asked)
            assert (what, told.reason) == (what, "LEASE_HELD" if what == "next" else "LEASE_LOST")
    assert await _all(site) == before
    assert (await agent.read(web, relation, "pg/0")).owner == "pg/0"


@pytest.mark.parametrize("end", ["followed", "released", "unknown", "taken"])
async def test_a_token_that_is_none_any_more_does_nothing(site: Site, end: str) -> None:
    agent, web, _, relation = await _related(site)
    token = agent.token
    match end:
        case "followed":
            # Its owner comes back with the same engine, and finds what is held under its id.
            request = work_service_pb2.AcquireRequest(owner="a", engine="engine")
            assert (await site.work.Acquire(request)).lease_token > token
        case "released":
            await site.work.Release(work_service_pb2.ReleaseRequest(lease_token=token))
        case "unknown":
            token += 1_000
        case _:
            await site.kill(agent)
            other = await site.agent("b", where="elsewhere")
            assert (await other.next(web)).grant.event.attempt == 2
    before = await _all(site)
    for what, asked in _asked(site.stub, token, agent.grants[web], relation):
        told = await edge.refused(asked)
        assert (what, told.reason) == (what, "LEASE_LOST")
    assert await _all(site) == before


@pytest.mark.parametrize("token", [0, -1, -(2**63)])
async def test_what_is_no_token_is_refused_as_a_field(site: Site, token: int) -> None:
    agent, web, _, relation = await _related(site)
    for _, asked in _asked(site.stub, token, agent.grants[web], relation):
        told = await edge.refused(asked)
        assert (told.reason, list(told.fields)) == ("INVALID_FIELD", ["lease_token"])


async def test_an_event_of_another_unit_is_committed_by_who_holds_that_unit_alone(site: Site) -> None:
    agent, web, _, relation = await _related(site)
    await site.rows.application("mine")
    mine = await site.rows.unit("mine")
    other = await site.agent("b", where="elsewhere", application="mine")
    await other.run(mine)
    await _tick(site)
    await other.next(mine)
    foreign = agent.grants[web].event
    effects = pb.Effects(state=edits(stolen="yes"))
    request = pb.CommitEventRequest(
        lease_token=other.token, event_id=foreign.id, attempt=foreign.attempt, effects=effects
    )
    assert (await edge.refused(site.stub.CommitEvent(request))).reason == "LEASE_LOST"
    read = pb.ReadBagRequest(lease_token=other.token, event_id=foreign.id, relation=relation, owner="pg/0")
    assert (await edge.refused(site.stub.ReadBag(read))).reason == "LEASE_LOST"
    # By its own event it is in no relation of theirs.
    read.event_id = other.grants[mine].event.id
    assert (await edge.refused(site.stub.ReadBag(read))).reason == "NOT_FOUND"
    # An event that is committed gives nothing any more, neither does one that there never was.
    done = await site.sql.fetchval("SELECT CAST(id AS text) FROM unit_event WHERE state = 'COMMITTED' LIMIT 1")
    for event_id in (done, _NOBODY):
        read = pb.ReadBagRequest(lease_token=agent.token, event_id=event_id, relation=relation, owner="pg/0")
        assert (await edge.refused(site.stub.ReadBag(read))).reason == "LEASE_LOST"
    assert await site.count("unit_state") == 0


async def test_numbers_of_relations_and_names_are_those_of_the_own_namespace(site: Site) -> None:
    agent, web, pg, relation = await _related(site)
    await agent.commit(web)
    await agent.commit(pg, bags=[bag(relation, password="x")])
    await agent.run(web, pg)
    await site.sql.execute("INSERT INTO namespace (name) VALUES ('other')")
    site.rows.namespace = "other"
    await site.rows.application("web")
    twin = await site.rows.unit("web")
    await agent.run(twin)
    await _tick(site)
    await agent.next(twin)
    for owner in ("pg/0", "pg", "web/0", "web"):
        assert (await edge.refused(agent.read(twin, relation, owner))).reason == "NOT_FOUND"
    told = await edge.refused(site.stub.CommitEvent(agent.committing(twin, bags=[bag(relation, a="b")])))
    assert (told.reason, list(told.fields)) == ("COMMIT_REFUSED", ["effects.bags[0].relation"])


async def test_nothing_is_heard_of_a_unit_that_was_removed_by_force(site: Site) -> None:
    agent, web, _, relation = await _related(site)
    await site.sql.execute("UPDATE unit_event SET state = 'ABANDONED' WHERE state = 'RUNNING'")
    await site.sql.execute("UPDATE unit SET life = 'DEAD' WHERE name = 'web/0'")
    before = await _all(site)
    for what, asked in _asked(site.stub, agent.token, agent.grants[web], relation):
        if what == "next":
            assert (await asked).none.reason == pb.NO_EVENT_REASON_GONE  # type: ignore[attr-defined]
            continue
        told = await edge.refused(asked)
        expected = {"read": "LEASE_LOST", "commit": "ILLEGAL_TRANSITION", "fail": "ILLEGAL_TRANSITION"}
        assert (what, told.reason) == (what, expected.get(what, "NOT_FOUND"))
    assert await _all(site) == before


async def test_lines_are_taken_for_attempts_that_there_were_alone(site: Site) -> None:
    agent, web, _, _ = await _related(site)
    ordinal = agent.grants[web].event.ordinal

    def request(*lines: tuple[int, int, int]) -> pb.AppendUnitLogsRequest:
        given = [
            application_pb.UnitLogLine(ordinal=event, attempt=attempt, number=number, level="INFO", text="x")
            for event, attempt, number in lines
        ]
        return pb.AppendUnitLogsRequest(lease_token=agent.token, unit_id=web, lines=given)

    for wrong, field in (((ordinal + 1, 1, 1), "ordinal"), ((2**62, 1, 1), "ordinal"), ((ordinal, 2, 1), "attempt")):
        told = await edge.refused(site.stub.AppendLogs(request((ordinal, 1, 1), wrong)))
        assert (told.reason, list(told.fields)) == ("INVALID_FIELD", [f"lines[1].{field}"])
    assert await site.count("unit_log") == 0
    assert (await site.stub.AppendLogs(request((ordinal, 1, 1), (1, 1, 5)))).accepted == 2
    assert await site.count("unit_log") == 2


async def test_a_charm_is_fetched_by_who_holds_a_unit_of_it(site: Site) -> None:
    agent, *_ = await _related(site)
    charm = await site.sql.fetchval("SELECT id FROM charm")
    await site.sql.execute("INSERT INTO charm_chunk VALUES ($1, 0, $2)", charm, b"program")

    async def fetch(token: int) -> bytes:
        call = site.stub.FetchCharm(pb.FetchCharmRequest(lease_token=token, digest=DIGEST))
        return b"".join([part.data async for part in call])

    other = await site.agent("b")
    assert await fetch(agent.token) == b"program"
    assert (await edge.refused(fetch(other.token))).reason == "NOT_FOUND"


async def test_one_lease_does_not_keep_others_from_listening(site: Site) -> None:
    agent, other = await site.agent(), await site.agent("b")
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(MAX_STREAMS_EACH_LEASE):
            call: Any = site.stub.WatchUnits(agent.offering())
            stack.callback(call.cancel)
            assert (await call.read()).created
        told = await edge.refused(agent.serve())
        assert (told.reason, "20 times already" in told.message) == ("LIMIT_REACHED", True)
        assert await other.serve() == []


ODD = ["", "x", "00000000-0000-0000-0000-00000000000g", f"{{{uuid.UUID(int=1)}}}", "\0", "é" * 10_000, "../../etc"]


@pytest.mark.parametrize("odd", ODD)
async def test_odd_ids_are_refused_as_fields(site: Site, odd: str) -> None:
    token = (await site.agent()).token
    calls: list[tuple[str, Callable[[Any], Any], Any]] = [
        ("unit_id", site.stub.NextEvent, pb.NextEventRequest(unit_id=odd)),
        ("event_id", site.stub.CommitEvent, pb.CommitEventRequest(event_id=odd, attempt=1)),
        ("event_id", site.stub.FailEvent, pb.FailEventRequest(event_id=odd, attempt=1)),
        ("event_id", site.stub.ReadBag, pb.ReadBagRequest(event_id=odd, relation=1, owner="a/0")),
        ("unit_id", site.stub.SetStatus, pb.SetStatusRequest(unit_id=odd, status=_STATUS)),
        ("unit_id", site.stub.AppendLogs, pb.AppendUnitLogsRequest(unit_id=odd)),
    ]
    for field, call, request in calls:
        request.lease_token = token
        told = await edge.refused(call(request))
        assert (told.reason, list(told.fields)) == ("INVALID_FIELD", [field])


@pytest.mark.parametrize("owner", ["", "/", "web/", "/0", "web/-1", "web/1e3", "web/0/0", "WEB", "web/01", "a" * 5_000])
async def test_odd_owners_are_refused_as_fields(site: Site, owner: str) -> None:
    agent, web, _, relation = await _related(site)
    told = await edge.refused(agent.read(web, relation, owner))
    assert (told.reason, list(told.fields)) == ("INVALID_FIELD", ["owner"])
