"""The manifests of Deployster's own page as they stand there, with stand-ins for their images, on both runtimes."""

import json
from pathlib import Path
from typing import Any

from e2e.release.conftest import Run

from support.release_stack import Stack
from tinkwell.client import State

ACME = Path(__file__).parents[2] / "support" / "resource_images" / "acme"
IMAGES = {
    "acme/deployster-gcp-disk:latest": ACME / "deployster-gcp-disk",
    "acme/deployster-gcp-vm:latest": ACME / "deployster-gcp-vm",
    "acme/slack-notifier:latest": ACME / "slack-notifier",
}
FIRST = """
resources:

  my_data_disk:
    type: acme/deployster-gcp-disk
    config:
      name: www_data_disk
      size: '200gb'

  www_vm:
    type: acme/deployster-gcp-vm
    dependencies:
      disk: my_data_disk
    config:
      name: www_vm
      machine-type: n1-standard-4
"""
SECOND = """
resources:

  my_data_disk:
    type: acme/deployster-gcp-disk
    config:
      name: www_data_disk
      size: '200gb'

  www_vm:
    type: acme/deployster-gcp-vm
    dependencies:
      disk: my_data_disk
    config:
      name: www_vm
      zone: '{{ www_data_disk.state.zone }}'
      machine-type: n1-standard-4
"""
VM = {"name": "www_vm", "zone": "europe-west1-b", "machine-type": "n1-standard-4"}


def plugs(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The plugs of the stand-ins, in a manifest of their own, and the options that allow them."""
    for name in ("cloud", "account"):
        (folder / name).mkdir()
    (folder / "account" / "key").write_text("a key")
    paths = {"cloud": folder / "cloud", "gcp_service_account_file": folder / "account"}
    options = [text for name, path in paths.items() for text in ("--plug", f"{name}={path}")]
    return {"plugs": {name: {"path": str(path)} for name, path in paths.items()}}, options


def change(folder: Path, machine_type: str) -> None:
    """Change the machine as somebody does who does not know of the release."""
    (folder / "cloud" / "vm.json").write_text(json.dumps({"config": {**VM, "machine-type": machine_type}}))


async def test_a_machine_is_made_after_its_disk_whose_zone_it_gets_by_the_disk_s_own_name(
    run: Run, tmp_path: Path
) -> None:
    plugged, options = plugs(tmp_path)
    async with run(IMAGES, options) as stack:
        installed = await stack.apply("www", [SECOND, plugged])
        assert installed.operation.state is State.SUCCEEDED, installed.operation.cause
        assert list(installed.became.items()) == [("my_data_disk", "changed"), ("www_vm", "changed")]
        assert installed.actions("www_vm") == ["create-vm", "notify-slack"]
        assert await stack.state("www", "www_vm") == VM
        printed = await stack.printed(installed.operation, "www_vm")
        assert printed == ["the machine is made", "slack --room=acme_deployments_channel without a cloud"]
        assert set((await stack.apply("www", [SECOND, plugged])).became.values()) == {"unchanged"}

        change(tmp_path, "n1-standard-1")
        mended = await stack.apply("www", [SECOND, plugged])
        assert mended.became == {"my_data_disk": "unchanged", "www_vm": "changed"}
        (update,) = (step for step in mended.nodes["www_vm"].steps if step.kind == "ACTION")
        assert (update.name, update.description) == ("update-vm-machine-type", "Update VM machine type")
        assert update.args == ("--machine-type=n1-standard-4",)

        gone = await stack.uninstall("www")
        assert gone.became == {"www_vm": "left", "my_data_disk": "left"}
        assert "has no destroy action" in gone.nodes["www_vm"].message


async def test_its_first_manifest_is_ordered_too_and_a_plug_that_is_missing_changes_nothing(
    run: Run, tmp_path: Path
) -> None:
    plugged, options = plugs(tmp_path)
    async with run(IMAGES, options) as stack:
        refused = await stack.apply("www", FIRST)
        assert refused.operation.state is State.FAILED
        assert "gcp_service_account_file" in refused.nodes["www_vm"].message
        assert refused.actions("my_data_disk") == []
        installed = await stack.apply("www", [FIRST, plugged])
        assert installed.nodes["www_vm"].after == ("my_data_disk",)
        await spelled_by_alias_and_by_name(stack, plugged)


async def spelled_by_alias_and_by_name(stack: Stack, plugged: dict[str, Any]) -> None:
    for spelling in ("disk", "my_data_disk"):
        text = SECOND.replace("www_data_disk.state", f"{spelling}.state").replace("standard-4", "standard-8")
        changed = await stack.apply("www", [text, plugged])
        # The stand-in's update changes the machine type alone.
        assert changed.actions("www_vm") == ["update-vm-machine-type"], spelling
        assert "it is still STALE after its actions" in changed.nodes["www_vm"].message
        assert "zone" in changed.nodes["www_vm"].message
