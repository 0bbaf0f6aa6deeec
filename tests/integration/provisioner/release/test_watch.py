"""What `release watch` tells from the first revision on, and the plans, are all that is known of nodes."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import asyncpg

from support import process
from support.release_stage import Stage
from tinkwell.client import Node, Step
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.kinds import NodeKind, StepKind
from tinkwell.core.release.plan import Plan


async def test_events_from_the_first_revision_with_the_plans_tell_the_state_of_every_node(
    stage: Stage, database_url: str, tmp_path: Path
) -> None:
    releases = stage.client.releases
    second = stage.thing("b") | {"dependencies": {"a": "first"}}
    third = stage.thing("c", fails=["write-1"])
    async with stage.provisioner():
        await stage.ends(await stage.apply(first=stage.thing("a"), second=second, third=stage.thing("c")))
        # One is changed, one is new, and one is removed.
        await stage.ends(await stage.apply(first=stage.thing("a", "two"), second=second, fourth=stage.thing("d")))
        await stage.ends(await stage.apply("gone", only=stage.thing("e")))
        await stage.ends((await releases.uninstall("gone")).id)
        failing = stage.apply("bad", third=third, last=stage.thing("f") | {"dependencies": {"c": "third"}})
        await stage.ends(await failing, State.FAILED)
        late = {
            "first": stage.thing("g", waits=["write-1"]),
            "last": stage.thing("h") | {"dependencies": {"g": "first"}},
        }
        await stage.apply("half", **late)
        await stage.has_begun("g", "write-1")
        connection = await asyncpg.connect(database_url)
        rows = await connection.fetch("SELECT id::text, plan::text FROM operation")
        count = await connection.fetchval("SELECT count(*) FROM events")
        await connection.close()
        told = await _watched(stage.address, count, tmp_path / "events.jsonl")
        found = {operation_id: [node async for node in releases.nodes(operation_id)] for operation_id, _ in rows}
    for operation_id, plan in rows:
        assert _rebuilt(operation_id, Plan.load(plan), told) == [
            _comparable(node, told) for node in found[operation_id]
        ]
    steps = [step for nodes in found.values() for node in nodes for step in node.steps]
    with_effects = [step for step in steps if step.kind.has_effects and step.attempt]
    assert {step.kind for step in with_effects} == {StepKind.ACTION, StepKind.DESTROY}
    assert [told[step.id] for step in with_effects] == [dataclasses.replace(step, args=None) for step in with_effects]


async def _watched(address: str, count: int, log: Path) -> Mapping[str, Node | Step]:
    """Return nodes and steps, by their ids, as the last event about each of them tells."""
    arguments = ("release", "watch", "--from-revision", "1", "--count", str(count), "--output", "jsonl")
    async with process.running(*arguments, log=log, environment={"TINKWELL_SERVER": address}) as command:
        assert await command.wait() == 0
        lines = command.output.splitlines()
    told: dict[str, Node | Step] = {}
    last = 0
    for line in lines:
        event = json.loads(line)
        assert event["revision"] > last
        last = event["revision"]
        kinds: Mapping[str, type[Node] | type[Step]] = {ResourceType.NODE: Node, ResourceType.STEP: Step}
        if event["resource_type"] in kinds and event["event_type"] != EventType.DELETED:
            told[event["resource_id"]] = kinds[event["resource_type"]].from_json(event["data"])
    return told


def _rebuilt(operation_id: str, plan: Plan, told: Mapping[str, Node | Step]) -> list[Node]:
    """Return the nodes of a plan: as it has them where no event tells of them."""
    by_path = {
        node.path: node for node in told.values() if isinstance(node, Node) and node.operation_id == operation_id
    }
    return [
        by_path.get(node.path)
        or Node(
            id="",
            operation_id=operation_id,
            path=node.path,
            kind=NodeKind(node.kind),
            task=node.task,
            ordinal=ordinal,
            batch=node.batch,
        )
        for ordinal, node in enumerate(plan.nodes)
    ]


def _comparable(node: Node, told: Mapping[str, Node | Step]) -> Node:
    """Return a node as events can tell it: without its steps, and without what the insertion of a plan makes up."""
    bare = dataclasses.replace(node, steps=(), after=())
    if node.id in told:
        return bare
    return dataclasses.replace(bare, id="", release_id="", version=0, created_at=None, updated_at=None)
