"""Files of machines as public projects around Tinkerbell have them: read, or refused with what to do.

Each has the shape of files that are seen in the projects it names; names, addresses and texts are our own.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.command_line import CommandLine
from tinkwell.api.v1 import hardware_service_pb2
from tinkwell.core.hardware import network
from tinkwell.core.value import check, document, parse
from tinkwell.server.hardware.api import message


@dataclass(frozen=True)
class File:
    """A file, where its shape is seen, and what comes of it: for each machine its MACs, or a sentence."""

    seen: str
    macs: list[list[str]] = field(default_factory=list)
    refused: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


FOLDER = Path(__file__).parents[3] / "support" / "tinkerbell_hardware"

FILES = {
    "concept.yaml": File("tinkerbell.org content/docs/concepts/hardware.md", macs=[["02:00:5e:10:00:17"]]),
    "to_fill_in.yaml": File(
        "tinkerbell/playground stack, tinkerbell/tinkerbell-docs docs/hardware-data.md",
        refused="17:11: spec.interfaces[0].dhcp.ip.address: is the placeholder $BENCH_IP; fill it in before",
    ),
    "generated.yaml": File(
        "aws/eks-anywhere hardware manifests, one machine",
        macs=[["02:00:5e:44:00:0b"]],
        metadata={"labels": {"type": "cp"}, "bmcRef": {"apiGroup": None, "kind": "Machine", "name": "bmc-rack4-u11"}},
    ),
    "generated_with_its_controller.yaml": File(
        "aws/eks-anywhere hardware.yaml, which has three objects for each machine",
        refused="50:1: kind: is Machine of bmc.tinkerbell.org/v1alpha1; Tinkwell does not manage the controllers",
    ),
    "with_a_secret.yaml": File(
        "aws/eks-anywhere, kubectl apply of all there is",
        refused="kind: is Secret of v1; Tinkwell has no place for such objects; take it out of the file",
    ),
    "file_backend.yaml": File(
        "tinkerbell/smee and tinkerbell/tinkerbell pkg/backend/file/testdata/example.yaml",
        macs=[["02:00:5e:00:00:0a"], ["02:00:5e:00:00:0b"]],
        metadata={"interfaces": [{"dhcp": {"domain_name": "lab.example"}}]},
    ),
    "cloud_init.yaml": File(
        "tinkerbell/hegel and tootles documentation of cloud-init",
        macs=[[]],
        metadata={"userData": "#cloud-config\nusers:\n  - name: operator\nruncmd:\n  - systemctl enable --now greeter"},
    ),
    "bonded.yaml": File(
        "tinkerbell/tinkerbell docs of bonding by NoCloud", macs=[["02:00:5e:09:00:01", "02:00:5e:09:00:02"]]
    ),
    "printed.yaml": File(
        "kubectl get hardware -o yaml, in issues of tinkerbell/cluster-api-provider-tinkerbell",
        macs=[["02:00:5e:20:00:01"], ["02:00:5e:20:00:02"]],
        metadata={"labels": {"v1alpha1.tinkerbell.org/ownerName": "pool-x"}},
    ),
    "iso_and_routes.yaml": File(
        "tinkerbell/tinkerbell docs of ISO boot and of DHCP options",
        macs=[["02:00:5e:30:00:03"]],
        metadata={"agentID": "02:00:5e:30:00:03", "auto": {"enrollmentEnabled": True}},
    ),
    "first_resource.yaml": File(
        "aws/eks-anywhere designs, tinkerbell/cluster-api-provider-tinkerbell v0.1",
        macs=[[]],
        metadata={"bmcRef": "bmc-worker-9"},
    ),
    "pushed.json": File(
        "tinkerbell/sandbox and tink v0.5 hardware.json, as tink hardware get prints it",
        macs=[["02:00:5e:40:00:10"]],
        metadata={"facility": {"facility_code": "onprem"}, "weight": 1e308},
    ),
    "terraform.json": File(
        "tinkerbell/tink deploy/terraform, kinvolk/lokomotive hardware_data.tpl",
        refused="2:3: id: is the placeholder ${id}; fill it in before the file is read, such as with envsubst",
    ),
    "oldest.json": File(
        "hardware data before tink v0.1, in old walkthroughs",
        refused="1:48: arch: unknown key; known keys: created_at, deleted_at, id, metadata, network",
    ),
    "next_version.yaml": File(
        "tinkerbell/tinkerbell docs/technical/v1alpha2/hardware.yaml",
        refused="1:1: apiVersion: is tinkerbell.org/v1alpha2, which is not supported; write the hardware as",
    ),
    "inventory.csv": File(
        "aws/eks-anywhere hardware.csv", refused="1:1: a machine is an object, not a string; write it as JSON or YAML"
    ),
    "with_tabs.yaml": File("hand-written files of users", macs=[["02:00:5e:80:00:01"]]),
    "with_tabs_that_indent.yaml": File(
        "hand-written files of users", refused="6:1: not YAML: a tab indents this line; write spaces instead"
    ),
}


def check_as_a_server_does(data: hardware_service_pb2.Hardware) -> None:
    checks = check.Checks()
    checks.take(parse.parse_uuid, "id", data.id)
    document.parse_json_object("metadata", data.metadata)
    network.normalise(checks, "network", message.to_network(data.network))
    checks.finish()


@pytest.mark.parametrize("name", FILES)
def test_a_file_as_others_write_it_is_read_or_refused_with_what_to_do(cli: CommandLine, name: str) -> None:
    file, path = FILES[name], FOLDER / name
    if file.refused:
        told = cli.fails("hardware", "push", str(path))
        assert told.startswith(f"Error: {path}:")
        assert file.refused in told
        assert "bm90LXRvbGQ" not in told
        assert cli.json("hardware", "list") == []
        return
    assert len(cli.ok("hardware", "push", str(path)).splitlines()) == len(file.macs)
    for request in cli.do(lambda server: server.requests("Push")):
        check_as_a_server_does(request.data)
    machines = cli.json("hardware", "list")
    interfaces = [machine["network"].get("interfaces", []) for machine in machines]
    assert [[each["dhcp"]["mac"].lower() for each in some] for some in interfaces] == file.macs
    first = next(machine["metadata"] for machine in machines)
    assert {key: first[key] for key in file.metadata} == file.metadata


def test_every_file_is_tried_of_which_some_are_read_and_some_refused() -> None:
    assert sorted(FILES) == sorted(path.name for path in FOLDER.iterdir())
    assert len(FILES) >= 10
    assert {bool(file.refused) for file in FILES.values()} == {True, False}


def test_a_file_that_is_pushed_again_changes_nothing(cli: CommandLine) -> None:
    pushed = cli.ok("hardware", "push", str(FOLDER / "concept.yaml"))
    assert cli.ok("hardware", "push", str(FOLDER / "concept.yaml")) == pushed.replace("revision 1", "unchanged")


def test_what_the_server_refuses_is_told_as_the_file_has_it(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    text = (FOLDER / "concept.yaml").read_text()
    path.write_text(text.replace("lease_time: 43200", "lease_time: soon").replace("allowPXE: true", "allowPXE: 1"))
    assert cli.fails("hardware", "push", str(path)).splitlines() == [
        f"Error: {path}:17:7: spec.interfaces[0].dhcp.lease_time: must be a whole number, not a string",
        f"Error: {path}:24:7: spec.interfaces[0].netboot.allowPXE: must be true or false, not a number",
    ]
