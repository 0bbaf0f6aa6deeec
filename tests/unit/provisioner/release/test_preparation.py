"""What cannot be brought about is found before anything changes, and said with the phase and the field."""

from pathlib import Path

import pytest
from unit.provisioner.release.stage import Stage

from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import ReleaseState
from tinkwell.provisioner.release.call import image_policy
from tinkwell.provisioner.runtime import port

ONE = "resources: {disk: {type: acme/disk:1, config: {size: 3}}}"


async def _cause(stage: Stage, operation_id: str) -> str:
    operation = await stage.ends(operation_id, State.FAILED)
    assert operation.cause is not None
    assert operation.cause["reason"] == "PREPARATION_FAILED"
    assert operation.total_nodes == 0
    return str(operation.cause["message"])


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("resources: {a: {type: acme/a:1, config: {x: '{{ nothing }}'}}}", "RENDER: resources.a.config.x"),
        ("resources: {a: {type: acme/a:1, config: {x: '{{ 1 / 0 }}'}}}", "RENDER: resources.a.config.x"),
        ("resources: {a: {type: 'acme/{{ 1 + }}'}}", "RENDER: resources.a.type"),
        (
            "resources: {a: {type: acme/a:1, dependencies: {b: b}}, b: {type: acme/b:1, dependencies: {a: a}}}",
            "VALIDATE: resources: depend on each other in a loop: a → b → a",
        ),
        ("{plugs: {x: {path: /}}, resources: {}}", 'VALIDATE: plugs.x: "/" is not granted here'),
        ("{plugs: {x: {path: ../x}}, resources: {}}", 'VALIDATE: plugs.x.path: "../x" is neither'),
    ],
)
async def test_the_cause_names_phase_and_field(stage: Stage, manifest: str, message: str) -> None:
    async with stage.provisioner():
        assert (await _cause(stage, await stage.apply(manifest))).startswith(message)
    assert stage.images.journal == []


async def test_an_upgrade_that_cannot_be_leaves_the_release_as_it_was(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(ONE))
        await _cause(stage, await stage.apply("resources: {disk: {type: acme/disk:1, config: {size: '{{ no }}'}}}"))
        release = await stage.operator.get("shop")
    assert (release.state, release.revision, release.latest_revision) == (ReleaseState.DEPLOYED, 1, 1)


async def test_an_image_that_is_not_allowed_is_not_even_looked_for(stage: Stage) -> None:
    policy = image_policy.ImagePolicy((image_policy.parse_allowed("good/.*"),))
    async with stage.provisioner(images=policy):
        message = await _cause(stage, await stage.apply(ONE))
    assert message.startswith('VALIDATE: resources.disk.type: the image "acme/disk:1" is not allowed here')


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"init": '{"state_action": {"image": "bad/x:1"}}'}, "state_action.image: the image"),
        (
            {"state": '{"status": "STALE", "actions": [{"name": "go", "image": "bad/x:1"}]}'},
            "actions[0].image: the image",
        ),
    ],
)
async def test_an_image_that_an_answer_names_must_be_allowed_too(
    stage: Stage, answer: dict[str, str], message: str
) -> None:
    policy = image_policy.ImagePolicy((image_policy.parse_allowed("acme/.*"),))
    stage.images.thing("disk", answers=answer)
    async with stage.provisioner(images=policy):
        operation_id = await stage.apply(ONE)
        await stage.ends(operation_id, State.FAILED)
    assert message in (await stage.nodes(operation_id))["disk"].message
    assert {run.spec.image for run in stage.world.runs.values()} == set()


async def test_an_image_that_cannot_be_had_is_found_before_there_is_a_plan(stage: Stage) -> None:
    stage.runtime.failures["acme/disk:1"] = port.RunError(port.Reason.IMAGE, "no such image")
    async with stage.provisioner():
        message = await _cause(stage, await stage.apply(ONE))
    assert message == "VALIDATE: resources.disk.type: no such image"


async def test_what_an_image_has_asked_for_before_is_checked_before_there_is_a_plan(stage: Stage) -> None:
    stage.images.thing("disk", init={"config_schema": {"properties": {"size": {"type": "integer"}}}})
    async with stage.provisioner():
        await stage.ends(await stage.apply(ONE))
        message = await _cause(stage, await stage.apply("resources: {disk: {type: acme/disk:1, config: {size: x}}}"))
    assert message.startswith("VALIDATE: resources.disk.config.size")


async def test_variables_reach_expressions_and_single_ones_replace_those_of_files(stage: Stage) -> None:
    manifest = "resources: {disk: {type: acme/disk:1, config: {size: '{{ size }}', zone: '{{ zone }}'}}}"
    async with stage.provisioner():
        operation_id = await stage.apply(
            manifest, variables={"size": 3}, variable_files={"v.yaml": {"size": 1, "zone": "z{{ size }}"}}
        )
        await stage.ends(operation_id)
    assert stage.resources()["disk"].config == {"size": 3, "zone": "z3"}


async def test_a_plug_is_mounted_as_read_only_as_manifest_image_and_operator_say(stage: Stage, tmp_path: Path) -> None:
    manifest = f"""
        plugs:
          own: {{path: data}}
          host: {{path: {tmp_path}}}
        resources: {{disk: {{type: acme/disk:1}}}}
    """
    plugs = {
        "own": {"container_path": "/own"},
        "host": {"container_path": "/host", "writable": False},
    }
    stage.images.thing("disk", init={"plugs": plugs})
    async with stage.provisioner(grants=[f"host={tmp_path}"]):
        await stage.ends(await stage.apply(manifest))
        release = await stage.operator.get("shop")
    mounted = {call: {mount.target: mount for mount in spec.mounts} for call, spec in stage.images.specs}
    assert mounted["init"] == {}
    assert mounted["state"] == mounted["create"]
    assert mounted["state"] == {
        "/own": port.Mount(source=str(tmp_path / "releases" / release.id / "data"), target="/own"),
        "/host": port.Mount(source=str(tmp_path), target="/host", read_only=True),
    }
    assert ("TINKWELL_PLUG_OWN=/own" in stage.images.specs[1][1].environment, release.engine) == (True, "engine")


async def test_a_plug_that_the_operator_grants_for_reading_cannot_be_written(stage: Stage, tmp_path: Path) -> None:
    manifest = f"{{plugs: {{host: {{path: {tmp_path}}}}}, resources: {{disk: {{type: acme/disk:1}}}}}}"
    stage.images.thing("disk", init={"plugs": {"host": {"container_path": "/host"}}})
    async with stage.provisioner(grants=[f"host={tmp_path}:ro"]):
        operation_id = await stage.apply(manifest)
        await stage.ends(operation_id, State.FAILED)
    assert "is read-only, and write access was asked for" in (await stage.nodes(operation_id))["disk"].message
    assert stage.images.calls("disk") == ["init"]


async def test_a_plug_is_not_for_images_that_the_operator_leaves_out(stage: Stage, tmp_path: Path) -> None:
    manifest = f"{{plugs: {{host: {{path: {tmp_path}}}}}, resources: {{disk: {{type: acme/disk:1}}}}}}"
    stage.images.thing("disk", init={"plugs": {"host": {"container_path": "/host"}}})
    async with stage.provisioner(grants=[f"host={tmp_path},images=other/.*"]):
        operation_id = await stage.apply(manifest)
        await stage.ends(operation_id, State.FAILED)
    assert 'may not be used by the image "acme/disk:1" here' in (await stage.nodes(operation_id))["disk"].message


async def test_an_action_with_a_foreign_image_gets_no_plugs(stage: Stage) -> None:
    manifest = "{plugs: {own: {path: data}}, resources: {disk: {type: acme/disk:1}}}"
    thing = stage.images.thing("disk", init={"plugs": {"own": {"container_path": "/own"}}})
    thing.answers["state"] = '{"status": "STALE", "actions": [{"name": "go", "image": "foreign/x:1"}]}'
    async with stage.provisioner():
        await stage.ends(await stage.apply(manifest), State.FAILED)
    assert [len(spec.mounts) for _, spec in stage.images.specs] == [0, 1, 0, 1]


async def test_an_optional_plug_that_is_not_there_is_done_without_and_told_of(stage: Stage) -> None:
    stage.images.thing("disk", init={"plugs": {"x": {"container_path": "/x", "optional": True}}})
    async with stage.provisioner():
        operation_id = await stage.apply(ONE)
        await stage.ends(operation_id)
    assert "goes without it" in (await stage.nodes(operation_id))["disk"].steps[0].message
