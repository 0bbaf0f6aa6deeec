"""Wherever a provisioner dies, its successor brings the operation to its end, and no action runs twice at once."""

from collections import Counter

import pytest
from unit.provisioner.release.mortal import Life, MortalRuntime
from unit.provisioner.release.stage import Stage

from support.waiting import eventually
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState

MANIFEST = """
    resources:
      disk: {type: acme/disk:1, config: {size: 3}}
      db: {type: acme/db:1, dependencies: {disk: disk}, config: {on: "{{ disk.state.size }}"}}
"""
# More than an operation needs; a life that is longer than it ends with it.
MOST_DEEDS = 75


def _watch_actions(stage: Stage) -> Counter[str]:
    """Count how many actions of each resource were under way at once, at most."""
    most: Counter[str] = Counter()

    def look() -> None:
        now = Counter(
            run.spec.labels["path"]
            for run in stage.world.runs.values()
            if run.ending is None and run.spec.command == ("create",)
        )
        most.update({path: max(now[path] - most[path], 0) for path in now})

    stage.images.on_call = look
    return most


@pytest.mark.parametrize("deeds", range(1, MOST_DEEDS, 2))
async def test_a_death_at_any_moment_of_an_installation(stage: Stage, deeds: int) -> None:
    most = _watch_actions(stage)
    life = Life(deeds)
    stage.server.on_call = life.call
    async with stage.provisioner(runtime=MortalRuntime(stage.runtime, life)):
        operation_id = await stage.apply(MANIFEST)
        await eventually(lambda: life.is_over or stage.state_of(operation_id).is_final)
    stage.server.on_call = None
    async with stage.provisioner():
        await stage.ends(operation_id)
        await stage.is_clear()
    nodes = await stage.nodes(operation_id)
    assert {node.state for node in nodes.values()} == {NodeState.READY}
    assert set(most.values()) == {1}
    for path in nodes:
        # What is READY is not touched any more; one action at most was begun in vain.
        assert stage.images.calls(path).count("create") <= 2
        assert stage.images.things[path].state is not None


@pytest.mark.parametrize("deeds", range(1, 24, 2))
async def test_a_death_at_any_moment_of_an_uninstallation(stage: Stage, deeds: int) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(MANIFEST))
    life = Life(deeds)
    stage.server.on_call = life.call
    async with stage.provisioner(runtime=MortalRuntime(stage.runtime, life)):
        operation_id = (await stage.operator.uninstall("shop")).id
        await eventually(lambda: life.is_over or stage.state_of(operation_id).is_final)
    stage.server.on_call = None
    async with stage.provisioner():
        await stage.ends(operation_id, State.SUCCEEDED)
        await stage.is_clear()
    assert [stage.images.things[path].state for path in ("disk", "db")] == [None, None]
