"""Plans of charts: what is real has rows and events, counters count resources, and lists name what is real."""

from support.release_site import FAILED, SUCCEEDED, Site, finish, installs, node, resource
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core.release.graph import build
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest, RenderedResource
from tinkwell.core.value import document

RENDERED = RenderedManifest(
    charts={
        "shop": RenderedChart(
            name="shop", version="1.0.0", batches=(("store",), ("shop",)), edges=(("store", "shop"),)
        ),
        "shop.store": RenderedChart(name="store", version="1.0.0", batches=(("store",),)),
    },
    resources={path: RenderedResource(type="image") for path in ("shop:web", "shop.store:db")},
)


async def test_charts_are_nodes_that_are_told_of_and_not_counted(site: Site) -> None:
    flow = await site.apply("x")
    await flow.acquire()
    plan = build.build_plan(RENDERED, [], {})
    submitted = await flow.submit_text(plan.dump(), manifest=document.dump_json(RENDERED.as_json()), late="{}")
    assert [each.path for each in submitted.nodes] == ["shop.store:db", "shop.store", "shop:web", "shop"]
    assert (await flow.get()).total_nodes == 2
    nodes = {each.path: each async for each in site.stub.ListNodes(pb.ListNodesRequest(operation_id=flow.id))}
    assert {path: list(each.after) for path, each in nodes.items()} == {
        "shop.store:db": [],
        "shop.store": [],
        "shop:web": ["shop.store"],
        "shop": [],
    }
    assert nodes["shop"].kind == nodes["shop.store"].kind == pb.NODE_KIND_CHART
    assert [each.ordinal for each in nodes.values()] == [0, 1, 2, 3]

    refused = await flow.refused(resource("shop"))
    assert "shop is a chart, which has no resource of its own" in refused.fields["reports[0]"]
    before = await site.last_revision()
    await flow.report(node("shop", "INSTALLING"), node("shop.store", "INSTALLING"))
    await flow.report(*installs("shop.store:db"), node("shop.store", "READY", changed=True))
    await flow.report(*installs("shop:web"), node("shop", "READY", changed=True))
    operation = await flow.report(finish())
    assert (operation.state, operation.failed_nodes, operation.skipped_nodes) == (SUCCEEDED, 0, 0)
    told = [
        (data["path"], data["kind"], data["state"])
        for name, data in await site.recorded(before)
        if name.startswith("node.")
    ]
    assert told == [
        ("shop", "CHART", "INSTALLING"),
        ("shop.store", "CHART", "INSTALLING"),
        ("shop.store:db", "RESOURCE", "INSTALLING"),
        ("shop.store:db", "RESOURCE", "READY"),
        ("shop.store", "CHART", "READY"),
        ("shop:web", "RESOURCE", "INSTALLING"),
        ("shop:web", "RESOURCE", "READY"),
        ("shop", "CHART", "READY"),
    ]


async def test_what_is_left_of_charts_ends_with_the_operation_and_is_not_counted(site: Site) -> None:
    flow = await site.apply("x")
    await flow.acquire()
    plan = build.build_plan(RENDERED, [], {})
    await flow.submit_text(plan.dump(), manifest=document.dump_json(RENDERED.as_json()), late="{}")
    await flow.report(node("shop", "INSTALLING"), node("shop.store", "INSTALLING"), node("shop.store:db", "INSTALLING"))
    await flow.report(node("shop.store:db", "FAILED", message="no disk"))
    operation = await flow.report(finish(FAILED, "{}"))
    assert (operation.failed_nodes, operation.skipped_nodes) == (1, 1)
    assert await flow.nodes() == {
        "shop.store:db": "FAILED",
        "shop.store": "FAILED",
        "shop:web": "SKIPPED",
        "shop": "FAILED",
    }
