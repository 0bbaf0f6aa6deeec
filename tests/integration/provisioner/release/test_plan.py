"""Plans from end to end: what they find, that they change nothing, and what is applied of them."""

import asyncio
import json
from typing import Any

import pytest

from support import chart_stage
from support.chart_stage import chart, thing
from support.release_stage import SECONDS, Stage
from tinkwell.client import Operation, OperationHandle, errors
from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.release.kinds import ReleaseState
from tinkwell.core.release.preview.model import Mark, Preview, PreviewNode

LOOKED = ["state begins", "state ends"]
DONE = [*LOOKED, "write-1 begins", "write-1 ends", *LOOKED]


def manifest(**resources: Any) -> str:
    return json.dumps({"plugs": {}, "resources": resources})


async def planned(
    stage: Stage, *, state: State = State.SUCCEEDED, name: str = "shop", **resources: Any
) -> tuple[Operation, dict[str, PreviewNode]]:
    """Plan a manifest, or drift where there are no resources."""
    releases = stage.client.releases
    handle = await (releases.plan(name, manifest=manifest(**resources)) if resources else releases.drift(name))
    return await found(stage, handle, state)


async def found(
    stage: Stage, handle: OperationHandle, state: State = State.SUCCEEDED
) -> tuple[Operation, dict[str, PreviewNode]]:
    await stage.ends(handle.id, state)
    operation = await stage.client.releases.operation(handle.id)
    return operation, {node.path: node for node in Preview.from_json(operation.result).nodes}


def marks(nodes: dict[str, PreviewNode]) -> dict[str, str]:
    return {path: str(node.mark) for path, node in nodes.items()}


def hooks(operation: Operation) -> list[tuple[str, str]]:
    return [(hook.path, hook.event.value) for hook in Preview.from_json(operation.result).hooks]


async def stored(stage: Stage) -> object:
    """All that is known of the release, but for what an operation of it changes in any case."""
    releases = stage.client.releases
    release = await releases.get("shop")
    known = [each async for each in releases.resources("shop")]
    history = [each async for each in releases.history("shop")]
    return release.state, release.revision, release.latest_revision, release.operation_id, known, history


async def test_a_plan_tells_what_would_be_done_and_does_nothing(stage: Stage) -> None:
    former: dict[str, Any] = {name: stage.thing(name, "one") for name in ("a", "b", "c")}
    async with stage.provisioner():
        await stage.ends(await stage.apply(**former))
        before, folders = await stored(stage), sorted(stage.state_dir.glob("releases/*"))
        dependent = stage.thing("e", "{{ x.state.text }}") | {"dependencies": {"x": "b"}}
        operation, nodes = await planned(
            stage, a=former["a"], b=stage.thing("b", "two"), d=stage.thing("d", actions=2), e=dependent
        )
        assert stage.runs() == []
        assert await stored(stage) == before
        assert sorted(stage.state_dir.glob("releases/*")) == folders
    assert marks(nodes) == {"a": "=", "b": "~", "d": "+", "e": "?", "c": "-"}
    assert [(each.pointer, each.before, each.after) for each in nodes["b"].differences] == [
        ("/config/text", '"one"', '"two"')
    ]
    assert [action.name for action in nodes["d"].actions] == ["write-1", "write-2"]
    assert nodes["e"].reason == "decided at run: config.text needs b"
    assert nodes["c"].reason == "last in revision 1, removed after batch 2"
    assert (operation.revision, operation.changed_nodes) == (0, 0)
    assert {name: stage.content(name) for name in "abcde"} == {**dict.fromkeys("abc", "one"), "d": None, "e": None}
    assert [stage.journal(name) for name in "abcde"] == [[*DONE, *LOOKED], [*DONE, *LOOKED], DONE, LOOKED, []]


async def test_a_plan_is_applied_as_it_is_and_only_once(stage: Stage) -> None:
    releases = stage.client.releases
    async with stage.provisioner():
        await stage.ends(await stage.apply(a=stage.thing("a", "one"), b=stage.thing("b", "one")))
        resources: dict[str, Any] = {"a": stage.thing("a", "two"), "c": stage.thing("c") | {"dependencies": {"x": "a"}}}
        operation, nodes = await planned(stage, **resources)
        assert marks(nodes) == {"a": "~", "c": "?", "b": "-"}
        applied = await stage.ends((await releases.apply_plan(operation.id)).id)
        assert (applied.revision, applied.plan_of) == (2, operation.id)
        assert (stage.content("a"), stage.content("b"), stage.content("c")) == ("two", None, "content")
        with pytest.raises(errors.PlanStale):
            await releases.apply_plan(operation.id)


async def test_a_plan_of_a_free_name_holds_it_for_nothing_and_is_applied_as_an_installation(stage: Stage) -> None:
    releases = stage.client.releases
    async with stage.provisioner():
        hook = stage.thing("h") | {"hook": {"events": ["pre-install"]}}
        told = stage.thing("a", "{{ release.is_install }} {{ release.revision }}")
        operation, nodes = await planned(stage, a=told, h=hook)
        assert marks(nodes) == {"a": "+"}
        assert hooks(operation) == [("h", "pre-install")]
        assert stage.journal("h") == []
        assert (await releases.get("shop")).state is ReleaseState.PLANNED
        assert [each async for each in releases.list()] == []
        await stage.ends((await releases.apply_plan(operation.id)).id)
    assert (stage.content("a"), stage.content("h")) == ("True 1", "content")


async def test_what_is_new_since_the_plan_fails_before_it_acts(stage: Stage) -> None:
    releases = stage.client.releases
    async with stage.provisioner():
        await stage.ends(await stage.apply(a=stage.thing("a", "one"), b=stage.thing("b", "one")))
        operation, _ = await planned(stage, a=stage.thing("a", "one"), b=stage.thing("b", "two"))
        (stage.folder / "a").write_text("changed by hand")
        applied = await stage.ends((await releases.apply_plan(operation.id)).id, State.FAILED)
    assert applied.cause is not None
    assert applied.cause["path"] == "a"
    assert "its state lists the action write-1 (write-1) now, which the plan does not have" in applied.cause["message"]
    assert stage.content("a") == "changed by hand"
    assert "write-1 begins" not in stage.journal("a")[len(DONE) :]


async def test_what_is_resumed_is_held_to_its_plan_again(stage: Stage) -> None:
    releases = stage.client.releases
    async with stage.provisioner():
        await stage.ends(await stage.apply(a=stage.thing("a", "one"), b=stage.thing("b", "one")))
        operation, _ = await planned(stage, a=stage.thing("a", "one"), b=stage.thing("b", "two"))
        (stage.folder / "a").write_text("changed by hand")
        await stage.ends((await releases.apply_plan(operation.id)).id, State.FAILED)
        for _ in range(2):
            resumed = await stage.ends((await releases.resume("shop")).id, State.FAILED)
            assert resumed.plan_of == operation.id
            assert resumed.cause is not None
            assert "which the plan does not have" in resumed.cause["message"]
            assert stage.content("a") == "changed by hand"
        (stage.folder / "a").write_text("one")
        resumed = await stage.ends((await releases.resume("shop")).id)
        assert (resumed.revision, resumed.plan_of) == (2, operation.id)
        assert stage.content("b") == "two"


async def test_hooks_run_where_nothing_changes_and_a_chart_that_goes_has_its_last_ones(stage: Stage) -> None:
    events = ["pre-install", "pre-upgrade", "post-upgrade", "pre-delete"]
    part = chart("part", {"x": thing("x"), "h": thing("h") | {"hook": {"events": events}}})
    root = chart("shop", {"a": thing("a")}, subcharts={"part": part})
    values = {"global": {"folder": str(stage.folder)}}
    releases = stage.client.releases
    async with stage.provisioner():
        await stage.ends((await releases.install("shop", chart_stage.packed(root), values=values)).id)
        ran = len(stage.journal("h"))
        same, nodes = await found(stage, await releases.plan("shop", chart_stage.packed(root), values=values))
        assert {node.mark for node in nodes.values()} == {Mark.SAME}
        assert hooks(same) == [("shop.part:h", "pre-upgrade"), ("shop.part:h", "post-upgrade")]
        drifted, _ = await found(stage, await releases.drift("shop"))
        assert hooks(drifted) == []
        alone = chart_stage.packed(chart("shop", {"a": thing("a")}))
        gone, nodes = await found(stage, await releases.plan("shop", alone, values=values))
        assert marks(nodes) == {"shop:a": "=", "shop.part:x": "-"}
        assert hooks(gone) == [("shop.part:h", "pre-delete")]
        assert len(stage.journal("h")) == ran


async def test_fewer_actions_than_planned_are_as_planned(stage: Stage) -> None:
    releases = stage.client.releases
    async with stage.provisioner():
        operation, _ = await planned(stage, a=stage.thing("a", "one"))
        (stage.folder / "a").write_text("one")
        applied = await stage.ends((await releases.apply_plan(operation.id)).id)
    assert (applied.revision, applied.changed_nodes) == (1, 0)


async def test_a_call_that_fails_hides_nothing_else_and_is_no_plan_to_apply(stage: Stage) -> None:
    releases = stage.client.releases
    async with stage.provisioner():
        broken = stage.thing("b", fails=["state"])
        after = stage.thing("c") | {"dependencies": {"x": "b"}}
        operation, nodes = await planned(stage, state=State.FAILED, a=stage.thing("a"), b=broken, c=after)
        with pytest.raises(errors.IllegalTransition, match="only a plan that SUCCEEDED can be applied"):
            await releases.apply_plan(operation.id)
    assert marks(nodes) == {"a": "+", "b": "!", "c": "?"}
    assert nodes["b"].reason == "state FAILED (exit 7)"
    assert nodes["c"].reason == "decided at run: it depends on b, which could not be looked at"


async def test_drift_is_what_somebody_has_changed_and_is_told_once(stage: Stage) -> None:
    releases = stage.client.releases
    resources: dict[str, Any] = {"a": stage.thing("a", "one"), "b": stage.thing("b", "one") | {"ignore": ["/text"]}}
    async with stage.provisioner():
        await stage.ends(await stage.apply(**resources))
        operation, nodes = await planned(stage)
        assert marks(nodes) == {"a": "=", "b": "="}
        assert not (await releases.get("shop")).drifted
        for name in "ab":
            (stage.folder / name).write_text("by hand")
        before = await stored(stage)
        for _ in range(2):
            operation, nodes = await planned(stage)
        assert await stored(stage) == before
        assert marks(nodes) == {"a": "~", "b": "="}
        assert [(each.pointer, each.after) for each in nodes["a"].differences] == [("/state/text", '"by hand"')]
        assert nodes["b"].reason == "the manifest says to ignore /text"
        assert (await releases.get("shop")).drifted
        with pytest.raises(errors.IllegalTransition, match="about the installed revision"):
            await releases.apply_plan(operation.id)
        # Put right, and looked at again.
        await stage.ends(await stage.apply(**resources))
        await planned(stage)
        assert not (await releases.get("shop")).drifted
        assert (stage.content("a"), stage.content("b")) == ("one", "one")
        assert await drifts(stage) == 1


async def drifts(stage: Stage) -> int:
    """Count the events of drift, before one that comes now."""
    await stage.client.releases.uninstall("shop")
    count = 0
    kinds = [EventType.RELEASE_DRIFTED, EventType.RELEASE_UNINSTALLED]
    async with asyncio.timeout(SECONDS):
        async for event in stage.client.releases.watch(from_revision=1, event_types=kinds):
            if event.event_type is EventType.RELEASE_UNINSTALLED:
                break
            count += 1
    return count


async def test_secrets_are_no_part_of_a_plan(stage: Stage) -> None:
    secret = "correct-horse"
    text = "of {{ password }}"
    async with stage.provisioner():
        given: dict[str, Any] = {
            "manifest": manifest(a=stage.thing("a", text)),
            "secret_variables": {"password": secret},
        }
        await stage.ends((await stage.client.releases.apply("shop", **given)).id)
        (stage.folder / "a").write_text(f"{secret} changed")
        operation, nodes = await found(stage, await stage.client.releases.plan("shop", **given))
        assert marks(nodes) == {"a": "~"}
        drifted, _ = await found(stage, await stage.client.releases.drift("shop"))
        applied = await stage.ends((await stage.client.releases.apply_plan(operation.id)).id)
    for result in (operation.result, drifted.result):
        assert secret not in json.dumps(result)
        assert "•••" in json.dumps(result, ensure_ascii=False)
    assert applied.changed_nodes == 1
    assert stage.content("a") == f"of {secret}"


async def test_a_chart_is_planned_with_what_its_subcharts_give_out(stage: Stage) -> None:
    deep = chart("deep", {"disk": thing("disk")}, outputs={"text": "{{ disk.state.text }}"})
    part = chart(
        "part",
        {"db": thing("db", "{{ subcharts.deep.outputs.text }}")},
        subcharts={"deep": deep},
        waits_for=("deep",),
        outputs={"url": "{{ db.state.text }}"},
    )
    resources = {"web": thing("web", "{{ subcharts.part.outputs.url }}"), "sign": thing("sign")}
    root = chart_stage.packed(chart("shop", resources, subcharts={"part": part}, waits_for=("part",)))
    values = {"global": {"folder": str(stage.folder)}}
    releases = stage.client.releases
    async with stage.provisioner():
        operation, nodes = await found(stage, await releases.plan("shop", root, values=values))
        assert {path: (str(node.mark), node.reason) for path, node in nodes.items()} == {
            "shop.part.deep:disk": ("+", ""),
            "shop.part:db": ("?", "decided at run: config.text needs deep.outputs.text"),
            "shop:sign": ("+", ""),
            "shop:web": ("?", "decided at run: config.text needs part.outputs.url"),
        }
        await stage.ends((await releases.apply_plan(operation.id)).id)
        assert stage.content("web") == "content"
        _, nodes = await found(stage, await releases.plan("shop", root, values=values))
        assert {node.mark for node in nodes.values()} == {Mark.SAME}


async def test_a_plan_outlives_its_provisioner(stage: Stage) -> None:
    resources: dict[str, Any] = {"a": stage.thing("a"), "b": stage.thing("b", waits=["state"])}
    async with stage.provisioner() as first:
        handle = await stage.client.releases.plan("shop", manifest=manifest(**resources))
        await stage.has_begun("b", "state")
        first.kill()
        await first.wait()
    stage.go("b")
    async with stage.provisioner():
        _, nodes = await found(stage, handle)
        assert stage.runs() == []
    assert marks(nodes) == {"a": "+", "b": "+"}
    assert "write-1 begins" not in [*stage.journal("a"), *stage.journal("b")]
