"""Plans from end to end: what is found, and that what applies one is held to it."""

import json
from typing import Any

from unit.provisioner.release.chart.releasing import files
from unit.provisioner.release.stage import Stage

from tinkwell.core.event.kinds import State
from tinkwell.core.release.chart.file import archive

ONE = """
    resources:
      disk: {type: acme/disk, config: {zone: here, key: "{{ vars.key | default('no-key-yet') }}"}, sensitive: [/key]}
"""
TWO = """
    resources:
      disk: {type: acme/disk, config: {zone: there, key: "{{ vars.key | default('no-key-yet') }}"}, sensitive: [/key]}
      web: {type: acme/web, dependencies: {d: disk}, config: {on: "{{ d.state.zone }}"}}
"""
# Something else comes of it once there is a revision.
CHANGES = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "templates/a.yaml": "resources: {disk: {type: acme/disk, config: {n: '{{ values.n }}'}}}\n",
    "values.yaml": "n: 1\n",
    "ext/lua/init.lua": """
        function init(events)
          events.on("pre-render", 0, function (name, namespace, chart, values, manifest, context)
            if not context.config.dry_run then values.n = 2 end
          end)
        end
    """,
}


async def planned(stage: Stage, manifest: str, state: State = State.SUCCEEDED, **options: Any) -> tuple[str, Any]:
    begun = await stage.operator.plan("shop", files={"shop.yaml": manifest}, **options)
    await stage.ends(begun.id, state)
    return begun.id, (await stage.operator.operation(begun.id)).result


def marks(result: Any) -> dict[str, str]:
    return {each["path"]: each["mark"] for each in result["nodes"]}


async def test_a_plan_tells_what_would_be_done_and_does_nothing(stage: Stage) -> None:
    async with stage.provisioner():
        _, first = await planned(stage, ONE)
        assert marks(first) == {"disk": "+"}
        assert stage.images.calls("disk") == ["init", "state"]
        await stage.ends(await stage.apply(ONE))
        id_, found = await planned(stage, TWO)
        assert marks(found) == {"disk": "~", "web": "?"}
        (disk,) = (each for each in found["nodes"] if each["path"] == "disk")
        assert [each["name"] for each in disk["actions"]] == ["create"]
        assert ("/config/zone", '"here"', '"there"') in [
            (each["pointer"], json.dumps(each["before"]), json.dumps(each["after"])) for each in disk["differences"]
        ]
        await stage.ends((await stage.operator.apply_plan(id_)).id)
        assert marks((await planned(stage, TWO))[1]) == {"disk": "=", "web": "="}
        assert marks((await planned(stage, ONE))[1]) == {"disk": "~", "web": "-"}


async def test_a_resource_that_lists_other_actions_than_planned_fails_before_any_of_them(stage: Stage) -> None:
    async with stage.provisioner():
        id_, _ = await planned(stage, ONE)
        stage.images.thing("disk").actions = ("wipe", "create")
        failed = await stage.ends((await stage.operator.apply_plan(id_)).id, State.FAILED)
    assert failed.cause is not None
    assert "wipe" in failed.cause["message"]
    assert {"wipe", "create"}.isdisjoint(stage.images.calls("disk"))


async def test_what_comes_of_a_chart_must_be_what_the_plan_was_made_for(stage: Stage) -> None:
    async with stage.provisioner():
        begun = await stage.operator.plan("shop", archive.pack("shop", files(CHANGES)))
        await stage.ends(begun.id)
        failed = await stage.ends((await stage.operator.apply_plan(begun.id)).id, State.FAILED)
    assert failed.cause is not None
    assert failed.cause["reason"] == "PLAN_STALE"
    assert stage.images.calls("disk") == ["init", "state"]


async def test_a_drift_tells_what_is_not_as_it_was_installed(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(ONE))
        await stage.ends((nothing := await stage.operator.drift("shop")).id)
        assert (await nothing.plan())["drift"] == ""
        stage.images.thing("disk").state = {"zone": "nowhere", "key": "no-key-yet"}
        await stage.ends((drift := await stage.operator.drift("shop")).id)
        found = await drift.plan()
    assert found["drift"]
    assert marks(found) == {"disk": "~"}
    assert (await stage.operator.get("shop")).drifted


async def test_a_plan_in_which_a_call_fails_tells_what_it_found_of_all_others(stage: Stage) -> None:
    stage.images.thing("disk").exits["state"] = 3
    both = ONE + "      door: {type: acme/door, config: {n: 1}}\n"
    async with stage.provisioner():
        _, found = await planned(stage, both, State.FAILED)
    assert marks(found) == {"disk": "!", "door": "+"}


async def test_a_plan_that_cannot_be_rendered_has_found_nothing(stage: Stage) -> None:
    async with stage.provisioner():
        id_, found = await planned(stage, ONE.replace("vars.key", "nothing.key"), State.FAILED)
    assert found is None
    cause = (await stage.operator.operation(id_)).cause
    assert cause is not None
    assert cause["reason"] == "PREPARATION_FAILED"
