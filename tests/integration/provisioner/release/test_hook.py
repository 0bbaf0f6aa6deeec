"""Hooks of charts from end to end: what waits for them, what their failure leaves, and who goes on with them."""

from typing import Any

import pytest

from support.chart_stage import chart, thing
from support.chart_story import install, told
from support.release_stage import Stage
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeKind, NodeState, ReleaseState


def hook(path: str, *events: str, **config: Any) -> dict[str, Any]:
    """Describe a thing that is a hook."""
    described: dict[str, Any] = thing(path, **config)
    return described | {"hook": {"events": list(events)}}


def shop(*, db: dict[str, Any] | None = None, own: dict[str, Any] | None = None) -> dict[str, str]:
    """Give a chart whose subchart app comes after db."""
    return chart(
        "shop",
        {"own": thing("own"), **(own or {})},
        subcharts={"db": chart("db", {"db": thing("db"), **(db or {})}), "app": chart("app", {"app": thing("app")})},
        dependencies={"app": {"depends-on": ["db"]}},
        waits_for=("app",),
    )


async def test_what_waits_for_a_subchart_waits_for_its_hooks_which_wait_for_nothing_else(stage: Stage) -> None:
    """Helm runs such a hook once all of the release is there, which here would be never (helm#11637)."""
    async with stage.provisioner():
        handle = await install(stage, shop(db={"migrate": hook("migrate", "post-install", waits=["write-1"])}))
        await stage.has_begun("migrate", "write-1")
        assert stage.content("db") == "content"
        assert stage.journal("app") == []
        stage.go("migrate")
        await stage.ends(handle.id)
        events = [(path, state) for path, state, _ in await told(stage, handle.id)]
        runs = [f"{run.chart} {run.event}" async for run in stage.client.releases.lifecycle(handle.id)]
        resources = {found.path async for found in stage.client.releases.resources("shop")}
    assert events.index(("shop.db:migrate@post-install", NodeState.READY)) < events.index(
        ("shop.app:app", NodeState.INSTALLING)
    )
    # Before that, the chart was read, rendered and validated.
    assert runs[8:] == ["shop pre-install", "shop install", "shop.db post-install", *_LAST]
    assert resources == {"shop:own", "shop.db:db", "shop.app:app"}


_LAST = ("shop post-install", "shop wait", "shop ready")


async def test_a_hook_that_fails_before_the_rest_changes_nothing_else(stage: Stage) -> None:
    async with stage.provisioner():
        handle = await install(stage, shop(own={"check": hook("check", "pre-install", fails=["write-1"])}))
        operation = await stage.ends(handle.id, State.FAILED)
    assert operation.cause is not None
    assert operation.cause["path"] == "shop:check@pre-install"
    assert [stage.journal(name) for name in ("db", "app", "own")] == [[], [], []]


async def test_what_was_there_comes_back_where_a_hook_fails_after_the_rest(stage: Stage) -> None:
    async with stage.provisioner():
        broken = {"check": hook("check", "post-install", fails=["write-1"])}
        handle = await install(stage, shop(own=broken), atomic=True)
        await stage.ends(handle.id, State.FAILED)
        await stage.holds(db=None, app=None, own=None)
        assert stage.journal("db").count("write-1 ends") == 1


@pytest.mark.parametrize("event", ["pre-install", "post-install"])
async def test_a_hook_goes_on_after_the_death_of_its_owner_and_runs_once(stage: Stage, event: str) -> None:
    async with stage.provisioner() as provisioner:
        handle = await install(stage, shop(own={"slow": hook("slow", event, waits=["write-1"])}))
        await stage.has_begun("slow", "write-1")
        provisioner.kill()
        await provisioner.wait()
    stage.go("slow")
    async with stage.provisioner():
        await stage.ends(handle.id)
    assert stage.journal("slow").count("write-1 begins") == 1
    assert [stage.content(name) for name in ("db", "app", "own", "slow")] == ["content"] * 4


async def test_a_cancellation_in_a_hook_is_told_and_leaves_nothing_running(stage: Stage) -> None:
    async with stage.provisioner():
        handle = await install(stage, shop(own={"slow": hook("slow", "pre-install", waits=["write-1"])}))
        await stage.has_begun("slow", "write-1")
        await stage.client.releases.cancel(handle.id, now=True)
        await stage.ends(handle.id, State.CANCELLED)
        nodes = {node.path: node async for node in stage.client.releases.nodes(handle.id)}
        assert (await stage.client.releases.get("shop")).state is ReleaseState.FAILED
    assert nodes["shop:slow@pre-install"].state is NodeState.FAILED
    assert nodes["shop:slow@pre-install"].kind is NodeKind.HOOK
    assert nodes["shop/install"].state is NodeState.SKIPPED
    assert "write-1 ends" not in stage.journal("slow")
    assert stage.journal("db") == []


async def test_an_uninstallation_runs_the_hooks_of_what_it_removes(stage: Stage) -> None:
    own = {"first": hook("first", "pre-delete"), "last": hook("last", "post-delete", waits=["write-1"])}
    async with stage.provisioner():
        await stage.ends((await install(stage, shop(own=own))).id)
        handle = await stage.client.releases.uninstall("shop")
        await stage.has_begun("last", "write-1")
        assert [stage.content(name) for name in ("first", "db", "app", "own")] == ["content", None, None, None]
        stage.go("last")
        await stage.ends(handle.id)
