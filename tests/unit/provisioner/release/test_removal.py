"""Resources are removed: those that the manifests no longer have, and all of a release that is uninstalled."""

from pathlib import Path

import pytest
from unit.provisioner.release.stage import Stage

from tinkwell.client import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, ResourceStatus

TWO = """
    resources:
      disk: {type: acme/disk:1, config: {size: 3}}
      db: {type: acme/db:1, dependencies: {disk: disk}, config: {on: "{{ disk.state.size }}"}}
"""
NONE = "resources: {}"


async def test_an_uninstallation_destroys_in_reverse_order_with_what_was_known(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        stage.images.journal.clear()
        stage.images.told.clear()
        await stage.ends((await stage.operator.uninstall("shop")).id)
        await stage.is_clear()
        with pytest.raises(errors.NotFound):
            await stage.operator.get("shop")
    assert stage.images.journal == [("db", "destroy"), ("disk", "destroy")]
    assert [(told["config"], told["state"]) for told in stage.images.told] == [
        ({"on": 3}, {"on": 3}),
        ({"size": 3}, {"size": 3}),
    ]


async def test_what_the_manifests_no_longer_have_is_removed_once_all_is_installed(stage: Stage) -> None:
    manifest = "resources: {disk: {type: acme/disk:1, config: {size: 3}}, new: {type: acme/new:1}}"
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        stage.images.journal.clear()
        operation_id = await stage.apply(manifest)
        await stage.ends(operation_id)
    assert stage.images.journal[-1] == ("db", "destroy")
    assert (await stage.nodes(operation_id))["db"].state is NodeState.REMOVED
    assert set(stage.resources()) == {"disk", "new"}


async def test_what_was_there_before_is_left(stage: Stage) -> None:
    stage.images.thing("disk", state={"size": 3})
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        stage.images.journal.clear()
        operation_id = await stage.apply(NONE)
        await stage.ends(operation_id)
    node = (await stage.nodes(operation_id))["disk"]
    assert (node.state, node.message) == (NodeState.LEFT, "left in place: it was there before this release")
    assert stage.images.journal == [("db", "destroy")]
    assert stage.resources()["disk"].status is ResourceStatus.LEFT


async def test_what_its_manifest_keeps_is_left_though_that_manifest_is_an_earlier_one(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply("resources: {disk: {type: acme/disk:1, keep: true}}"))
        operation_id = await stage.apply(NONE)
        await stage.ends(operation_id)
    assert (await stage.nodes(operation_id))["disk"].message == "left in place: the manifest says keep"
    assert "destroy" not in stage.images.calls("disk")


async def test_what_has_no_destroy_action_is_left(stage: Stage) -> None:
    stage.images.thing("disk", answers={"init": '{"state_action": {"args": ["state"]}}'})
    async with stage.provisioner():
        await stage.ends(await stage.apply("resources: {disk: {type: acme/disk:1}}"))
        operation_id = await stage.apply(NONE)
        await stage.ends(operation_id)
    assert (await stage.nodes(operation_id))["disk"].message == "left in place: acme/disk:1 has no destroy action"


async def test_a_resource_that_goes_by_another_name_is_not_destroyed_and_stays_the_release_s_own(stage: Stage) -> None:
    def manifest(name: str) -> str:
        return f"resources: {{{name}: {{type: acme/disk:1, config: {{size: 1.50}}}}}}"

    async with stage.provisioner():
        await stage.ends(await stage.apply(manifest("old")))
        stage.images.thing("new", state=stage.images.things["old"].state)
        operation_id = await stage.apply(manifest("new"))
        await stage.ends(operation_id)
    node = (await stage.nodes(operation_id))["old"]
    assert (node.state, node.message) == (NodeState.LEFT, "left in place: it goes on as new")
    assert stage.images.calls("old").count("destroy") == 0
    assert set(stage.resources()) == {"new"}
    assert stage.resources()["new"].owned


async def test_a_removal_gets_the_plugs_of_the_manifest_that_has_installed_it(stage: Stage, tmp_path: Path) -> None:
    stage.images.thing("disk", init={"plugs": {"own": {"container_path": "/own"}}})
    async with stage.provisioner():
        await stage.ends(await stage.apply("{plugs: {own: {path: data}}, resources: {disk: {type: acme/disk:1}}}"))
        release = await stage.operator.get("shop")
        stage.images.specs.clear()
        await stage.ends((await stage.operator.uninstall("shop")).id)
    ((call, spec),) = stage.images.specs
    assert (call, [mount.target for mount in spec.mounts]) == ("destroy", ["/own"])
    assert not (tmp_path / "releases" / release.id).exists()


async def test_what_is_left_needs_no_plug_any_more_but_what_is_destroyed_does(stage: Stage, tmp_path: Path) -> None:
    manifest = f"{{plugs: {{host: {{path: {tmp_path}}}}}, resources: {{disk: {{type: acme/disk:1, keep: KEEP}}}}}}"
    stage.images.thing("disk", init={"plugs": {"host": {"container_path": "/host"}}})
    for keep, end in (("false", State.FAILED), ("true", State.SUCCEEDED)):
        async with stage.provisioner(grants=[f"host={tmp_path}"]):
            await stage.ends(await stage.apply(manifest.replace("KEEP", keep)))
        async with stage.provisioner():
            operation = await stage.ends((await stage.operator.uninstall("shop")).id, end)
        assert end is State.SUCCEEDED or "VALIDATE: plugs.host" in str(operation.cause)


async def test_files_that_are_left_in_the_folder_of_a_release_outlive_it(stage: Stage, tmp_path: Path) -> None:
    stage.images.thing("disk", init={"plugs": {"own": {"container_path": "/own"}}})
    async with stage.provisioner():
        await stage.ends(await stage.apply("{plugs: {own: {path: data}}, resources: {disk: {type: acme/disk:1}}}"))
        release = await stage.operator.get("shop")
        (tmp_path / "releases" / release.id / "data" / "kept").touch()
        await stage.ends((await stage.operator.uninstall("shop")).id)
    assert (tmp_path / "releases" / release.id / "data" / "kept").exists()


async def test_a_removal_that_fails_fails_the_operation_and_can_be_resumed(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        stage.images.things["db"].exits["destroy"] = 4
        await stage.ends((await stage.operator.uninstall("shop")).id, State.FAILED)
        assert set(stage.resources()) == {"db", "disk"}
        stage.images.things["db"].exits.clear()
        await stage.ends((await stage.operator.resume("shop")).id)
    assert stage.images.calls("disk")[-1] == "destroy"


async def test_a_rollback_brings_back_a_former_revision_by_what_is_stored_of_it(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        await stage.ends(await stage.apply("resources: {disk: {type: acme/disk:1, config: {size: 4}}}"))
        stage.images.journal.clear()
        operation = await stage.ends((await stage.operator.rollback("shop")).id)
    assert operation.revision == 3
    assert stage.resources()["db"].config == {"on": 3}
    assert stage.images.things["disk"].state == {"size": 3}


async def test_an_atomic_installation_that_fails_leaves_nothing(stage: Stage) -> None:
    stage.images.thing("db", exits={"create": 1})
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO, atomic=True), State.FAILED)
        await stage.has_called("disk", "destroy")
        await stage.is_clear()
    assert stage.images.things["disk"].state is None


async def test_an_atomic_upgrade_that_fails_brings_back_what_was_there(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        stage.images.things["db"].exits["create"] = 1
        changed = TWO.replace("size: 3", "size: 4")
        await stage.ends(await stage.apply(changed, atomic=True), State.FAILED)
        stage.images.things["db"].exits.clear()
        await stage.has_called("disk", "create", 3)
        await stage.is_clear()
    assert stage.images.things["disk"].state == {"size": 3}
