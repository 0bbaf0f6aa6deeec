"""Releases, revisions and operations are read and listed."""

from typing import Any

import pytest

from support import edge
from support.release_site import PENDING, SUCCEEDED, UNKNOWN, Site, manifest
from tinkwell.api.v1 import release_service_pb2 as pb


async def names(site: Site, **filters: Any) -> list[str]:
    found = site.stub.ListReleases(pb.ListReleasesRequest(**filters))
    return [f"{each.namespace}/{each.name}" async for each in found]


async def test_releases_are_listed_by_namespace_and_name(site: Site) -> None:
    for namespace, name in (("b", "one"), ("a", "two"), ("a", "one")):
        await site.apply(release=name, namespace=namespace)
    await site.install(release="three")
    assert await names(site) == ["a/one", "a/two", "b/one", "default/three"]
    assert await names(site, namespace="a") == ["a/one", "a/two"]
    assert await names(site, states=[pb.RELEASE_STATE_DEPLOYED, pb.RELEASE_STATE_FAILED]) == ["default/three"]
    assert await names(site, namespace="b", states=[pb.RELEASE_STATE_DEPLOYED]) == []
    await (await site.begin("Uninstall", release="three")).carry_out(removed=["db"])
    assert await names(site) == ["a/one", "a/two", "b/one"]


async def test_a_release_is_found_by_its_id_or_its_name(site: Site) -> None:
    await site.apply(namespace="n")
    found = await site.stub.GetRelease(pb.GetReleaseRequest(namespace="n", name="shop"))
    assert await site.stub.GetRelease(pb.GetReleaseRequest(id=found.id)) == found
    for request, resource in (
        (pb.GetReleaseRequest(id=UNKNOWN), UNKNOWN),
        (pb.GetReleaseRequest(name="shop"), "shop"),
        (pb.GetReleaseRequest(namespace="m", name="shop"), "m/shop"),
    ):
        told = await edge.refused(site.stub.GetRelease(request))
        assert told.metadata == {"resource_type": "RELEASE", "resource_id": resource}


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pb.GetReleaseRequest(), "name"),
        (pb.GetReleaseRequest(id="x"), "id"),
        (pb.GetReleaseRequest(name="a", namespace="A"), "namespace"),
    ],
)
async def test_a_release_that_is_not_named_is_not_looked_for(
    site: Site, request_: pb.GetReleaseRequest, field: str
) -> None:
    assert list((await edge.refused(site.stub.GetRelease(request_))).fields) == [field]


async def test_a_filter_that_is_none_is_refused(site: Site) -> None:
    told = await edge.refused(site.stub.ListReleases(pb.ListReleasesRequest(namespace="A")).read())
    assert list(told.fields) == ["namespace"]
    states = [pb.RELEASE_STATE_DEPLOYED, pb.RELEASE_STATE_UNSPECIFIED]
    told = await edge.refused(site.stub.ListReleases(pb.ListReleasesRequest(states=states)).read())
    assert list(told.fields) == ["states[1]"]


async def test_revisions_come_with_their_documents_one_by_one_and_without_in_lists(site: Site) -> None:
    await site.install("db", description="one")
    await site.install("db", "web")
    await (await site.apply("db")).fail("db")
    listed = [each async for each in site.stub.History(pb.HistoryRequest(name="shop"))]
    assert [(each.revision, each.source, each.manifest, each.plan) for each in listed] == [
        (3, "", "", ""),
        (2, "", "", ""),
        (1, "", "", ""),
    ]
    assert listed[2].description == "one"
    latest = await site.stub.GetRevision(pb.GetRevisionRequest(name="shop"))
    assert (latest.revision, latest.manifest) == (2, manifest("db", "web"))
    first = await site.stub.GetRevision(pb.GetRevisionRequest(name="shop", revision=1))
    assert (first.manifest, first.operation_id) == (manifest("db"), listed[2].operation_id)
    told = await edge.refused(site.stub.GetRevision(pb.GetRevisionRequest(name="shop", revision=7)))
    assert told.metadata == {"resource_type": "REVISION", "resource_id": "7 of release shop"}
    told = await edge.refused(site.stub.GetRevision(pb.GetRevisionRequest(name="shop", revision=-1)))
    assert list(told.fields) == ["revision"]


async def test_of_a_release_that_was_never_deployed_the_newest_revision_is_shown(site: Site) -> None:
    flow = await site.apply()
    told = await edge.refused(site.stub.GetRevision(pb.GetRevisionRequest(name="shop")))
    assert told.metadata["resource_id"] == "of release shop"
    await flow.fail("db")
    assert (await site.stub.GetRevision(pb.GetRevisionRequest(name="shop"))).revision == 1


async def test_operations_are_listed_newest_first(site: Site) -> None:
    flows = [await site.install(), await site.apply()]
    found = [each async for each in site.stub.ListOperations(pb.ListOperationsRequest(name="shop"))]
    assert [each.id for each in found] == [flow.id for flow in reversed(flows)]
    assert [each.state for each in found] == [PENDING, SUCCEEDED]


@pytest.mark.parametrize("call", ["History", "ListOperations", "ListResources"])
async def test_lists_of_a_release_that_does_not_exist_are_not_found(site: Site, call: str) -> None:
    request = getattr(pb, f"{call}Request")(name="shop")
    assert (await edge.refused(getattr(site.stub, call)(request).read())).reason == "NOT_FOUND"


async def test_nodes_of_an_operation_without_a_plan_are_none(site: Site) -> None:
    flow = await site.apply()
    assert await flow.nodes() == {}
    told = await edge.refused(site.stub.ListNodes(pb.ListNodesRequest(operation_id=UNKNOWN)).read())
    assert told.reason == "NOT_FOUND"
