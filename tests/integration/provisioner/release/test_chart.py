"""Charts from end to end: a real server, a provisioner as a process, and resources as processes."""

from collections.abc import Mapping
from typing import Any

import pytest

from support.chart_stage import Files, chart, packed, thing
from support.release_stage import Stage
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import ReleaseState


async def install(stage: Stage, files: Files, *, name: str = "shop", **options: Any) -> str:
    values = {"global": {"folder": str(stage.folder)}}
    return (await stage.client.releases.install(name, packed(files), values=values, **options)).id


async def upgrade(stage: Stage, files: Files, **options: Any) -> str:
    return (await stage.client.releases.upgrade("shop", packed(files), **options)).id


def shop(
    text: str = "one",
    *,
    web: Mapping[str, Any] | None = None,
    db: Mapping[str, Any] | None = None,
    own: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Give a chart `shop` of which `web` is given what `db` gives, and the chart itself what `web` gives."""
    store = chart("db", {"store": thing("store", text), **(db or {})}, outputs={"text": "{{ store.state.text }}"})
    pages = {"page": thing("page", "page of {{ inputs.url }}"), **(web or {})}
    site = chart("web", pages, outputs={"text": "{{ page.state.text }}"})
    return chart(
        "shop",
        {"front": thing("front", "front of {{ subcharts.web.outputs.text }}"), **(own or {})},
        subcharts={"db": store, "web": site},
        dependencies={"web": {"depends-on": ["db"], "inputs": {"url": "{{ subcharts.db.outputs.text }}"}}},
        waits_for=("web",),
    )


FIRST = shop(web={"extra": thing("extra")}, own={"last": thing("last"), "old": thing("old", "before")})


async def test_a_chart_goes_through_its_life(stage: Stage) -> None:
    (stage.folder / "old").write_text("before")
    releases = stage.client.releases
    async with stage.provisioner():
        await stage.ends(await install(stage, FIRST))
        assert [stage.content(name) for name in ("store", "page", "front", "extra", "last")] == [
            *("one", "page of one", "front of page of one", "content", "content"),
        ]
        unchanged = await stage.ends(await upgrade(stage, FIRST))
        assert (unchanged.revision, unchanged.changed_nodes) == (1, 0)

        # One is new, one is changed and others with it, one has moved to another chart, and one is left out.
        second = shop(
            "two", web={"added": thing("added")}, db={"extra": thing("extra")}, own={"old": thing("old", "before")}
        )
        changed = await stage.ends(await upgrade(stage, second))
        assert changed.revision == 2
        assert [stage.content(name) for name in ("store", "page", "front", "extra", "added", "last")] == [
            *("two", "page of two", "front of page of two", "content", "content", None),
        ]
        assert "destroy begins" not in stage.journal("extra")

        # What has failed leaves what it has created, and the revision that is deployed as it is.
        fresh = {
            "fresh": thing("fresh"),
            "bad": thing("bad", fails=["write-1"], dependencies={"first": "fresh"}),
        }
        broken = shop("two", web={"added": thing("added"), **fresh}, db={"extra": thing("extra")})
        failed = await stage.ends(await upgrade(stage, broken), State.FAILED)
        assert failed.cause is not None
        assert failed.cause["path"] == "shop.web:bad"
        assert stage.content("fresh") == "content"
        release = await releases.get("shop")
        assert (release.state, release.revision, release.latest_revision) == (ReleaseState.FAILED, 2, 3)

        await stage.ends(await upgrade(stage, second))
        assert (stage.content("fresh"), stage.content("added")) == (None, "content")

        await stage.ends((await releases.rollback("shop", 1)).id)
        assert [stage.content(name) for name in ("store", "page", "front", "extra", "added", "last")] == [
            *("one", "page of one", "front of page of one", "content", None, "content"),
        ]
        assert "destroy begins" not in stage.journal("extra")

        await stage.ends((await releases.uninstall("shop")).id)
        assert stage.runs() == []
    left = [name for name in ("store", "page", "front", "extra", "added", "last", "old") if stage.content(name)]
    # What was there before it was installed stays.
    assert left == ["old"]


async def test_what_cannot_be_rendered_leaves_the_release_as_it_was(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await install(stage, FIRST))
        before = stage.journal("store")
        broken = shop(web={"bad": thing("bad", "{{ values.nothing.at.all }}")})
        operation = await stage.ends(await upgrade(stage, broken), State.FAILED)
        release = await stage.client.releases.get("shop")
    assert operation.cause is not None
    assert operation.cause["message"].startswith(
        "RENDER: charts/web/templates/all.yaml.resources.bad.config.text: `{{ values.nothing.at.all }}`: "
    )
    assert (release.state, release.revision, release.latest_revision) == (ReleaseState.DEPLOYED, 1, 1)
    assert stage.journal("store") == before


async def test_files_of_a_chart_are_where_each_call_of_its_resources_begins(stage: Stage) -> None:
    inner = chart("in", {"a": thing("a", reads="sub/text")}, files={"sub/text": "inner"})
    outer = chart("shop", {"b": thing("b", reads="text")}, files={"text": "outer"}, subcharts={"in": inner})
    async with stage.provisioner():
        await stage.ends(await install(stage, outer))
        assert (stage.content("a"), stage.content("b")) == ("inner", "outer")
        await stage.ends((await stage.client.releases.uninstall("shop")).id)
        assert stage.runs() == []
    assert (stage.content("a"), stage.content("b")) == (None, None)


async def test_another_provisioner_goes_on_with_a_chart(stage: Stage) -> None:
    files = shop(web={"extra": thing("extra", waits=["write-1"])})
    async with stage.provisioner() as first:
        operation_id = await install(stage, files)
        await stage.has_begun("extra", "write-1")
        first.kill()
        await first.wait()
    async with stage.provisioner():
        stage.go("extra")
        await stage.ends(operation_id)
    assert stage.content("front") == "front of page of one"
    assert stage.journal("extra").count("write-1 begins") == 1


def waiting() -> dict[str, str]:
    """Give a chart with `slow`, that waits for a word, beside `a`, which `b` waits for; and its own resource."""
    subcharts = {name: chart(name, {name: thing(name)}) for name in ("a", "b", "free")}
    slow = chart("slow", {"slow": thing("slow", waits=["write-1"])})
    return chart(
        "shop",
        {"own": thing("own")},
        subcharts={"slow": slow, **subcharts},
        dependencies={"b": {"depends-on": ["a"]}},
        waits_for=("slow",),
    )


@pytest.mark.parametrize(
    ("wait", "before"),
    [
        # The batches are slow and a, then b, then free and the chart itself.
        ("ordered", {"shop.a:a"}),
        # Each waits for its own prerequisites alone; what nobody orders waits for nothing.
        ("eager", {"shop.a:a", "shop.b:b"}),
        ("none", {"shop.a:a", "shop.b:b", "shop.free:free", "shop:own"}),
    ],
)
async def test_who_waits_for_whom_is_what_the_events_tell(stage: Stage, wait: str, before: set[str]) -> None:
    async with stage.provisioner():
        operation_id = await install(stage, waiting(), wait=wait)
        await stage.has_begun("slow", "write-1")
        for path in before:
            name = path.rpartition(":")[2]
            await stage.has_begun(name, "write-1")
        stage.go("slow")
        await stage.ends(operation_id)
        told = await events(stage, operation_id)
    ready = told.index(("shop.slow:slow", EventType.NODE_READY))
    begun = {path for path, kind in told[:ready] if kind is EventType.NODE_STARTED and ":" in path}
    if wait != "eager":
        assert begun == {*before, "shop.slow:slow"}
    assert told.index(("shop.a:a", EventType.NODE_READY)) < told.index(("shop.b:b", EventType.NODE_STARTED)) or (
        wait == "none"
    )
    ended = {path for path, kind in told if kind is EventType.NODE_READY}
    assert {"shop", "shop.slow", "shop.a", "shop.b", "shop.free"} <= ended


async def events(stage: Stage, operation_id: str) -> list[tuple[str, EventType]]:
    """Return what happened to the nodes of an operation, in the order of the event log."""
    nodes = {node.id: node.path async for node in stage.client.releases.nodes(operation_id)}
    found: list[tuple[str, EventType]] = []
    kinds = {EventType.NODE_STARTED, EventType.NODE_READY}
    async with stage.client.releases.watch(from_revision=1, resource_types=[ResourceType.NODE]) as watch:
        async for event in watch:
            if event.event_type in kinds:
                found.append((nodes[event.resource_id], event.event_type))
            if sum(kind is EventType.NODE_READY for _, kind in found) == len(nodes):
                return found
    raise AssertionError("the watch ended")
