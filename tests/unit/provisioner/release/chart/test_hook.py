"""Hooks of charts: when they run, what their failure means, and how a new owner goes on with them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from unit.provisioner.release.chart.test_chart_installation import packed
from unit.provisioner.release.stage import Stage

from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState


def hook(name: str, *events: str, weight: float = 0) -> str:
    return f"  {name}: {{type: acme/hook, config: {{n: 1}}, hook: {{events: [{', '.join(events)}], weight: {weight}}}}}"


def template(*lines: str) -> str:
    return "\n".join(("resources:", *lines)) + "\n"


def chart(*lines: str, **others: str) -> dict[str, str]:
    """A chart with these resources, and with subcharts, each of which waits for all before it."""
    names = list(others)
    dependencies = [
        f"- {{name: {name}, version: 1.x, depends-on: [{', '.join(names[:place])}]}}"
        for place, name in enumerate(names)
    ]
    found = {
        "Chart.yaml": "\n".join(("apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:", *dependencies)) + "\n"
    }
    found["templates/own.yaml"] = template(*lines)
    for name, text in others.items():
        found[f"charts/{name}/Chart.yaml"] = f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
        found[f"charts/{name}/templates/a.yaml"] = text
    if not names:
        found["Chart.yaml"] = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
    return found


WEB = "  web: {type: acme/web, config: {n: 1}}"
ALL = chart(
    WEB,
    hook("late", "pre-install", "pre-upgrade", weight=2),
    hook("b", "pre-install"),
    hook("a", "pre-install"),
    hook("early", "pre-install", weight=-1.5),
    hook("after", "post-install", "post-upgrade", "post-rollback"),
    hook("back", "pre-rollback"),
    hook("leaving", "pre-delete"),
    hook("gone", "post-delete"),
    hook("check", "test"),
)


def done(stage: Stage) -> list[str]:
    """Return what was created and destroyed since this was asked last, in order."""
    found = [name if call == "create" else f"{name} {call}" for name, call in stage.images.journal]
    stage.images.journal.clear()
    # A hook finds nothing of what another operation has done.
    for name in set(stage.images.things) - {"web", "db", "app"}:
        stage.images.things[name].state = None
    return [each for each in found if not each.endswith((" init", " state"))]


PREPARED = (
    *("read-chart", "chart-loaded", "pre-render", "render", "post-render"),
    *("pre-validate", "validate", "post-validate"),
)


async def install(stage: Stage, given: dict[str, Any], **more: Any) -> str:
    return (await stage.operator.install("shop", packed(given), **more)).id


async def lived(stage: Stage, operation_id: str) -> Sequence[str]:
    """Return what was emitted once the plan was there."""
    runs = [run async for run in stage.operator.lifecycle(operation_id)]
    return [f"{run.chart}/{run.event}" for run in runs if run.event not in PREPARED]


async def test_hooks_run_at_their_events_by_weight_and_then_by_name(stage: Stage) -> None:
    async with stage.provisioner():
        operation = await stage.ends(first := await install(stage, ALL))
        assert (operation.total_nodes, operation.changed_nodes) == (1, 1)
        assert done(stage) == ["early", "a", "b", "late", "web", "after"]
        assert set(stage.resources()) == {"shop:web"}
        assert await lived(stage, first) == [
            *("shop/pre-install", "shop/install", "shop/post-install", "shop/wait", "shop/ready")
        ]
        changed = ALL | {
            "templates/own.yaml": ALL["templates/own.yaml"].replace("web, config: {n: 1}", "web, config: {n: 2}")
        }
        await stage.ends((await stage.operator.upgrade("shop", packed(changed))).id)
        assert done(stage) == ["late", "web", "after"]
        await stage.ends(back := (await stage.operator.rollback("shop", 1)).id)
        assert done(stage) == ["back", "web", "after"]
        assert "shop/pre-rollback" in await lived(stage, back)
        await stage.ends(last := (await stage.operator.uninstall("shop")).id)
        assert done(stage) == ["leaving", "web destroy", "gone"]
        assert await lived(stage, last) == ["shop/pre-delete", "shop/delete", "shop/post-delete"]
        nodes = await stage.nodes(last)
        assert nodes["shop:gone@post-delete"].state is NodeState.REMOVED


async def test_without_waiting_nothing_is_waited_for_and_nothing_said_to_be_ready(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(first := await install(stage, ALL, wait="none"))
    assert await lived(stage, first) == ["shop/pre-install", "shop/install", "shop/post-install"]


async def test_a_hook_that_fails_before_the_rest_lets_nothing_else_begin(stage: Stage) -> None:
    stage.images.thing("b", exits={"create": 3})
    async with stage.provisioner():
        operation = await stage.ends(first := await install(stage, ALL), State.FAILED)
    assert operation.cause is not None
    assert operation.cause["path"] == "shop:b@pre-install"
    assert done(stage) == ["early", "a", "b"]
    states = {path: node.state for path, node in (await stage.nodes(first)).items()}
    assert states["shop:web"] is states["shop:late@pre-install"] is states["shop/install"] is NodeState.SKIPPED
    assert (operation.failed_nodes, operation.skipped_nodes) == (0, 1)


async def test_a_hook_that_fails_after_the_rest_leaves_it_as_it_is(stage: Stage) -> None:
    stage.images.thing("after", exits={"create": 3})
    async with stage.provisioner():
        operation = await stage.ends(first := await install(stage, ALL), State.FAILED)
        assert operation.cause is not None
        assert operation.cause["path"] == "shop:after@post-install"
        assert (await stage.nodes(first))["shop:web"].state is NodeState.READY
        done(stage)
        stage.images.things["after"].exits.clear()
        await stage.ends((await stage.operator.resume("shop")).id)
    assert done(stage) == ["early", "a", "b", "late", "after"]


async def test_what_an_image_says_of_a_hook_is_checked_before_anything_changes(stage: Stage) -> None:
    stage.images.thing("after", init={"config_schema": {"required": ["missing"]}})
    async with stage.provisioner():
        operation = await stage.ends(await install(stage, ALL), State.FAILED)
    assert operation.cause is not None
    assert operation.cause["path"] == "shop:after@post-install"
    assert done(stage) == []


async def test_a_dependent_subchart_waits_for_the_hooks_of_the_one_before(stage: Stage) -> None:
    given = chart(
        WEB,
        db=template("  db: {type: acme/db, config: {n: 1}}", hook("migrate", "post-install")),
        app=template("  app: {type: acme/app, config: {n: 1}}", hook("warm", "pre-install")),
    )
    async with stage.provisioner():
        await stage.ends(first := await install(stage, given))
        assert done(stage) == ["db", "migrate", "warm", "app", "web"]
        assert [each for each in await lived(stage, first) if "." in each] == [
            *("shop.db/post-install", "shop.app/pre-install")
        ]


async def test_a_subchart_that_leaves_runs_its_own_hooks(stage: Stage) -> None:
    app = template("  app: {type: acme/app, config: {n: 1}}", hook("bye", "pre-delete"), hook("done", "post-delete"))
    async with stage.provisioner():
        await stage.ends(await install(stage, chart(WEB, hook("after", "post-upgrade"), app=app)))
        done(stage)
        other = chart(WEB, hook("after", "post-upgrade"))
        await stage.ends(second := (await stage.operator.upgrade("shop", packed(other))).id)
    assert done(stage) == ["bye", "app destroy", "done", "after"]
    assert await lived(stage, second) == [
        *("shop/pre-upgrade", "shop/upgrade", "shop.app/pre-delete", "shop.app/post-delete"),
        *("shop/post-upgrade", "shop/wait", "shop/ready"),
    ]


BARE = template(hook("bye", "pre-delete"), hook("done", "post-delete"))


async def test_a_subchart_that_leaves_runs_its_hooks_though_it_has_no_resources(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await install(stage, chart(WEB, hook("after", "post-upgrade"), app=BARE)))
        done(stage)
        planned = await stage.operator.plan("shop", packed(chart(WEB, hook("after", "post-upgrade"))))
        hooks = (await planned.plan())["hooks"]
        assert [(each["path"], each["event"]) for each in hooks] == [
            *(("shop.app:bye", "pre-delete"), ("shop.app:done", "post-delete"), ("shop:after", "post-upgrade"))
        ]
        await stage.ends(second := (await stage.operator.apply_plan(planned.id)).id)
        assert done(stage) == ["bye", "done", "after"]
        assert [each for each in await lived(stage, second) if "app" in each] == [
            *("shop.app/pre-delete", "shop.app/post-delete")
        ]
        await stage.ends((await stage.operator.rollback("shop", 1)).id)
        done(stage)
        await stage.ends((await stage.operator.uninstall("shop")).id)
    assert sorted(done(stage)) == ["bye", "done", "web destroy"]


async def test_a_subchart_that_leaves_without_resources_goes_on_leaving_under_another_owner(stage: Stage) -> None:
    gate = asyncio.Event()
    async with stage.provisioner():
        await stage.ends(await install(stage, chart(WEB, app=BARE)))
        stage.images.thing("bye").gates["create"] = gate
        upgraded = await stage.operator.upgrade("shop", packed(chart(WEB)))
        await stage.has_called("bye", "create")
        done(stage)
    async with stage.provisioner():
        gate.set()
        await stage.ends(upgraded.id)
    assert "done" in done(stage)


async def test_an_applied_release_has_hooks_and_emits_what_they_hear_alone(stage: Stage) -> None:
    manifest = template(WEB, hook("before", "pre-install"), hook("leaving", "pre-delete"))
    async with stage.provisioner():
        await stage.ends(first := await stage.apply(manifest))
        assert done(stage) == ["before", "web"]
        assert await lived(stage, first) == ["/pre-install"]
        await stage.ends((await stage.operator.uninstall("shop")).id)
    assert done(stage) == ["leaving", "web destroy"]


@pytest.mark.parametrize("engine", ["engine", "other"])
async def test_a_hook_goes_on_under_another_owner(stage: Stage, engine: str) -> None:
    gate = asyncio.Event()
    stage.images.thing("b", gates={"create": gate})
    async with stage.provisioner():
        first = await install(stage, ALL)
        await stage.has_called("b", "create")
    stage.expire(0)
    async with stage.provisioner(slot=1, engine=engine):
        if engine == "engine":
            gate.set()
            await stage.ends(first)
            assert done(stage) == ["early", "a", "b", "late", "web", "after"]
        else:
            operation = await stage.ends(first, State.FAILED)
            assert operation.cause is not None
            assert (operation.cause["reason"], operation.cause["path"]) == ("STEP_LOST", "shop:b@pre-install")


async def test_a_cancellation_in_a_hook_ends_it_there(stage: Stage) -> None:
    stage.images.thing("b", gates={"create": asyncio.Event()})
    async with stage.provisioner():
        first = await install(stage, ALL)
        await stage.has_called("b", "create")
        await stage.operator.cancel(first, now=True)
        await stage.ends(first, State.CANCELLED)
    assert done(stage) == ["early", "a", "b"]
    assert (await stage.nodes(first))["shop:b@pre-install"].state is NodeState.FAILED
    await stage.is_clear()


async def test_the_tests_of_a_release_are_hooks_and_leave_it_as_it_is(stage: Stage) -> None:
    given = chart(WEB, hook("check", "test"), db=template(hook("probe", "test"), hook("look", "test", weight=-1)))
    async with stage.provisioner():
        await stage.ends(await install(stage, given))
        before = await stage.operator.get("shop")
        done(stage)
        await stage.ends(first := (await stage.operator.test("shop")).id)
        assert done(stage) == ["look", "probe", "check"]
        assert await lived(stage, first) == ["shop/pre-test", "shop.db/test", "shop/test", "shop/post-test"]
        stage.images.things["probe"].exits["create"] = 3
        operation = await stage.ends(second := (await stage.operator.test("shop")).id, State.FAILED)
        assert operation.cause is not None
        assert operation.cause["path"] == "shop.db:probe@test"
        assert done(stage) == ["look", "probe"]
        assert (await lived(stage, second))[-1] == "shop/failed-test"
        after = await stage.operator.get("shop")
    assert (after.state, after.revision, after.latest_revision) == (before.state, 1, 1)
