"""What is secret in a release is in no document that is stored, and comes back to who holds the operation alone."""

import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from support import edge
from support.dump import dump
from support.release_site import (
    FAILED,
    PENDING,
    RUNNING,
    SUCCEEDED,
    Flow,
    Site,
    finish,
    installs,
    node,
    open_site,
    plan,
    removed,
    removes,
    resource,
    step,
)
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.secret.keys import Key, Keys
from tinkwell.server.secret.service.rekey import Rekey

FIRST, SECOND = (Key.of(bytes([number]) * 32) for number in (1, 2))
PASSWORD, OTHER, GENERATED = "hunter22-é+", "correct horse", "generated-47"
VARIABLES = json.dumps({"user": "bob", "password": PASSWORD})
URL = f"postgresql://bob:{PASSWORD}@db/shop"
FILE = "resources: {db: {type: acme/db, config: {password: '{{ password }}'}}}"


def manifest(*, sensitive: tuple[str, ...] = (), **config: Any) -> str:
    """A manifest of one resource, as it is when it is rendered."""
    db = {"type": "acme/db", "config": config} | ({"sensitive": list(sensitive)} if sensitive else {})
    return json.dumps({"plugs": {}, "resources": {"db": db}, "outputs": {}})


@dataclass
class Work:
    """What an operation works on, by who holds it."""

    documents: dict[str, Any] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    resources: dict[str, pb.Resource] = field(default_factory=dict)
    steps: list[pb.Step] = field(default_factory=list)


async def work_of(flow: Flow, *, revision: int = 0) -> Work:
    found, texts = Work(), dict[str, str]()
    request = pb.GetWorkRequest(operation_id=flow.id, lease_token=flow.token, revision=revision)
    async for part in flow.site.stub.GetWork(request):
        if part.HasField("document"):
            texts[part.document.name] = texts.get(part.document.name, "") + part.document.text
        elif part.HasField("secrets"):
            found.secrets = list(part.secrets.texts)
        elif part.HasField("resource"):
            found.resources[part.resource.path] = part.resource
        elif part.HasField("node"):
            found.steps += part.node.steps
    found.documents = {name: json.loads(text) for name, text in texts.items()}
    return found


async def revision_of(site: Site, number: int = 0) -> dict[str, Any]:
    """The documents of a revision as everybody sees them."""
    found = await site.stub.GetRevision(pb.GetRevisionRequest(name="shop", revision=number))
    return {name: json.loads(getattr(found, name)) for name in ("source", "manifest", "plan")}


async def resource_of(site: Site, path: str = "db") -> pb.Resource:
    found = [each async for each in site.stub.ListResources(pb.ListResourcesRequest(name="shop"))]
    return next(each for each in found if each.path == path)


async def leaked(site: Site, *texts: str) -> list[str]:
    """The lines of a dump of the database that hold one of these texts."""
    lines = (await dump(site.database_url)).splitlines()
    shown = [json.dumps(text)[1:-1] for text in texts]
    return [line for line in lines if any(text in line for text in (*texts, *shown))]


async def owners(site: Site) -> list[str]:
    rows = await site.sql.fetch("SELECT DISTINCT owner_kind FROM sealed_value ORDER BY owner_kind")
    return [row["owner_kind"] for row in rows]


def files(text: str = FILE) -> list[pb.ManifestFile]:
    return [pb.ManifestFile(name="m.yaml", text=text)]


async def begin(site: Site, text: str = FILE, **more: Any) -> Flow:
    """Apply a manifest with a secret variable, and take the operation."""
    given = {"variables": VARIABLES, "secret_variables": ["password"]} | more
    flow = await site.apply(files=files(text), **given)
    await flow.acquire()
    return flow


async def install(site: Site, *, rendered: str = "", **more: Any) -> Flow:
    flow = await begin(site, **more)
    await flow.submit("db", manifest=rendered or manifest(password=PASSWORD, url=URL))
    await flow.report(*installs("db"), finish())
    return flow


@contextlib.asynccontextmanager
async def served_by(site: Site, *keys: Key) -> AsyncIterator[Site]:
    """The same database, by a server with other keys, or with none."""
    async with open_site(site.database_url, keys=Keys(keys) if keys else None) as other:
        yield other


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[Site]:
    async with open_site(database_url, keys=Keys([FIRST])) as opened:
        yield opened


async def test_a_secret_variable_is_null_for_all_but_the_holder(site: Site) -> None:
    flow = await begin(site, description=f"with {PASSWORD}", reason=f"it is {PASSWORD}.")
    work = await work_of(flow)
    assert work.documents["source"]["variables"] == {"user": "bob", "password": PASSWORD}
    assert work.secrets == [PASSWORD]
    rendered = manifest(password=PASSWORD, url=URL, user="bob")
    await flow.submit("db", manifest=rendered, late=json.dumps({"resources": {"db": {"each": {"value": URL}}}}))
    assert (await work_of(flow)).documents["manifest"] == json.loads(rendered)
    shown = await revision_of(site)
    assert shown["source"] == {"files": {"m.yaml": FILE}, "variables": {"user": "bob", "password": None}}
    assert shown["manifest"]["resources"]["db"]["config"] == {"password": None, "url": None, "user": "bob"}
    await flow.report(
        node("db", "INSTALLING"),
        step("db", 1, "STATE", RUNNING, args=pb.Args(values=["state"])),
        step("db", 1, "STATE", SUCCEEDED),
        resource("db", "STALE", config=json.dumps({"url": URL}), init=json.dumps({"doc": f"not {PASSWORD}"})),
        step("db", 2, "ACTION", PENDING, attempt=0, args=pb.Args(values=["-p", PASSWORD, f"--url={URL}"])),
    )
    assert json.loads((await resource_of(site)).config) == {"url": None}
    nodes = [each async for each in site.stub.ListNodes(pb.ListNodesRequest(operation_id=flow.id))]
    assert [list(each.args.values) for each in nodes[0].steps] == [["state"], ["-p", "•••", "•••"]]
    work = await work_of(flow)
    assert [list(each.args.values) for each in work.steps] == [["state"], ["-p", PASSWORD, f"--url={URL}"]]
    assert json.loads(work.resources["db"].config) == {"url": URL}
    assert json.loads(work.resources["db"].init) == {"doc": f"not {PASSWORD}"}
    assert work.documents["late"]["resources"]["db"]["each"] == {"value": URL}
    operation = await flow.get()
    assert (operation.reason, (await site.release()).description) == ("it is •••.", "with •••")
    assert await leaked(site, PASSWORD) == []


async def test_who_does_not_hold_the_operation_gets_nothing_opened(site: Site) -> None:
    flow = await begin(site)
    other = Flow(site, flow.id, "shop", token=await site.acquire("b"))
    assert (await edge.refused(work_of(other))).reason == "LEASE_LOST"
    assert (await edge.refused(work_of(other, revision=1))).reason == "LEASE_LOST"


@pytest.mark.parametrize(
    "more",
    [
        {"variables": VARIABLES, "secret_variables": ["password"]},
        {"files": files("resources: {db: {type: acme/db, config: {pin: secret-4711}, sensitive: [/pin]}}")},
    ],
)
async def test_without_keys_secrets_are_refused_before_anything_is_stored(site: Site, more: dict[str, Any]) -> None:
    async with served_by(site) as keyless:
        told = await edge.refused(keyless.apply(**more))
        assert (told.reason, "TINKWELL_SECRET_KEYS" in told.message) == ("SECRETS_DISABLED", True)
        assert await site.events() == []
        await keyless.install("db", variables=VARIABLES)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"secret_variables": ["pasword"]}, "secret_variables[0]"),
        ({"variables": '{"password": "short"}'}, "variables.password"),
        ({"variables": '{"password": {"a": 12345}}'}, "variables.password"),
        ({"variables": '{"password": "the-shop"}', "release": "the-shop"}, "name"),
        ({"variables": '{"password": "production"}', "namespace": "production"}, "namespace"),
        (
            {"files": files("resources: {db: {type: acme/db, config: {pin: 4711}, sensitive: [/pin]}}")},
            "resources.db.config.pin",
        ),
    ],
)
async def test_what_cannot_be_kept_secret_is_refused_with_its_field(
    site: Site, more: dict[str, Any], field: str
) -> None:
    told = await edge.refused(site.apply(**{"variables": VARIABLES, "secret_variables": ["password"], **more}))
    assert (told.reason, list(told.fields)) == ("INVALID_FIELD", [field])
    assert await site.events() == []


async def test_a_repeated_request_is_known_by_its_secrets_too(site: Site) -> None:
    same: dict[str, Any] = {"operation_id": str(uuid.uuid4()), "secret_variables": ["password"], "files": files()}
    first = await site.apply(variables='{"password": "hunter22-é+", "n": 1}', **same)
    await first.acquire()
    await first.submit("db", manifest=manifest(password=PASSWORD))
    again = await site.apply(variables='{"n": 1.0, "password": "hunter22-é+"}', **same)
    assert again.id == first.id
    for variables in ('{"password": "hunter23-é+", "n": 1}', '{"password": "hunter22-é+", "n": true}'):
        assert (await edge.refused(site.apply(variables=variables, **same))).reason == "ALREADY_EXISTS"
    async with served_by(site, SECOND) as other:
        assert (await edge.refused(other.apply(variables=VARIABLES, **same))).reason == "SECRETS_DISABLED"


async def test_a_secret_that_stands_in_a_manifest_is_sealed_with_its_file(site: Site) -> None:
    text = "resources: {db: {type: acme/db, config: {a: correct horse, b: '{{ user }}'}, sensitive: [/a, /b]}}"
    flow = await begin(site, text, variables='{"user": "not secret"}', secret_variables=[])
    assert await leaked(site, OTHER) == []
    assert (await work_of(flow)).documents["source"]["files"] == {"m.yaml": text}
    await flow.submit("db", manifest=manifest(sensitive=("/a", "/b"), a=OTHER, b="not secret"))
    shown = await revision_of(site)
    assert shown["source"] == {"files": {"m.yaml": None}, "variables": {"user": None}}
    assert shown["manifest"]["resources"]["db"]["config"] == {"a": None, "b": None}
    assert (await work_of(flow)).secrets == [OTHER, "not secret"]


async def test_what_is_evaluated_later_is_hidden_but_no_secret(site: Site) -> None:
    late = "{{ other.state.password }}"
    text = json.dumps({"resources": {"db": {"type": "acme/db", "config": {"all": {"p": late}}, "sensitive": ["/all"]}}})
    flow = await begin(site, text, secret_variables=[])
    beside = json.dumps({"resources": {"db": {"pointers": ["/all/p"]}}})
    rendered = manifest(sensitive=("/all",), all={"p": late, "q": OTHER})
    await flow.submit("db", manifest=rendered, late=beside)
    shown = await revision_of(site)
    assert shown["manifest"]["resources"]["db"]["config"] == {"all": None}
    assert shown["source"]["files"] == {"m.yaml": text}
    work = await work_of(flow)
    assert (work.secrets, work.documents["manifest"]) == ([OTHER], json.loads(rendered))


async def test_what_an_image_declares_is_sealed_in_all_that_is_stored_by_then(site: Site) -> None:
    text = "resources: {db: {type: acme/db, config: {p: correct horse}}}"
    flow = await begin(site, text, secret_variables=[])
    rendered = manifest(p=OTHER, note=f"it is {OTHER}")
    await flow.submit("db", manifest=rendered)
    await flow.report(
        step("db", 1, "INIT", RUNNING, args=pb.Args(values=["--like", OTHER])), step("db", 1, "INIT", SUCCEEDED)
    )
    await flow.report(resource("db", "UNKNOWN", config=json.dumps({"p": OTHER}), state=json.dumps({"is": OTHER})))
    assert len(await leaked(site, OTHER)) > 3
    before = await work_of(flow)
    init = {"state_action": {}, "tinkwell": {"protocol": 1, "sensitive": ["/p"]}}
    await flow.report(resource("db", "UNKNOWN", init=json.dumps(init), sensitive=["/p"]))
    assert await leaked(site, OTHER) == []
    after = await work_of(flow)
    assert (after.documents, after.secrets) == (before.documents, [OTHER])
    assert after.resources["db"].config == json.dumps({"p": OTHER}, separators=(",", ":"))
    assert list(after.steps[0].args.values) == ["--like", OTHER]
    shown = await revision_of(site)
    assert shown["source"]["files"] == {"m.yaml": None}
    assert shown["manifest"]["resources"]["db"]["config"] == {"p": None, "note": None}
    # The next operation knows it from the beginning.
    await flow.report(*installs("db")[:1], step("db", 2, "STATE", RUNNING), step("db", 2, "STATE", SUCCEEDED))
    await flow.report(node("db", "READY"), finish())
    again = await begin(site, text, secret_variables=[])
    assert await leaked(site, OTHER) == []
    assert (await again.submit("db", manifest=rendered)).revision == 1
    assert await leaked(site, OTHER) == []
    assert (await work_of(again)).documents["source"]["files"] == {"m.yaml": text}


async def test_secrets_of_configs_and_states_are_sealed_with_what_contains_them(site: Site) -> None:
    flow = await begin(site, secret_variables=[])
    await flow.submit("db", manifest=manifest(hint=f"is {GENERATED}"))
    state = {"password": GENERATED, "enabled": True, "text": f"pw={GENERATED}", "port": 5432}
    await flow.report(resource("db", state=json.dumps(state), sensitive=["/password", "/enabled"]))
    shown = json.loads((await resource_of(site)).state)
    assert shown == {"password": None, "enabled": None, "text": None, "port": 5432}
    assert (await revision_of(site))["manifest"]["resources"]["db"]["config"] == {"hint": None}
    work = await work_of(flow)
    assert (json.loads(work.resources["db"].state), work.secrets) == (state, [GENERATED])
    assert await leaked(site, GENERATED) == []
    # What follows has nothing left of it.
    await flow.report(resource("db", state='{"port": 5432}', sensitive=["/password", "/enabled"]))
    assert json.loads((await work_of(flow)).resources["db"].state) == {"port": 5432}
    await flow.report(resource("db", state=""))
    assert (await work_of(flow)).resources["db"].state == ""


async def test_texts_that_the_holder_names_are_sealed_in_arguments(site: Site) -> None:
    flow = await begin(site, secret_variables=[])
    await flow.submit("db")
    await flow.report(node("db", "INSTALLING"), step("db", 1, "STATE", RUNNING), step("db", 1, "STATE", SUCCEEDED))
    await flow.report(
        resource("db", "STALE", config="{}", secrets=[GENERATED]),
        step("db", 2, "ACTION", PENDING, attempt=0, args=pb.Args(values=[f"--from={GENERATED}"])),
    )
    assert await leaked(site, GENERATED) == []
    work = await work_of(flow)
    assert (list(work.steps[1].args.values), work.secrets) == ([f"--from={GENERATED}"], [GENERATED])


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"sensitive": ["password"]}, "reports[0].resource.sensitive[0]"),
        ({"sensitive": [f"/{n}" for n in range(513)]}, "reports[0].resource.sensitive"),
        ({"secrets": ["short"]}, "reports[0].resource.secrets"),
        ({"secrets": ["x" * 40_000]}, ""),
        ({"state": '{"pin": "4711"}', "sensitive": ["/pin"]}, "state.pin"),
    ],
)
async def test_a_report_of_what_cannot_be_kept_secret_is_refused(site: Site, more: dict[str, Any], field: str) -> None:
    flow = await begin(site)
    await flow.submit("db")
    told = await flow.refused(resource("db", **more))
    assert (told.reason, list(told.fields)) == ("INVALID_FIELD", [field])


async def test_a_name_in_the_plan_that_holds_a_secret_is_refused(site: Site) -> None:
    flow = await begin(site, variables='{"password": "database"}')
    told = await edge.refused(flow.submit("the-database"))
    assert (told.reason, list(told.fields)) == ("INVALID_FIELD", ["plan"])
    assert await leaked(site, "the-database") == []


async def test_the_same_secrets_make_no_new_revision_and_others_do(site: Site) -> None:
    rendered = manifest(password=PASSWORD, url=URL)
    await install(site, rendered=rendered)
    same = await begin(site)
    assert (await same.submit("db", manifest=rendered)).revision == 1
    await same.report(*installs("db"), finish())
    changed = await begin(site, variables=json.dumps({"user": "bob", "password": OTHER}))
    # The former one is secret still, since it may be in use.
    assert (await work_of(changed)).secrets == [OTHER, PASSWORD]
    assert (await changed.submit("db", manifest=manifest(password=OTHER, url=URL))).revision == 2
    await changed.report(*installs("db"), finish())
    bare = await begin(site, variables='{"user": "bob", "password": null}', secret_variables=[])
    assert (await bare.submit("db", manifest=manifest(password=None, url=None))).revision == 3
    assert await leaked(site, PASSWORD, OTHER) == []


async def test_what_was_secret_is_sealed_also_where_it_is_given_in_clear(site: Site) -> None:
    await install(site)
    flow = await begin(site, secret_variables=[])
    assert await leaked(site, PASSWORD) == []
    assert (await flow.submit("db", manifest=manifest(password=PASSWORD, url=URL))).revision == 1
    assert await leaked(site, PASSWORD) == []


async def test_a_rollback_and_a_resumption_work_on_opened_documents(site: Site) -> None:
    rendered = manifest(password=PASSWORD, url=URL)
    first = await install(site, rendered=rendered)
    source = {"files": {"m.yaml": FILE}, "variables": json.loads(VARIABLES)}
    await install(site, rendered=manifest(password=OTHER), variables=json.dumps({"password": OTHER}))
    back = await site.begin("Rollback", revision=1)
    await back.acquire()
    work = await work_of(back)
    assert (work.documents["source"], work.documents["manifest"]) == (source, json.loads(rendered))
    assert work.secrets == [OTHER, PASSWORD]
    assert (await back.submit_text(plan("db"))).revision == 3
    await back.report(node("db", "INSTALLING"), node("db", "FAILED"), finish(FAILED))
    # Where they came from may go.
    await site.sql.execute("DELETE FROM release_revision WHERE revision = 1")
    await site.sql.execute("DELETE FROM operation WHERE id = $1", uuid.UUID(first.id))
    resumed = await site.begin("Resume")
    await resumed.acquire()
    work = await work_of(resumed)
    assert (work.documents["source"], work.documents["manifest"]) == (source, json.loads(rendered))
    assert PASSWORD in work.secrets
    assert (await resumed.submit_text(plan("db"))).revision == 3
    await resumed.report(*installs("db"), finish())
    again = await begin(site)
    assert (await again.submit("db", manifest=rendered)).revision == 3
    assert await leaked(site, PASSWORD, OTHER) == []


async def test_the_holder_gets_the_source_and_the_manifest_of_a_former_revision(site: Site) -> None:
    rendered = manifest(password=PASSWORD, url=URL)
    await install(site, rendered=rendered)
    flow = await begin(site)
    found = await work_of(flow, revision=1)
    assert found.documents["manifest"] == json.loads(rendered)
    assert PASSWORD in json.dumps(found.documents["source"], ensure_ascii=False)
    assert found.documents.keys() == {"source", "manifest"}
    assert (await work_of(flow, revision=7)).documents == {}


async def test_what_is_deleted_takes_its_secrets_along(site: Site) -> None:
    flow = await begin(site)
    await flow.submit("db", manifest=manifest(password=PASSWORD))
    config = json.dumps({"password": PASSWORD})
    await flow.report(*installs("db"), resource("db", config=config, state=config, sensitive=["/password"]), finish())
    assert await owners(site) == ["operation", "release", "release_revision"]
    gone = await site.begin("Uninstall")
    await gone.acquire()
    assert json.loads((await work_of(gone)).resources["db"].config) == {"password": PASSWORD}
    await gone.submit_text(plan(removed=["db"]))
    await gone.report(*removes("db"), finish())
    assert await owners(site) == ["operation", "release_revision"]
    await site.sql.execute("DELETE FROM operation WHERE id = $1", uuid.UUID(flow.id))
    assert await owners(site) == ["release_revision"]
    await site.sql.execute("DELETE FROM release")
    assert await owners(site) == []


async def test_revisions_that_are_forgotten_take_their_secrets_along(site: Site) -> None:
    for number in range(4):
        rendered = manifest(password=PASSWORD, number=number)
        await install(site, rendered=rendered, options=pb.OperationOptions(history_max=2))
    rows = await site.sql.fetch("SELECT owner_kind, count(DISTINCT owner_id) AS n FROM sealed_value GROUP BY 1")
    assert {row["owner_kind"]: row["n"] for row in rows} == {"operation": 2, "release_revision": 2}


async def test_a_server_without_the_keys_opens_nothing_and_still_hears_how_it_ends(site: Site) -> None:
    flow = await begin(site)
    await flow.submit("db", manifest=manifest(password=PASSWORD))
    await flow.report(node("db", "INSTALLING"), step("db", 1, "STATE", RUNNING))
    for keys in ((), (SECOND,)):
        async with served_by(site, *keys) as other:
            there = Flow(other, flow.id, "shop", token=flow.token)
            assert (await edge.refused(work_of(there))).reason == "SECRETS_DISABLED"
            told = await there.refused(resource("db", config="{}"))
            assert told.reason == "SECRETS_DISABLED"
            assert (await revision_of(other))["source"]["variables"]["password"] is None
    async with served_by(site) as keyless:
        there = Flow(keyless, flow.id, "shop", token=flow.token)
        await there.report(step("db", 1, "STATE", FAILED), node("db", "FAILED"), finish(FAILED))
        assert await there.state() == "FAILED"
        assert (await edge.refused(keyless.apply())).reason == "SECRETS_DISABLED"


async def test_keys_are_changed_under_releases(site: Site, server_url: str) -> None:
    rendered = manifest(password=PASSWORD, url=URL)
    await install(site, rendered=rendered)
    flow = await begin(site)
    pool = engine.create(server_url, pool_size=1)
    try:
        outcome = await Rekey(Database(pool), Keys([SECOND, FIRST])).run()
    finally:
        await pool.dispose()
    assert (outcome.unknown, outcome.left, outcome.broken) == ({}, {}, 0)
    async with served_by(site, SECOND) as rotated:
        there = Flow(rotated, flow.id, "shop", token=flow.token)
        work = await work_of(there)
        assert work.documents["source"]["variables"]["password"] == PASSWORD
        assert (await there.submit("db", manifest=rendered)).revision == 1


async def test_what_was_changed_in_the_database_is_not_opened(site: Site) -> None:
    flow = await begin(site)
    await site.sql.execute('UPDATE operation SET source = \'{"files": {}, "variables": {}}\'')
    told = await edge.refused(work_of(flow))
    assert (told.reason, "was changed" in told.message) == ("SECRETS_DISABLED", True)


async def test_a_resource_that_is_gone_leaves_nothing_for_another_of_its_name(site: Site) -> None:
    flow = await begin(site)
    await flow.submit("db", manifest=manifest(password=PASSWORD))
    config = json.dumps({"password": PASSWORD})
    await flow.report(*installs("db"), resource("db", config=config), finish())
    gone = await site.begin("Uninstall")
    await gone.acquire()
    await gone.submit_text(plan(removed=["db"]))
    await gone.report(node("db", "REMOVING"), removed("db"), resource("db", "LEFT", config='{"password": null}'))
    assert json.loads((await work_of(gone)).resources["db"].config) == {"password": None}
