"""Hooks and events of an operation at the server: neither is a resource, and what a hook was given stays secret."""

import json
from collections.abc import AsyncIterator

import pytest

from support.dump import dump
from support.release_site import (
    PENDING,
    RUNNING,
    SUCCEEDED,
    Flow,
    Site,
    finish,
    installs,
    node,
    open_site,
    resource,
    step,
)
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.server.secret.keys import Key, Keys

SECRET = "generated-47"
HOOK, EVENT = "migrate@pre-install", "/pre-install"
NODES = [(EVENT, "EVENT", []), (HOOK, "HOOK", [EVENT]), ("db", "RESOURCE", [HOOK])]
PLAN = json.dumps(
    {
        "format": 1,
        "nodes": [
            {"path": path, "kind": kind, "task": "INSTALL", "batch": 1, "after": after} for path, kind, after in NODES
        ],
    }
)
MANIFEST = {
    "db": {"type": "acme/db"},
    "migrate": {"type": "acme/migrate", "hook": {"events": ["pre-install"]}},
}
EMITTED = pb.OperationReport(lifecycle=pb.LifecycleReport(event="pre-install", outcome=pb.LIFECYCLE_OUTCOME_SUCCEEDED))
ASKED = [node(HOOK, "INSTALLING"), step(HOOK, 1, "STATE", RUNNING), step(HOOK, 1, "STATE", SUCCEEDED)]


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[Site]:
    async with open_site(database_url, keys=Keys([Key.of(bytes(32))])) as opened:
        yield opened


@pytest.fixture
async def flow(site: Site) -> Flow:
    """An operation with an event, its hook, and a resource after these."""
    flow = await site.apply("db")
    await flow.acquire()
    await flow.submit_text(PLAN, manifest=json.dumps({"resources": MANIFEST}), late="{}")
    return flow


async def test_an_operation_counts_resources_alone_and_its_revision_keeps_the_installation(flow: Flow) -> None:
    await flow.report(node(EVENT, "INSTALLING"), EMITTED, node(EVENT, "READY"))
    await flow.report(*ASKED, node(HOOK, "READY", changed=True))
    await flow.report(*installs("db"), finish())
    ended = await flow.get()
    assert (ended.state, ended.total_nodes, ended.changed_nodes) == (SUCCEEDED, 1, 0)
    assert await flow.nodes() == {EVENT: "READY", HOOK: "READY", "db": "READY"}
    revision = await flow.site.stub.GetRevision(pb.GetRevisionRequest(name="shop"))
    assert [each["path"] for each in json.loads(revision.plan)["nodes"]] == ["db"]
    told = [data["kind"] for name, data in await flow.site.recorded() if name == "node.ready"]
    assert told == ["EVENT", "HOOK", "RESOURCE"]


async def test_of_a_hook_nothing_is_kept_but_what_is_secret(flow: Flow) -> None:
    site = flow.site
    await flow.report(
        *ASKED,
        resource(HOOK, "STALE", secrets=[SECRET]),
        step(HOOK, 2, "ACTION", PENDING, attempt=0, args=pb.Args(values=[f"--from={SECRET}"])),
    )
    assert [line for line in (await dump(site.database_url)).splitlines() if SECRET in line] == []
    assert [each async for each in site.stub.ListResources(pb.ListResourcesRequest(name="shop"))] == []
    request = pb.GetWorkRequest(operation_id=flow.id, lease_token=flow.token)
    work = [part async for part in site.stub.GetWork(request)]
    assert [list(part.secrets.texts) for part in work if part.HasField("secrets")] == [[SECRET]]
    steps = [each for part in work if part.HasField("node") for each in part.node.steps if each.args.values]
    assert [list(each.args.values) for each in steps] == [[f"--from={SECRET}"]]


async def test_documents_of_a_hook_are_refused(flow: Flow) -> None:
    await flow.report(*ASKED)
    refusal = await flow.refused(resource(HOOK, config="{}"))
    assert f"{HOOK} is a hook, and only its secrets are kept" in refusal.message
