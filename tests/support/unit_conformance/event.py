"""What units are told, and what their agents say of it."""

import asyncio
from collections.abc import Mapping

import pytest

from support.client_conformance import MAC, TEMPLATE, machine
from support.unit_agent import PG, WEB, Agent, charm, deploy
from support.unit_conformance.check import check
from support.waiting import eventually
from tinkwell.client import (
    Client,
    DeferredNotice,
    Grant,
    NoEvent,
    NoEventReason,
    State,
    UnitLogLine,
    UnitStatus,
    errors,
)
from tinkwell.core.unit import notice
from tinkwell.core.unit.effect import NO_EFFECTS, BagEdit, Effects, Notice
from tinkwell.core.unit.kinds import EventState, Life, Owner, Phase

_SETUP = ["install", "leader-elected", "config-changed", "start"]


@check
async def a_unit_goes_through_its_setup(client: Client) -> None:
    agent = await deploy(client, "web", units=2)
    assert agent.events("web/0")[:5] == ["install", "cluster-relation-created", *_SETUP[1:]]
    setup = ["install", "cluster-relation-created", "leader-settings-changed", "config-changed", "start"]
    assert agent.events("web/1")[:5] == setup
    unit = await client.applications.unit("web/0")
    assert (unit.phase, unit.life, unit.leads, unit.anywhere) == (Phase.OPERATION, Life.ALIVE, True, True)
    assert unit.event is None
    assert unit.last_ordinal == len(agent.events("web/0"))
    found = await client.applications.get("web")
    assert (found.leader, found.term, found.announced_term, found.units) == ("web/0", 1, 1, 2)
    await client.applications.settled("web", timeout_seconds=20)
    assert [each.name async for each in client.applications.units("web")] == ["web/0", "web/1"]


@check
async def applications_that_are_related_are_told_of_each_other(client: Client) -> None:
    agent = await deploy(client, "pg", "web")
    relation = await client.applications.relate("web", "pg:db")
    assert (relation.interface, relation.peer) == ("sql", False)
    assert [str(end) for end in relation.ends] == ["pg:db", "web:db"]
    assert (await client.applications.relate("pg", "web")).number == relation.number
    await agent.run()
    told = ["db-relation-created", "db-relation-joined", "db-relation-changed"]
    assert [agent.events(unit)[-3:] for unit in ("web/0", "pg/0")] == [told, told]
    await client.applications.unrelate("web", "pg")
    await agent.run()
    told = ["db-relation-departed", "db-relation-broken"]
    assert [agent.events(unit)[-2:] for unit in ("web/0", "pg/0")] == [told, told]
    assert [each.peer async for each in client.applications.relations("web")] == [True]
    with pytest.raises(errors.NotFound):
        await client.applications.relation(relation.number)


@check
async def a_bag_lands_with_its_event_and_is_read_by_the_other_side(client: Client) -> None:
    agent = await deploy(client, "pg", "web")
    relation = await client.applications.relate("web", "pg")

    def write(grant: Grant) -> Effects:
        if grant.application != "pg":
            return NO_EFFECTS
        edits = (("UNIT", {"dsn": "secret text"}), ("APPLICATION", {"version": "15"}))
        return Effects(
            term=grant.leadership.term,
            bags=tuple(BagEdit(relation=relation.number, owner=Owner(owner), edits=edit) for owner, edit in edits),
        )

    agent.handlers["db-relation-created"] = write
    await agent.run()
    found = await client.applications.relation(relation.number, with_bags=True)
    assert {bag.owner: bag.data for bag in found.bags if bag.data} == {
        "pg/0": {"dsn": "secret text"},
        "pg": {"version": "15"},
    }
    assert (await client.applications.relation(relation.number)).bags == ()
    async with asyncio.timeout(20):
        async for event in client.applications.watch(event_types=["RELATION_CHANGED"]):
            assert "secret text" not in str(event.data)
            if event.data["owner"] == "pg/0":
                break
    assert (event.data["keys"], event.data["version"], event.data["number"]) == (["dsn"], 1, relation.number)
    await client.applications.set_config("web", {"title": "again"})
    unit = await client.applications.unit("web/0")
    grant = await client.units.next_event(agent.token, unit.id)
    assert isinstance(grant, Grant)
    read = [client.units.read_bag(agent.token, grant.event.id, relation.number, owner) for owner in ("pg/0", "pg")]
    bags = [await each for each in read]
    assert [bag.data for bag in bags] == [{"dsn": "secret text"}, {"version": "15"}]
    (related,) = [each for each in grant.relations if each.number == relation.number]
    assert (related.endpoint, related.application, related.members) == ("db", "pg", ("pg/0",))


@check
async def a_failed_event_blocks_its_unit_until_it_is_resolved(client: Client) -> None:
    agent = await deploy(client, "web")
    await client.applications.set_config("web", {"title": "a"})
    agent.handlers["config-changed"] = lambda _: "exit 1"
    await agent.run()
    unit = await client.applications.unit("web/0")
    assert unit.event is not None
    assert (unit.event.state, unit.event.attempt, unit.event.message) == (EventState.ERROR, 1, "exit 1")
    assert unit.event.retry_at is not None
    with pytest.raises(errors.UnitInError, match=r"web/0 #6 config-changed failed once: exit 1"):
        await client.applications.settled("web", timeout_seconds=20)
    with pytest.raises(errors.UnitInError):
        await client.applications.collect_metrics("web/0")
    explained = await client.applications.explain("web/0")
    assert "config-changed" in explained.sentence
    assert "tinkwell unit resolve web/0" in explained.advice
    del agent.handlers["config-changed"]
    await client.applications.resolve("web/0")
    # What somebody has asked to be tried again is as good as running.
    with pytest.raises(TimeoutError):
        await client.applications.settled("web", timeout_seconds=0.5)
    await agent.run()
    newest = await anext(client.applications.events("web/0"))
    assert (newest.ordinal, newest.state, newest.attempt) == (6, EventState.COMMITTED, 2)
    with pytest.raises(errors.IllegalTransition):
        await client.applications.resolve("web/0")


@check
async def a_failed_event_can_be_left_out(client: Client) -> None:
    agent = await deploy(client, "web")
    await client.applications.set_config("web", {"title": "a"})
    agent.handlers["config-changed"] = lambda _: "exit 1"
    await agent.run()
    await client.applications.resolve("web/0", skip=True)
    await agent.run()
    kinds = [each.state async for each in client.applications.events("web/0", kinds=["config-changed"])]
    assert kinds == [EventState.SKIPPED, EventState.COMMITTED]
    await client.applications.settled("web", timeout_seconds=20)


@check
async def a_repeated_commit_gives_the_same_answer(client: Client) -> None:
    agent = await Agent.enter(client)
    await client.applications.deploy("web", charm(WEB), anywhere=True)
    unit = await client.applications.unit("web/0")
    grant = await client.units.next_event(agent.token, unit.id)
    assert isinstance(grant, Grant)
    assert (grant.event.name, grant.unit, grant.event.attempt) == ("install", "web/0", 1)
    again = await client.units.next_event(agent.token, unit.id)
    assert isinstance(again, Grant)
    assert (again.event.id, again.event.attempt) == (grant.event.id, 1)
    first = await client.units.commit(agent.token, grant.event.id, 1)
    second = await client.units.commit(agent.token, grant.event.id, 1)
    assert isinstance(first, Grant)
    assert isinstance(second, Grant)
    assert (first.event.id, first.event.attempt) == (second.event.id, second.event.attempt)
    assert first.event.name == "cluster-relation-created"


@check
async def an_agent_that_comes_back_makes_another_attempt(client: Client) -> None:
    agent = await Agent.enter(client)
    await client.applications.deploy("web", charm(WEB), anywhere=True)
    unit = await client.applications.unit("web/0")
    grant = await client.units.next_event(agent.token, unit.id)
    assert isinstance(grant, Grant)
    other = await Agent.enter(client, "other", engine="there")
    with pytest.raises(errors.LeaseHeld):
        await client.units.next_event(other.token, unit.id)
    back = await Agent.enter(client)
    again = await client.units.next_event(back.token, unit.id)
    assert isinstance(again, Grant)
    assert (again.event.id, again.event.attempt) == (grant.event.id, 2)
    with pytest.raises(errors.LeaseLost):
        await client.units.commit(agent.token, grant.event.id, 1)
    await client.units.commit(back.token, grant.event.id, 2)


@check
async def a_unit_says_how_it_is_at_once(client: Client) -> None:
    agent = await deploy(client, "web", units=2)
    first, second = [each async for each in client.applications.units("web")]
    await client.units.set_status(
        agent.token, first.id, status=UnitStatus("blocked", "no database"), workload_version="1.2"
    )
    unit = await client.applications.unit("web/0")
    assert (unit.status, unit.workload_version) == (UnitStatus("blocked", "no database"), "1.2")
    assert (await client.applications.get("web")).status == UnitStatus("blocked", "no database")
    await client.units.set_status(agent.token, first.id, application_status=UnitStatus("waiting", "for a database"))
    assert (await client.applications.get("web")).status == UnitStatus("waiting", "for a database")
    with pytest.raises(errors.NotLeader):
        await client.units.set_status(agent.token, second.id, application_status=UnitStatus("active"))
    event = await anext(client.applications.watch(event_types=["UNIT_STATUS_CHANGED"]))
    assert (event.name, event.data["status"]["message"]) == ("unit.status_changed", "no database")


@check
async def what_units_log_is_kept_once(client: Client) -> None:
    agent = await deploy(client, "web")
    unit = await client.applications.unit("web/0")
    lines = [UnitLogLine(1, 1, number, f"line {number}") for number in (1, 2, 3)]
    assert await client.units.append_logs(agent.token, unit.id, lines) == 3
    assert await client.units.append_logs(agent.token, unit.id, lines[1:]) == 2
    for name in ("web/0", "web"):
        found = [each async for each in client.applications.logs(name)]
        assert [(each.unit, each.event_name, each.text) for each in found] == [
            ("web/0", "install", f"line {number}") for number in (1, 2, 3)
        ]
    assert [each.text async for each in client.applications.logs("web", limit=1)] == ["line 3"]


@check
async def deferred_events_are_kept_until_they_are_consumed(client: Client) -> None:
    agent = await deploy(client, "web")
    kept: list[tuple[DeferredNotice, ...]] = []

    def defer(grant: Grant) -> Effects:
        kept.append(grant.deferred)
        event = grant.event
        return Effects(deferred=(Notice(ordinal=event.ordinal, handler="on_config", event=notice.write(event.told)),))

    def consume(grant: Grant) -> Effects:
        (found,) = grant.deferred
        assert found.told.name == "config-changed"
        return Effects(consumed=(Notice(ordinal=found.ordinal, handler=found.handler, event=found.event),))

    agent.handlers["config-changed"] = defer
    for title in ("a", "b"):
        await client.applications.set_config("web", {"title": title})
        await agent.run()
    (waiting,) = [each async for each in client.applications.deferred("web/0")]
    assert (waiting.ordinal, waiting.handler, waiting.attempts) == (6, "on_config", 2)
    assert [len(each) for each in kept] == [0, 1]
    agent.handlers["config-changed"] = consume
    await client.applications.set_config("web", {"title": "c"})
    await agent.run()
    assert [each async for each in client.applications.deferred("web/0")] == []
    newest = await anext(client.applications.events("web/0"))
    assert (newest.deferred, newest.consumed) == (0, 1)


@check
async def a_unit_keeps_its_state(client: Client) -> None:
    agent = await deploy(client, "web")
    states: list[Mapping[str, str]] = []

    def write(grant: Grant) -> Effects:
        states.append(grant.state)
        return Effects(state={"count": str(len(states)), "old": None})

    agent.handlers["config-changed"] = write
    for title in ("a", "b"):
        await client.applications.set_config("web", {"title": title})
        await agent.run()
    assert states == [{}, {"count": "1"}]


@check
async def a_charm_comes_to_agents_as_it_was_uploaded(client: Client) -> None:
    data = charm(WEB, install="#!/bin/sh\n")
    made = await client.applications.upload_charm(data)
    assert (made.name, made.kind, made.size) == ("web", "SCRIPTS", len(data))
    assert {each.name: each.role for each in made.endpoints} == {"db": "REQUIRES", "cluster": "PEER"}
    assert (await client.applications.upload_charm(data)).id == made.id
    agent = await Agent.enter(client)
    await client.applications.deploy("web", made.digest, anywhere=True)
    await agent.run()
    assert b"".join([part async for part in client.units.fetch_charm(agent.token, made.digest)]) == data


@check
async def requested_events_come_in_operation(client: Client) -> None:
    agent = await deploy(client, "web")
    agent.told.clear()
    with pytest.raises(errors.IllegalTransition):
        await client.applications.finish_upgrade("web/0")
    await client.applications.prepare_upgrade("web/0")
    await agent.run()
    await client.applications.finish_upgrade("web/0")
    for _ in range(2):
        await client.applications.collect_metrics("web/0")
    await agent.run()
    assert agent.events("web/0") == ["pre-series-upgrade", "post-series-upgrade", "collect-metrics"]


@check
async def a_workflow_on_a_machine_with_units_holds_their_events(client: Client) -> None:
    pushed = machine()
    await client.hardware.push(pushed)
    place, devices = str(pushed["id"]), {"device_1": MAC}
    agent = await Agent.enter(client, machines=[place])
    await client.applications.deploy("pg", charm(PG), machines=[place])
    await client.templates.create(TEMPLATE)
    with pytest.raises(errors.MachineHasUnits, match="pg/0") as refused:
        await client.workflows.create("two-steps", devices)
    assert refused.value.worker_id == place
    with pytest.raises(errors.MachineHasUnits):
        await client.hardware.delete(place)
    created = await client.workflows.create("two-steps", devices, with_units=True)
    (wipe, _) = await client.workflows.actions(created.id)
    await client.workflows.report(created.id, action_id=wipe.id, worker_id=place, state=State.RUNNING)
    unit = await client.applications.unit("pg/0")
    held = await client.units.next_event(agent.token, unit.id)
    assert isinstance(held, NoEvent)
    assert held.reason is NoEventReason.MACHINE_HELD
    await client.workflows.cancel(created.id)
    assert isinstance(await client.units.next_event(agent.token, unit.id), Grant)


@check
async def a_wake_comes_for_what_is_due(client: Client) -> None:
    agent = await deploy(client, "web")
    unit = await client.applications.unit("web/0")
    woken: list[str] = []

    async def listen() -> None:
        async for unit_ids in client.units.wakes(agent.token, kinds=["SCRIPTS"], anywhere=True):
            woken.extend(unit_ids)

    listening = asyncio.create_task(listen())
    try:
        await eventually(lambda: unit.id in woken)
        woken.clear()
        await client.applications.set_config("web", {"title": "new"})
        await eventually(lambda: unit.id in woken)
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
