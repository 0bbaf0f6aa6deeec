"""Resources are installed: what their images are told, what they may answer, and what comes of that."""

import json

import pytest
from unit.provisioner.release.stage import Stage

from support.patient_loop import HastyLoop
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, ResourceStatus, StepKind

LOOP = HastyLoop
ONE = "resources: {disk: {type: acme/disk:1, config: {size: 3}}}"
TWO = """
    resources:
      disk: {type: acme/disk:1, config: {size: 3}}
      db: {type: acme/db:1, dependencies: {disk: disk}, config: {on: "{{ disk.state.size }}"}}
"""


async def test_resources_are_installed_in_order_and_what_one_says_of_itself_reaches_the_next(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        await stage.is_clear()
    assert sorted(stage.images.journal[:2]) == [("db", "init"), ("disk", "init")]
    assert stage.images.journal[2:] == [
        *[("disk", "state"), ("disk", "create"), ("disk", "state")],
        *[("db", "state"), ("db", "create"), ("db", "state")],
    ]
    known = stage.resources()["db"]
    assert (known.config, known.state, known.status, known.owned) == ({"on": 3}, {"on": 3}, ResourceStatus.VALID, True)


async def test_images_are_told_what_the_protocol_says(stage: Stage) -> None:
    stage.images.thing("disk", state={"size": 1})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE, verbose=True)
        await stage.ends(operation_id)
    common = {
        "name": "disk",
        "type": "acme/disk:1",
        "version": "18.0.0",
        "verbose": True,
        "workspace": "/workspace",
        "protocol": 1,
        "release": "shop",
        "operation_id": operation_id,
    }
    config = {"config": {"size": 3}}
    assert stage.images.told == [
        {"call": "init", **common},
        {"call": "state", **common, **config},
        {"call": "create", **common, **config, "staleState": {"size": 1}},
        {"call": "state", **common, **config},
    ]


async def test_an_unchanged_release_asks_for_states_alone(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        stage.images.journal.clear()
        operation = await stage.ends(await stage.apply(TWO))
    assert stage.images.journal == [("disk", "state"), ("db", "state")]
    assert (operation.revision, operation.changed_nodes) == (1, 0)


async def test_another_image_under_the_same_name_is_asked_for_its_init_anew(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        stage.images.journal.clear()
        stage.runtime.image_ids["acme/disk:1"] = "another"
        await stage.ends(await stage.apply(TWO))
    assert stage.images.journal == [("disk", "init"), ("disk", "state"), ("db", "state")]
    assert stage.resources()["disk"].image_id == "another"


async def test_a_failing_action_ends_the_operation_and_lets_nothing_more_begin(stage: Stage) -> None:
    stage.images.thing("disk", actions=("one", "two", "three"), exits={"two": 7})
    async with stage.provisioner():
        operation = await stage.ends(await stage.apply(TWO), State.FAILED)
        await stage.is_clear()
    assert stage.images.calls("disk") == ["init", "state", "one", "two"]
    assert stage.images.calls("db") == ["init"]
    assert operation.cause is not None
    assert operation.cause["path"] == "disk"
    assert "action two FAILED (exit 7)" in operation.cause["message"]


async def test_a_resource_that_is_stale_after_its_actions_has_failed_with_what_differs(stage: Stage) -> None:
    stage.images.thing("disk", state={"size": 1}, is_stubborn=True)
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.ends(operation_id, State.FAILED)
    node = (await stage.nodes(operation_id))["disk"]
    assert node.state is NodeState.FAILED
    assert "still STALE after its actions: they changed nothing of its state" in node.message
    assert "differs from its config at size" in node.message


async def test_what_is_readonly_is_not_changed(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply("resources: {disk: {type: acme/disk:1, readonly: true}}")
        await stage.ends(operation_id, State.FAILED)
    assert stage.images.calls("disk") == ["init", "state"]
    assert "readonly" in (await stage.nodes(operation_id))["disk"].message


@pytest.mark.parametrize(
    ("call", "answer", "message"),
    [
        ("init", "hello", "init breaks the protocol: its standard output must be one JSON object"),
        ("init", "{}", "init breaks the protocol: state_action: must be given"),
        ("state", '{"status": "VALID"}', "state breaks the protocol: state: must be given"),
        ("state", '{"status": "STALE", "actions": []}', "state breaks the protocol: actions: must have at least one"),
        ("state", '{"status": "VALID", "state": {}} {}', "something follows the JSON document"),
        ("state", " " * 2_000_000, "it answers with more than 1,048,576 bytes"),
    ],
)
async def test_an_answer_that_breaks_the_protocol_fails_the_call_by_the_rule(
    stage: Stage, call: str, answer: str, message: str
) -> None:
    stage.images.thing("disk", answers={call: answer})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.ends(operation_id, State.FAILED)
        await stage.is_clear()
    node = (await stage.nodes(operation_id))["disk"]
    assert message in node.message
    assert "create" not in stage.images.calls("disk")


async def test_more_actions_than_can_be_told_of_at_once_are_refused(stage: Stage) -> None:
    stage.images.thing("disk", actions=[f"a{number}" for number in range(401)])
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.ends(operation_id, State.FAILED)
    assert "lists 401 actions; at most 400 are allowed" in (await stage.nodes(operation_id))["disk"].message


async def test_a_config_is_held_to_its_schema_before_anything_changes(stage: Stage) -> None:
    schema = {"properties": {"size": {"type": "string"}}}
    stage.images.thing("disk", init={"config_schema": schema})
    manifest = """
        resources:
          disk: {type: acme/disk:1, config: {size: 3}}
          other: {type: acme/other:1}
    """
    async with stage.provisioner():
        operation_id = await stage.apply(manifest)
        await stage.ends(operation_id, State.FAILED)
    assert stage.images.calls("other") == ["init"]
    message = (await stage.nodes(operation_id))["disk"].message
    assert message.startswith("its config is not what acme/disk:1 takes: resources.disk.config.size: ")


async def test_a_config_that_is_known_late_is_held_to_its_schema_before_the_first_state(stage: Stage) -> None:
    stage.images.thing("db", init={"config_schema": {"properties": {"on": {"type": "string"}}}})
    async with stage.provisioner():
        operation_id = await stage.apply(TWO)
        await stage.ends(operation_id, State.FAILED)
    assert stage.images.calls("db") == ["init"]
    message = (await stage.nodes(operation_id))["db"].message
    assert message.startswith("its config is not what acme/db:1 takes: resources.db.config.on: ")


async def test_a_schema_that_is_none_is_the_fault_of_the_init(stage: Stage) -> None:
    stage.images.thing("disk", init={"config_schema": {"type": 7}})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.ends(operation_id, State.FAILED)
    message = (await stage.nodes(operation_id))["disk"].message
    assert message.startswith("init FAILED: config_schema: is no JSON Schema")


async def test_an_expression_that_a_state_does_not_bear_fails_its_resource_by_its_path(stage: Stage) -> None:
    manifest = """
        resources:
          disk: {type: acme/disk:1, config: {size: 3}}
          db: {type: acme/db:1, dependencies: {disk: disk}, config: {on: "{{ disk.state.zone }}"}}
    """
    async with stage.provisioner():
        operation_id = await stage.apply(manifest)
        await stage.ends(operation_id, State.FAILED)
    message = (await stage.nodes(operation_id))["db"].message
    assert "resources.db.config.on" in message
    assert "zone" in message


async def test_names_that_for_each_made_reach_expressions_by_their_keys(stage: Stage) -> None:
    manifest = """
        resources:
          disk: {type: acme/disk:1, for_each: {a: 1, b: 2}, config: {zone: "{{ each.key }}"}}
          db:
            type: acme/db:1
            dependencies: {disks: disk}
            config: {zones: "{{ disks.a.state.zone }}{{ disks.b.state.zone }}"}
    """
    async with stage.provisioner():
        await stage.ends(await stage.apply(manifest))
    assert stage.resources()["db"].config == {"zones": "ab"}


async def test_an_action_is_tried_again_as_the_image_says(stage: Stage) -> None:
    thing = stage.images.thing("disk", exits={"create": 3})
    thing.init = {"tinkwell": {"protocol": 1, "retry": {"attempts": 2, "delay_seconds": 0}}}
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.ends(operation_id, State.FAILED)
        await stage.is_clear()
    assert stage.images.calls("disk") == ["init", "state", "create", "create"]
    (action,) = (s for s in (await stage.nodes(operation_id))["disk"].steps if s.kind is StepKind.ACTION)
    assert (action.attempt, action.exit_code, action.state) == (2, 3, State.FAILED)


async def test_a_resource_is_asked_until_it_is_ready(stage: Stage) -> None:
    thing = stage.images.thing("disk", is_stubborn=True)
    thing.init = {"tinkwell": {"protocol": 1, "readiness": {"poll_seconds": 1}}}
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.has_called("disk", "state", 2)
        thing.state = {"size": 3}
        await stage.ends(operation_id)
    assert stage.images.calls("disk") == ["init", "state", "create", "state", "state"]


async def test_independent_resources_go_on_at_once_but_no_more_than_there_are_places(stage: Stage) -> None:
    names = [f"r{number}" for number in range(6)]
    manifest = json.dumps({"resources": {name: {"type": f"acme/{name}:1"} for name in names}})
    async with stage.provisioner(concurrency=2):
        await stage.ends(await stage.apply(manifest))
    assert stage.world.peak == 2


async def test_one_operation_works_on_as_many_resources_at_once_as_it_was_told(stage: Stage) -> None:
    names = [f"r{number}" for number in range(6)]
    manifest = json.dumps({"resources": {name: {"type": f"acme/{name}:1"} for name in names}})
    async with stage.provisioner():
        await stage.ends(await stage.apply(manifest, parallel=3))
    assert stage.world.peak == 3


async def test_what_containers_print_is_kept_before_their_end_is_told(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.ends(operation_id)
    lines = [line async for line in stage.operator.logs(operation_id)]
    assert [line.text for line in lines] == ["init of disk", "state of disk", "create of disk", "state of disk"]
    assert {line.path for line in lines} == {"disk"}


async def test_what_is_begun_goes_on_after_a_failure_beside_it_and_with_continue_what_does_not_depend_on_it(
    stage: Stage,
) -> None:
    manifest = """
        resources:
          bad: {type: acme/bad:1}
          after: {type: acme/after:1, dependencies: {bad: bad}}
          good: {type: acme/good:1}
          last: {type: acme/last:1, dependencies: {good: good}}
    """
    stage.images.thing("bad", exits={"state": 1})
    async with stage.provisioner():
        operation_id = await stage.apply(manifest, on_failure="continue")
        operation = await stage.ends(operation_id, State.FAILED)
    states = {path: node.state for path, node in (await stage.nodes(operation_id)).items()}
    assert states == {
        "bad": NodeState.FAILED,
        "after": NodeState.SKIPPED,
        "good": NodeState.READY,
        "last": NodeState.READY,
    }
    assert (operation.changed_nodes, operation.failed_nodes, operation.skipped_nodes) == (2, 1, 1)
