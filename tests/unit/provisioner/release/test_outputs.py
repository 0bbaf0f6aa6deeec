"""What a release gives out, which is known once all of it is ready."""

import asyncio

from unit.provisioner.release.chart.releasing import files
from unit.provisioner.release.stage import Stage

from tinkwell.core.event.kinds import State
from tinkwell.core.release.chart.file import archive

APPLIED = """
    resources:
      disk: {type: acme/disk, config: {zone: here}}
    outputs: {zone: "{{ disk.state.zone }}", fixed: 3}
"""
SHOP = {
    "Chart.yaml": """
        apiVersion: v2
        name: shop
        version: 1.0.0
        annotations: {"helm.sh/depends-on/subcharts": '["store"]'}
        dependencies: [{name: store}]
    """,
    "templates/all.yaml": """
        resources: {door: {type: acme/door, config: {colour: "{{ values.colour }}"}}}
        outputs:
          url: "https://{{ subcharts.store.outputs.address }}/{{ door.state.colour }}"
          size: "{{ subcharts.store.outputs.size }}"
    """,
    "values.yaml": "colour: red\n",
    "charts/store/Chart.yaml": "apiVersion: v2\nname: store\nversion: 1.0.0\n",
    "charts/store/templates/all.yaml": """
        resources: {disk: {type: acme/disk, config: {address: "store.example", size: 3}}}
        outputs: {address: "{{ disk.state.address }}", size: "{{ disk.state.size }}"}
    """,
}


def packed(**others: str) -> bytes:
    return archive.pack("shop", files(SHOP, **others))


async def test_what_manifests_give_out_is_kept_with_the_operation(stage: Stage) -> None:
    async with stage.provisioner():
        operation = await stage.ends(await stage.apply(APPLIED))
    assert operation.result == {"outputs": {"zone": "here", "fixed": 3}}
    assert await stage.operator.outputs("shop") == {"zone": "here", "fixed": 3}


async def test_what_a_chart_gives_out_comes_from_its_subcharts_too_and_is_that_of_the_revision(stage: Stage) -> None:
    async with stage.provisioner():
        installed = await stage.operator.install("shop", packed())
        await stage.ends(installed.id)
        assert await stage.operator.outputs("shop") == {"url": "https://store.example/red", "size": 3}
        upgraded = await stage.operator.upgrade("shop", packed(), values={"colour": "blue"})
        await stage.ends(upgraded.id)
        assert (await stage.operator.outputs("shop"))["url"] == "https://store.example/blue"
        assert (await stage.operator.outputs("shop", 1))["url"] == "https://store.example/red"
        await stage.ends((await stage.operator.rollback("shop", 1)).id)
        assert (await stage.operator.outputs("shop"))["url"] == "https://store.example/red"


async def test_what_nothing_changes_gives_out_what_is_there_now(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(APPLIED))
        stage.images.thing("disk").answers["state"] = '{"status": "VALID", "state": {"zone": "there"}}'
        again = await stage.ends(await stage.apply(APPLIED))
    assert again.revision == 1
    assert (await stage.operator.outputs("shop"))["zone"] == "there"


async def test_a_successor_knows_what_its_predecessor_has_brought_about(stage: Stage) -> None:
    more = "resources: {more: {type: acme/more, dependencies: {d: door}}}"
    gate = asyncio.Event()
    # Its run is still there, so nobody waits for another one who has it at hand.
    stage.images.thing("more", gates={"create": gate})
    async with stage.provisioner():
        begun = await stage.operator.install("shop", packed(**{"templates/more.yaml": more}))
        await stage.has_called("more", "create")
    stage.expire(0)
    async with stage.provisioner(slot=1):
        gate.set()
        await stage.ends(begun.id)
    assert stage.images.calls("disk") == ["init", "state", "create", "state"]
    assert await stage.operator.outputs("shop") == {"url": "https://store.example/red", "size": 3}


async def test_what_cannot_be_evaluated_is_no_success_and_leaves_what_is_there(stage: Stage) -> None:
    wrong = APPLIED.replace("disk.state.zone", "disk.state.colour")
    async with stage.provisioner():
        failed = await stage.ends(await stage.apply(wrong), State.FAILED)
        assert await stage.operator.outputs("shop", 1) == {}
        assert stage.images.calls("disk") == ["init", "state", "create", "state"]
        await stage.ends(await stage.apply(APPLIED))
    assert failed.cause is not None
    assert failed.cause["reason"] == "OUTPUTS_FAILED"
    assert failed.cause["message"].startswith("outputs.zone: ")
    assert await stage.operator.outputs("shop") == {"zone": "here", "fixed": 3}
