"""Releases are made of charts: what is asked for is looked at in full before anything is written."""

import asyncio
import base64
import itertools
import json
import uuid
from typing import Any

import pytest

from support import chart_archive, edge
from support.release_site import FAILED, Flow, Site, finish, manifest, open_site
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core.release.chart.file import archive
from tinkwell.server.secret.keys import Key, Keys

SHOP = chart_archive.packed(values={"size": 1, "color": "red"})
NEWER = chart_archive.packed(version="2.0.0", values={"size": 2, "color": "blue", "extra": True})
SCHEMA = {
    "type": "object",
    "properties": {"size": {"type": "integer", "maximum": 10}, "password": {"type": "string", "writeOnly": True}},
}
WITH_SCHEMA = chart_archive.packed(
    values={"size": 1},
    schema=SCHEMA,
    subcharts={"db": chart_archive.chart("db", values={"size": 1}, schema=SCHEMA)},
    dependencies=[{"name": "db"}],
)
KEYS = Keys((Key.of(b"1" * 32),))


async def begin(site: Site, call: str, chart: bytes = SHOP, *, values: Any = None, **more: Any) -> Flow:
    """Upload a chart, and ask for it."""

    async def parts() -> Any:
        yield pb.UploadChartRequest(data=chart)

    await site.stub.UploadChart(parts())
    fields = {"operation_id": str(uuid.uuid4()), "name": "shop", "values": json.dumps(values or {}), **more}
    request = getattr(pb, f"{call}Request")(chart=archive.digest(chart), **fields)
    return Flow(site, (await getattr(site.stub, call)(request)).id, fields["name"])


async def install(site: Site, chart: bytes = SHOP, **more: Any) -> Flow:
    """Install a chart, by whoever is there."""
    flow = await begin(site, "Install", chart, **more)
    await flow.carry_out("db")
    return flow


async def revision(site: Site, number: int = 0) -> Any:
    """The source and all values of a revision."""
    request = pb.GetRevisionRequest(name="shop", revision=number, with_all_values=True)
    found = await site.stub.GetRevision(request)
    return json.loads(found.source), json.loads(found.all_values)


async def refused(site: Site, chart: bytes = SHOP, *, call: str = "Install", **more: Any) -> edge.Refusal:
    """Ask for what is refused, and leaves no trace but the chart."""
    before = await site.last_revision()
    counts = (
        "SELECT (SELECT count(*) FROM release), (SELECT count(*) FROM operation), (SELECT count(*) FROM sealed_value)"
    )
    stored = await site.sql.fetchrow(counts)
    told = await edge.refused(begin(site, call, chart, **more))
    assert await site.sql.fetchrow(counts) == stored
    assert set(await site.events(after=before)) <= {"chart.created shop"}
    return told


async def documents(flow: Flow, *, of: int = 0) -> dict[str, str]:
    """The documents that an operation works on."""
    request = pb.GetWorkRequest(operation_id=flow.id, lease_token=flow.token, revision=of)
    found: dict[str, str] = {}
    async for part in flow.site.stub.GetWork(request):
        if part.HasField("document"):
            found[part.document.name] = found.get(part.document.name, "") + part.document.text
    return found


async def test_values_are_checked_by_the_schema_of_each_chart(site: Site) -> None:
    values = {"size": "3", "db": {"size": 11, "password": 7}}
    told = await refused(site, WITH_SCHEMA, values=values)
    assert told.reason == "INVALID_FIELD"
    assert set(told.fields) == {"values.size", "values.db.size", "values.db.password"}
    await begin(site, "Install", WITH_SCHEMA, values={"size": 3, "db": {"size": 10}})


@pytest.mark.parametrize(
    ("schema", "told_of"),
    [
        ({"type": 7}, "is no JSON Schema"),
        ({"$ref": "https://example.com/schema.json"}, "is no JSON Schema"),
        (
            {
                "definitions": {
                    **{
                        f"d{n}": {"allOf": [{"$ref": f"#/definitions/d{n + 1}"}, {"$ref": f"#/definitions/d{n + 1}"}]}
                        for n in range(40)
                    },
                    "d40": {},
                },
                "$ref": "#/definitions/d0",
            },
            "cannot be used",
        ),
    ],
    ids=["none", "remote", "for ever"],
)
async def test_a_schema_of_a_stranger_harms_nobody(site: Site, schema: Any, told_of: str) -> None:
    told = await refused(site, chart_archive.packed(schema=schema))
    assert (told.reason, list(told.fields)) == ("CHART_INVALID", ["values.schema.json"])
    assert told_of in told.fields["values.schema.json"]


async def test_a_chart_that_cannot_be_carried_out_is_refused(site: Site) -> None:
    missing = chart_archive.packed(dependencies=[{"name": "db"}, {"name": "queue"}])
    assert (await refused(site, missing)).reason == "CHART_INVALID"
    library = chart_archive.packed(type="library")
    assert (await refused(site, library)).reason == "CHART_INVALID"
    waits = chart_archive.packed(
        subcharts={name: chart_archive.chart(name) for name in ("a", "b")},
        dependencies=[
            {"name": "a", "condition": "a.enabled", "version": "1.0.0"},
            {"name": "b", "depends-on": ["a"], "version": "1.0.0"},
        ],
        values={"a": {"enabled": False}},
    )
    strict = pb.OperationOptions(strict=True)
    assert (await refused(site, waits, options=strict)).reason == "CHART_INVALID"
    await begin(site, "Install", waits)


async def test_what_is_marked_as_write_only_is_sealed(database_url: str) -> None:
    async with open_site(database_url, keys=KEYS) as site:
        values = {"size": 3, "password": "hunter22", "db": {"password": "correct horse", "dsn": "x:correct horse@y"}}
        flow = await begin(site, "Install", WITH_SCHEMA, values=values, description="with hunter22")
        rows = await site.sql.fetch("SELECT source::text AS source, request::text AS request FROM operation")
        assert "hunter22" not in str(rows)
        assert "correct horse" not in str(rows)
        assert "•••" in rows[0]["request"]
        await flow.acquire()
        assert json.loads((await documents(flow))["source"])["user_values"] == values
        await flow.submit("db")
        await flow.carry_on("db")
        source, everything = await revision(site)
        hidden: dict[str, Any] = {"size": 3, "password": None, "db": {"password": None, "dsn": None}}
        assert source["user_values"] == hidden
        assert (
            everything == {**hidden, "db": {**hidden["db"], "size": 1, "global": {}}} or everything["db"]["dsn"] is None
        )
        same = await begin(site, "Upgrade", WITH_SCHEMA, options=pb.OperationOptions(strict=True))
        await same.acquire()
        assert (await same.submit("db")).revision == 1
        await same.carry_on("db")
        again = await begin(site, "Upgrade", NEWER, values={"size": 4}, reuse_values=True)
        stored = await site.sql.fetchval("SELECT string_agg(source::text, '') FROM operation")
        assert "hunter22" not in stored
        assert "correct horse" not in stored
        await again.acquire()
        given = json.loads((await documents(again))["source"])
        assert given["user_values"] == {**values, "size": 4}
        assert given["default_values"]["password"] == "hunter22"


async def test_what_is_marked_as_write_only_is_sealed_also_where_the_chart_itself_gives_it(database_url: str) -> None:
    inner = chart_archive.chart("db", values={"password": "correct horse", "none": ""}, schema=SCHEMA)
    chart = chart_archive.packed(subcharts={"db": inner}, dependencies=[{"name": "db"}])
    async with open_site(database_url, keys=KEYS) as site:
        flow = await begin(site, "Install", chart, description="with correct horse")
        await flow.acquire()
        text = json.dumps({"resources": {"db": {"type": "postgres", "config": {"dsn": "x:correct horse@y"}}}})
        await flow.submit("db", manifest=text)
        await flow.carry_on("db")
        _, everything = await revision(site)
        assert (everything["db"]["password"], everything["db"]["none"]) == (None, "")
        stored = await site.sql.fetch("SELECT manifest::text, source::text, description FROM release_revision")
        assert "correct horse" not in str(stored)
    async with open_site(database_url) as site:
        assert (await refused(site, chart, name="other")).reason == "SECRETS_DISABLED"


async def test_secrets_need_keys_and_what_could_not_be_found_again_is_refused(site: Site) -> None:
    told = await refused(site, WITH_SCHEMA, values={"password": "hunter22"})
    assert told.reason == "SECRETS_DISABLED"
    told = await refused(site, WITH_SCHEMA, values={"password": "4711"})
    assert list(told.fields) == ["values.password"]


async def test_an_upgrade_goes_on_from_what_was_given_for_the_deployed_revision(site: Site) -> None:
    await install(site, values={"size": 3})
    failed = await begin(site, "Upgrade", values={"size": 4})
    await failed.acquire()
    await failed.submit("db")
    await failed.report(finish(FAILED))
    assert await site.revisions() == {2: "FAILED", 1: "DEPLOYED"}
    upgrade = await begin(site, "Upgrade", NEWER, values={"more": 1})
    await upgrade.carry_out("db")
    source, everything = await revision(site)
    assert source["chart"] == {"digest": archive.digest(NEWER), "name": "shop", "version": "2.0.0"}
    assert source["user_values"] == {"size": 3, "more": 1}
    assert everything == {"size": 3, "more": 1, "color": "blue", "extra": True}


async def test_a_release_goes_from_manifests_to_a_chart_and_back(site: Site) -> None:
    await site.install("db")
    assert (await site.release()).chart_name == ""
    await (await begin(site, "Upgrade", reuse_values=True)).carry_out("db")
    assert (await site.release()).chart_name == "shop"
    source, _ = await revision(site)
    assert "default_values" not in source
    await (await site.apply("web")).carry_out("web")
    assert (await site.release()).chart_name == ""
    found = await site.stub.GetRevision(pb.GetRevisionRequest(name="shop", with_all_values=True))
    assert found.all_values == ""


async def test_what_is_stored_is_rolled_back_resumed_and_removed(site: Site) -> None:
    await install(site)
    await (await begin(site, "Upgrade", NEWER)).carry_out("db")
    back = await site.begin("Rollback", revision=1)
    await back.acquire()
    assert base64.b64decode((await documents(back))["chart"]) == SHOP
    assert base64.b64decode((await documents(back, of=2))["chart"]) == NEWER
    await back.submit_text(json.dumps({"format": 1, "nodes": []}))
    await back.report(finish(FAILED))
    resumed = await site.begin("Resume")
    await resumed.acquire()
    assert base64.b64decode((await documents(resumed))["chart"]) == SHOP
    await resumed.submit_text(json.dumps({"format": 1, "nodes": []}))
    await resumed.report(finish())
    assert (await site.release()).chart_version == "1.0.0"
    gone = await site.begin("Uninstall")
    await gone.acquire()
    assert "chart" not in await documents(gone)
    await gone.submit_text(json.dumps({"format": 1, "nodes": []}))
    await gone.report(finish())
    assert (await begin(site, "Install")).id


async def test_values_and_what_they_come_to_have_a_limit(site: Site) -> None:
    large = {"text": "x" * 1_100_000}
    assert list((await refused(site, values=large)).fields) == ["values"]
    await install(site, values={"first": "x" * 600_000})
    told = await refused(site, call="Upgrade", values={"second": "x" * 600_000})
    assert list(told.fields) == ["values"]
    wide = chart_archive.packed(
        values={"text": "x" * 900_000},
        subcharts={name: chart_archive.chart(name, values={"text": name * 900_000}) for name in ("a", "b")},
        dependencies=[{"name": "a"}, {"name": "b"}],
    )
    await (await begin(site, "Upgrade", wide)).carry_out("db")
    told = await refused(site, call="Upgrade", reuse_values=True)
    assert list(told.fields) == ["reuse_values"]


async def test_an_upgrade_beside_another_one_takes_no_values_that_are_gone(site: Site) -> None:
    await install(site, values={"n": 0})
    for number in range(1, 6):

        async def ask(value: int) -> Flow | str:
            try:
                return await begin(site, "Upgrade", values={"n": value})
            except Exception as error:  # whatever it is, it is looked at
                return str(edge.refusal(error).reason)  # type: ignore[arg-type]  # no other error comes

        answers = await asyncio.gather(ask(number), ask(-number))
        (begun,) = [answer for answer in answers if isinstance(answer, Flow)]
        assert [answer for answer in answers if isinstance(answer, str)] == ["OPERATION_ACTIVE"]
        await begun.carry_out("db")
    assert await site.release_state() == "DEPLOYED"


async def operate(site: Site, count: int) -> set[str]:
    """Install or upgrade, and uninstall, until so many operations have begun; gives why others did not."""
    begun, why = 0, set()
    for number in itertools.count():
        if begun >= count:
            break
        for call in ("Upgrade", "Uninstall"):
            try:
                if call == "Upgrade":
                    flow = await begin(site, call, values={"n": number}, install=True)
                else:
                    flow = await site.begin("Uninstall")
            except Exception as error:  # whatever it is, it is looked at
                why.add(str(edge.refusal(error).reason))  # type: ignore[arg-type]  # no other error comes
                continue
            begun += 1
            await flow.acquire()
            if call == "Upgrade":
                await flow.submit("db", manifest=manifest("db"))
                await flow.carry_on("db")
            else:
                await flow.submit_text(json.dumps({"format": 1, "nodes": []}))
                await flow.report(finish())
    return why


async def test_two_operators_are_told_of_each_other_and_nothing_is_left_pending(site: Site) -> None:
    async with asyncio.timeout(100):
        first, second = await asyncio.gather(operate(site, 25), operate(site, 25))
    assert first | second <= {"OPERATION_ACTIVE", "NOT_FOUND"}
    left = await site.sql.fetchval("SELECT count(*) FROM operation WHERE state IN ('PENDING', 'RUNNING')")
    states = {row["state"] for row in await site.sql.fetch("SELECT state FROM release")}
    deployed = await site.sql.fetch(
        "SELECT release_id FROM release_revision WHERE state = 'DEPLOYED' GROUP BY release_id HAVING count(*) > 1"
    )
    assert (left, deployed) == (0, [])
    assert states <= {"DEPLOYED", "UNINSTALLED"}
