"""What is read: explanations, events, deferred notices, logs, whether units are settled, and namespaces."""

import json

from support.application_site import MACHINES, WEB, Site, refusal
from support.unit_site import Agent, bag
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import namespace_service_pb2 as namespace_pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb

PLAIN_PG = "name: pg\nprovides: {db: postgresql}\nconfig: {options: {port: {type: int}}}\n"


async def explain(site: Site, unit: str) -> pb.ExplainUnitResponse:
    return await site.apps.Explain(pb.ExplainUnitRequest(unit=unit))


async def related(site: Site) -> Agent:
    await site.deploy(WEB, "web")
    await site.deploy(PLAIN_PG, "pg")
    agent = await site.agent()
    await site.apps.Relate(pb.RelateRequest(first="web", second="pg"))
    await site.run(agent, "web/0", "pg/0")
    return agent


async def test_a_failed_event_is_explained_by_what_has_caused_it(site: Site) -> None:
    agent = await related(site)
    web, pg = (await site.unit("web/0")).id, (await site.unit("pg/0")).id
    await site.apps.SetConfig(pb.SetConfigRequest(application="pg", config='{"port": 5433}'))
    await agent.next(pg)
    await agent.commit(pg, bags=[bag(1, user="web", dsn="pg:5433")])
    await agent.next(web)
    await site.apps.SetConfig(pb.SetConfigRequest(application="web", config='{"workers": 4}'))
    await agent.fail(web, "KeyError: 'dsn'")
    found = await explain(site, "web/0")
    assert found.sentence.startswith("web/0 #8 db-relation-changed (pg/0) failed once: KeyError: 'dsn'; again in ")
    assert [cause.sentence for cause in found.causes] == [
        "pg/0 changed its db bag: dsn, user (in config-changed #8)",
        "anonymous changed the configuration of pg",
    ]
    assert all(cause.revision for cause in found.causes)
    assert [*found.behind] == ["config-changed"]
    assert found.advice == "tinkwell unit resolve web/0 retries the event; add --skip to skip it"


async def test_it_is_said_why_a_unit_waits(site: Site) -> None:
    await site.machine(0)
    await site.deploy(WEB, "web", machines=[])
    found = await explain(site, "web/0")
    assert found.sentence == "web/0 waits for a machine: no agent that is alive takes scripts charms"
    assert [*found.behind] == ["install", "config-changed", "start"]
    await site.deploy(WEB, "two", machines=[MACHINES[0]])
    assert (await explain(site, "two/0")).sentence == f"two/0 waits for an agent of machine {MACHINES[0]}"
    agent = await site.agent(machines=[MACHINES[0]], is_anywhere=False)
    unit_id = (await site.unit("two/0")).id
    await agent.next(unit_id)
    found = await explain(site, "two/0")
    assert (found.sentence, [cause.sentence for cause in found.causes]) == ("two/0 runs #1 install", [])
    await site.sql.execute("UPDATE lease SET expires_at = clock_timestamp() WHERE token = $1", agent.token)
    found = await explain(site, "two/0")
    assert found.sentence == f"two/0 waits with #1 install: its agent of machine {MACHINES[0]} is not alive"
    assert found.advice == "start the agent again"


async def test_it_is_said_how_to_start_the_agent_that_a_unit_waits_for(site: Site) -> None:
    await site.machine(0)
    native = WEB + "kind: native\n"
    await site.deploy(WEB, "scripts", machines=[MACHINES[0]])
    await site.deploy(native, "native", machines=[MACHINES[0]])
    await site.deploy(native, "anywhere")
    await site.deploy(native, "nowhere", machines=[])
    advice = {name: (await explain(site, f"{name}/0")).advice for name in ("scripts", "native", "anywhere", "nowhere")}
    assert advice == {
        "scripts": f"start tinkwell provisioner --agent-for {MACHINES[0]} --units",
        "native": f"start tinkwell unit run FILE --application native --machine {MACHINES[0]}",
        "anywhere": "start tinkwell unit run FILE --application anywhere",
        "nowhere": "start tinkwell unit run FILE --application nowhere --machine HARDWARE-ID, "
        "or add a unit to a machine that has one, or with --to anywhere",
    }


async def test_it_is_said_that_no_agent_has_the_charm(site: Site) -> None:
    made = await site.deploy(WEB, "web")
    agent = await site.agent(charm=made.charm)
    await site.run(agent, "web/0")
    newer = await site.charm(f"{WEB}summary: newer\n")
    await site.apps.Refresh(pb.RefreshRequest(application="web", charm=newer.digest))
    found = await explain(site, "web/0")
    assert found.sentence == (
        f"web/0 waits with upgrade-charm: no agent that is alive runs {newer.digest[:19]}… of web"
    )
    assert found.advice == "start an agent that does"


async def test_what_follows_an_upgrade_is_explained_by_it(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    await site.run(agent, "web/0")
    newer = await site.charm(f"{WEB}summary: newer\n")
    await site.apps.Refresh(pb.RefreshRequest(application="web", charm=newer.digest))
    unit_id = (await site.unit("web/0")).id
    await agent.next(unit_id)
    await agent.commit(unit_id)
    found = await explain(site, "web/0")
    assert "config-changed" in found.sentence
    assert [each.sentence for each in found.causes] == [f"its application has another charm, {newer.digest[:19]}…"]


async def test_a_unit_that_no_agent_has_begun_with_says_whether_one_takes_it(site: Site) -> None:
    await site.deploy(WEB, "web")
    assert not (await site.unit("web/0")).is_agent_alive
    agent = await site.agent()
    assert (await site.unit("web/0")).is_agent_alive
    assert (await explain(site, "web/0")).sentence == "web/0 is about to run install"
    await site.sql.execute("UPDATE lease SET expires_at = clock_timestamp() WHERE token = $1", agent.token)
    assert (await explain(site, "web/0")).sentence == "web/0 waits for an agent that takes scripts charms anywhere"


async def test_an_event_says_whose_it_is_and_what_has_made_it_due(site: Site) -> None:
    await related(site)
    unit = await site.unit("web/0")
    first, *_, last = [each async for each in site.apps.ListEvents(pb.ListUnitEventsRequest(unit="web/0"))][::-1]
    for each in (first, last):
        assert (each.namespace, each.application_id, each.unit_id) == ("default", unit.application_id, unit.id)
        assert each.created_at.ToDatetime() <= each.updated_at.ToDatetime()
    assert not first.HasField("cause")
    assert (last.cause.type, last.cause.id) == ("RELATION", "1")


async def test_a_unit_that_was_told_everything_is_settled(site: Site) -> None:
    agent = await related(site)
    request = pb.ListUnitsRequest(with_settled=True)
    assert [each.is_settled async for each in site.apps.ListUnits(request)] == [True, True]
    assert (await explain(site, "web/0")).sentence == "web/0 has handled all its events"
    await site.apps.SetConfig(pb.SetConfigRequest(application="web", config='{"workers": 4}'))
    assert (await explain(site, "web/0")).sentence == "web/0 is about to run config-changed"
    assert [each.is_settled async for each in site.apps.ListUnits(request)] == [True, False]
    await agent.next((await site.unit("web/0")).id)
    assert [each.is_settled async for each in site.apps.ListUnits(request)] == [True, False]


async def test_a_teardown_says_who_asked_for_it(site: Site) -> None:
    agent = await related(site)
    await site.apps.Unrelate(pb.UnrelateRequest(number=1))
    await agent.next((await site.unit("web/0")).id)
    assert (await explain(site, "web/0")).causes[0].sentence == "anonymous ended the relation with pg"
    await site.apps.Remove(pb.RemoveRequest(application="pg"))
    await agent.next((await site.unit("pg/0")).id)
    assert (await explain(site, "pg/0")).causes[0].sentence == "anonymous removed the application"


async def test_events_are_listed_newest_first_and_by_kind(site: Site) -> None:
    await related(site)
    request = pb.ListUnitEventsRequest(unit="web/0", kinds=["install", "relation-joined"])
    found = [each async for each in site.apps.ListEvents(request)]
    assert [(each.name, each.state) for each in found] == [
        ("db-relation-joined", pb.UNIT_EVENT_STATE_COMMITTED),
        ("install", pb.UNIT_EVENT_STATE_COMMITTED),
    ]
    assert (found[0].relation.unit, found[0].relation.application, found[0].cause.type) == ("pg/0", "pg", "RELATION")
    assert found[1].HasField("started_at")
    assert found[1].HasField("finished_at")
    request = pb.ListUnitEventsRequest(unit="web/0", kinds=["storage-detached", "instal"])

    async def read() -> None:
        async for _ in site.apps.ListEvents(request):
            pass

    assert (await refusal(read())).fields == {"kinds[1]": '"instal" is no kind of event; did you mean install?'}


async def test_notices_are_listed_in_their_order(site: Site) -> None:
    await site.deploy(WEB, "web")
    agent = await site.agent()
    unit_id = (await site.unit("web/0")).id
    granted = (await agent.next(unit_id)).grant
    deferred = [pb.Notice(ordinal=granted.event.ordinal, handler=name, event="{}") for name in ("b", "a")]
    await agent.commit(unit_id, deferred=deferred)
    found = [each async for each in site.apps.ListDeferred(pb.ListDeferredRequest(unit="web/0"))]
    assert [(each.handler, each.ordinal, each.event, each.attempts) for each in found] == [
        ("b", 1, "{}", 1),
        ("a", 1, "{}", 1),
    ]
    assert [each.handler for each in (await explain(site, "web/0")).deferred] == ["b", "a"]


async def log(site: Site, agent: Agent, unit: str, *texts: str) -> None:
    lines = [
        pb.UnitLogLine(ordinal=1, attempt=1, number=number, level="INFO", text=text)
        for number, text in enumerate(texts, start=1)
    ]
    unit_id = (await site.unit(unit)).id
    await site.units.AppendLogs(unit_pb.AppendUnitLogsRequest(lease_token=agent.token, unit_id=unit_id, lines=lines))


async def test_lines_of_all_units_are_read_and_followed_to_their_end(site: Site) -> None:
    await site.deploy(WEB, "web", 2)
    agent = await site.agent()
    await site.run(agent, "web/0", "web/1")
    await log(site, agent, "web/0", *[f"line {number}" for number in range(40)])
    await log(site, agent, "web/1", "other")

    async def read(name: str, *, limit: int = 0) -> list[str]:
        request = pb.UnitLogsRequest(name=name, limit=limit)
        return [line.text async for response in site.apps.Logs(request) for line in response.lines]

    assert await read("web/1") == ["other"]
    assert await read("web", limit=2) == ["line 39", "other"]
    assert len(await read("web")) == 41
    call = site.apps.Logs(pb.UnitLogsRequest(name="web/1", follow=True))
    responses = aiter(call)
    first = await anext(responses)
    assert [(line.unit, line.event_name, line.level) for line in first.lines] == [("web/1", "install", "INFO")]
    await log(site, agent, "web/1", "other", "more")
    assert [line.text for line in (await anext(responses)).lines] == ["more"]
    await site.apps.Remove(pb.RemoveRequest(application="web", force=True))
    assert [response async for response in responses] == []


async def test_namespaces_have_settings(site: Site) -> None:
    refused = await refusal(site.namespaces.GetNamespace(namespace_pb.GetNamespaceRequest(name="shop")))
    assert refused.reason == "NOT_FOUND"
    request = namespace_pb.SetNamespaceRequest(name="shop", update_status_seconds=10, is_retrying=False)
    made = await site.namespaces.SetNamespace(request)
    assert (made.update_status_seconds, made.is_retrying, made.event_timeout_seconds) == (10, False, 3600)
    assert await site.namespaces.SetNamespace(request) == made
    changed = await site.namespaces.SetNamespace(
        namespace_pb.SetNamespaceRequest(name="shop", event_timeout_seconds=60)
    )
    assert (changed.update_status_seconds, changed.event_timeout_seconds, changed.version) == (10, 60, 3)
    await site.deploy(WEB, "web")
    listed = site.namespaces.ListNamespaces(namespace_pb.ListNamespacesRequest())
    assert [each.name async for each in listed] == ["default", "shop"]
    request = namespace_pb.SetNamespaceRequest(name="-", update_status_seconds=9, event_timeout_seconds=0)
    assert sorted((await refusal(site.namespaces.SetNamespace(request))).fields) == [
        "event_timeout_seconds",
        "name",
        "update_status_seconds",
    ]


async def test_an_application_and_a_unit_are_found_by_id_and_by_name(site: Site) -> None:
    made = await site.deploy(WEB, "web", config={"workers": 3})
    found = await site.apps.GetApplication(pb.GetApplicationRequest(id=made.id))
    assert found == await site.apps.GetApplication(pb.GetApplicationRequest(name="web")) == made
    assert json.loads(found.config) == {"workers": 3}
    unit = await site.unit("web/0")
    assert await site.apps.GetUnit(pb.GetUnitRequest(id=unit.id)) == unit
    listed = [each async for each in site.apps.ListApplications(pb.ListApplicationsRequest())]
    assert [(each.name, each.config) for each in listed] == [("web", "")]
    unknown = "00000000-0000-4000-8000-000000000000"
    assert (await refusal(site.apps.GetApplication(pb.GetApplicationRequest(id=unknown)))).reason == "NOT_FOUND"
    assert (await refusal(site.apps.GetUnit(pb.GetUnitRequest(id=unknown)))).reason == "NOT_FOUND"
