"""Templates of the shapes that public projects have: each is read, or refused with a sentence that says what to do.

The files are written anew; the first line of each tells where its shape is seen.
"""

import pathlib

import pytest

from tinkwell.core import errors
from tinkwell.core.template import frozen, quick, template
from tinkwell.core.value import document

FILES = pathlib.Path(__file__).parent / "public"
MAC = "52:54:00:10:00:03"
INSTANCE: document.JsonObject = {"id": MAC, "ssh_keys": ["ssh-ed25519 AAAA one", "ssh-ed25519 BBBB two"]}
# A machine as today's Tinkerbell gives it to a template, whole.
WHOLE: document.JsonObject = {
    "metadata": {"annotations": {"tinkerbell.org/agent-attributes": '{"blockDevices": [{"name": "nvme0n1"}]}'}},
    "spec": {"agentID": MAC, "disks": [{"device": "/dev/sda"}], "metadata": {"instance": INSTANCE}},
}
REFERENCES: document.JsonObject = {
    "lvm": {"spec": {"group": "g"}},
    "bonding": {"spec": {"members": ["a", "b"]}},
    "registryCert": {"data": {"ca.crt": "LS0tQkVHSU4tLS0KQUFBCi0tLUVORC0tLQo="}},
}
NETWORK: document.JsonObject = {"version": 2, "ethernets": {"eno1": {"dhcp4": True, "addresses": ["10.0.0.2/24"]}}}


def machine(*, arch: str = "x86_64", vlan: str = "") -> document.JsonObject:
    """Describe a machine as Tinkerbell has given it to templates at all times."""
    address: document.JsonObject = {"Address": "10.0.0.2", "Netmask": "255.255.240.0", "Gateway": "10.0.0.1"}
    dhcp: document.JsonObject = {"MAC": MAC, "Arch": arch, "VLANID": vlan, "IP": address}
    dhcp["NameServers"] = ["1.1.1.1", "8.8.8.8"]
    return {"Disks": ["/dev/nvme0n1", "/dev/sdb", "/dev/loop0"], "Interfaces": [{"DHCP": dhcp}]}


def values(**others: document.JsonValue) -> document.JsonObject:
    return {"device_1": MAC, **others}


def facts(rendered: template.Rendered) -> dict[str, str]:
    """Tell what the actions are: their images, commands and environments by `action/image` and so on."""
    found: dict[str, str] = {}
    for action in rendered.actions:
        found[f"{action.name}/image"] = action.image
        found[f"{action.name}/worker"] = action.worker
        found[f"{action.name}/command"] = " ".join(action.command)
        for variable in action.environment:
            name, _, text = variable.partition("=")
            found[f"{action.name}/{name}"] = text
    return found


@pytest.mark.parametrize(
    ("name", "devices", "expected"),
    [
        ("hello", values(), {"hello/worker": MAC, "hello/image": "hello-world"}),
        ("unquoted", values(arch="arm32v7"), {"hello/worker": MAC, "hello/image": "hello-world:arm32v7-latest"}),
        ("osie", values(), {"wipe/MIRROR_HOST": "<MIRROR_HOST_IP>", "partition/MIRROR_HOST": "192.168.1.1"}),
        (
            "targets",
            values(Targets={"machine1": {"mac_addr": "08:00:27:ea:b7:89"}}),
            {"ignition/worker": "08:00:27:ea:b7:89"},
        ),
        (
            "hub",
            values(),
            {
                "stream image/IMG_URL": "http://192.168.1.1:8080/CentOS-8.raw.gz",
                "stream image/COMPRESSED": "true",
                "write netplan/MODE": "0644",
                "write netplan/CONTENTS": "network: {version: 2}",
            },
        ),
        (
            "playground",
            values(Hardware=machine()),
            {
                "stream image/DEST_DISK": "/dev/nvme0n1",
                "grow partition/BLOCK_DEVICE": "/dev/nvme0n1p1",
                "grow partition/CMD_LINE": "growpart /dev/nvme0n1 1 && resize2fs /dev/nvme0n1p1",
                "kexec/IMAGE": "quay.io/tinkerbell/actions/kexec:latest",
                "kexec/command": "",
            },
        ),
        (
            "playground",
            values(Hardware=machine(arch="AARCH64")),
            {"reboot/IMAGE": "alpine:latest", "reboot/command": "sh -c echo b > /proc/sysrq-trigger"},
        ),
        (
            "capi",
            values(Hardware=machine()),
            {
                "create static netplan/DEST_DISK": "/dev/nvme0n1p3",
                "create static netplan/CONTENTS": "network:\n  version: 2\n  ethernets:\n    id0:\n      match:\n"
                "        macaddress: 52:54:00:10:00:03\n      addresses:\n        - 10.0.0.2/20\n      nameservers:\n"
                "        addresses: [1.1.1.1,8.8.8.8]\n",
                "grow/BLOCK_DEVICE": "/dev/nvme0n13",
            },
        ),
        (
            "bottlerocket",
            values(Hardware=machine()),
            {
                "write-bootconfig/DEST_DISK": "/dev/nvme0n1p12",
                "write-bootconfig/BOOTCONFIG_CONTENTS": "kernel {}\n",
                "write-netconfig/CONTENTS": "# Version is required\nversion = 1\n[eno1]\ndhcp4 = true\n",
            },
        ),
        (
            "network-manager",
            values(Hardware=machine()),
            {"write connection/CONTENTS": "[connection]\ntype=ethernet\n\n[ipv4]\ndns=1.1.1.1;8.8.8.8;\n"},
        ),
        (
            "network-manager",
            values(Hardware=machine(vlan="7")),
            {"write connection/CONTENTS": "[connection]\ntype=vlan\n\n[vlan]\nid=7\n\n[ipv4]\ndns=1.1.1.1;8.8.8.8;\n"},
        ),
        (
            "discovery",
            values(hardware_id="7", token="t: {x}", disk="/dev/sda", block_partition=2, mode=""),
            {
                "discover/TOKEN": "t: {x}",
                "discover/BLOCK_DEVICE": "/dev/sda2",
                "discover/ROOT": "/dev/sda1",
                "discover/MODE": "full",
            },
        ),
        (
            "edge",
            values(Hardware=machine(), hostname="edge-1"),
            {
                "grow-partition-install-script/CONTENTS": "#!/bin/bash\n# the disk /dev/nvme0n1\n"
                "growpart /dev/nvme0n1 1\n"
                'if [ "$(hostname)" = "edge-1" ]; then touch "${HOME}/.done"; fi\n'
            },
        ),
        (
            "attributes",
            values(hardware=WHOLE),
            {"stream/worker": MAC, "stream/DEST_DISK": "/dev/nvme0n1", "stream/MEMORY": "unknown"},
        ),
        (
            "flatcar",
            values(hardware=WHOLE),
            {
                "butane/DEVICE": "/dev/sda",
                "butane/BUTANE_CONFIG": "variant: flatcar\npasswd:\n  users:\n    - name: core\n"
                "      ssh_authorized_keys:\n        - ssh-ed25519 AAAA one\n        - ssh-ed25519 BBBB two\n",
                "butane/IGNITION_CONFIG": '{\n  "sshAuthorizedKeys": [\n    "ssh-ed25519 AAAA one",\n'
                '    "ssh-ed25519 BBBB two"\n  ]\n}\n',
            },
        ),
        (
            "certificate",
            values(references=REFERENCES, network=NETWORK),
            {
                "write user-data/CONTENTS": "#cloud-config\nca_certs:\n  trusted:\n    - |\n"
                "      ---BEGIN---\n      AAA\n"
                '      ---END---\nnetwork:\n\n  ethernets:\n    eno1:\n      addresses:\n      - "10.0.0.2/24"\n'
                "      dhcp4: true\n  version: 2\nfinal_message: done\n"
            },
        ),
        (
            "wiping",
            values(Hardware=machine()),
            {
                "wipe /dev/nvme0n1/command": "wipefs -a /dev/nvme0n1",
                "wipe /dev/sdb/command": "wipefs -a /dev/sdb",
                "wipe /dev/sdb/HOSTNAME": "node-52-54-00-10-00-03",
            },
        ),
    ],
)
def test_a_template_is_stored_and_rendered(name: str, devices: document.JsonObject, expected: dict[str, str]) -> None:
    text = (FILES / f"{name}.yaml").read_text()
    template.parse_template(text)
    found = facts(template.render(text, devices))
    assert {key: found.get(key) for key in expected} == expected
    assert not any("loop" in key for key in found)


@pytest.mark.parametrize(
    ("name", "field", "problem"),
    [
        ("nameless", "data.name", "line 1, column 1: must not be empty"),
        ("tabs", "data", "line 6, column 1: a tab indents this line; write spaces instead (not YAML)"),
        ("cidr", "data", 'the function "netmaskToCIDR" is not defined; did you mean netmaskToPrefixLength?'),
        ("jinja", "data", "write .ds for a value, and {{`{{`}} for two braces that belong to the text"),
        (
            "services",
            "data",
            'line 6, column 15: the function "provisioner1" is not defined; write .provisioner1 for a value',
        ),
        ("helm", "data", 'the function "include" is not defined; write what a definition makes with {{template}}'),
        (
            "command",
            "data.tasks[0].actions[0].command",
            "a value is always one text, so write the items with {{range}}",
        ),
        ("versioned", "data.version", 'is "3.0"; it must be "0.1"'),
        ("secret", "data.tasks[0].actions[0].env", "the key is not known; did you mean environment?"),
    ],
)
def test_a_template_that_cannot_be_stored_is_refused_with_what_to_do(name: str, field: str, problem: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        template.parse_template((FILES / f"{name}.yaml").read_text())
    first = refused.value.violations[0]
    assert first.field == field
    assert problem in first.description


@pytest.mark.parametrize(
    ("name", "devices", "field", "problem"),
    [
        (
            "playground",
            values(),
            "hardware.Hardware",
            'map has no entry for key "Hardware"; give it a value when the workflow is created',
        ),
        (
            "references",
            values(references=REFERENCES, worker_id=MAC),
            "hardware.references.bonding.spec.members",
            "the value is a list, which is not printed; range writes its items, and toJson makes text of it",
        ),
    ],
)
def test_values_that_do_not_fit_are_refused_with_what_to_do(
    name: str, devices: document.JsonObject, field: str, problem: str
) -> None:
    text = (FILES / f"{name}.yaml").read_text()
    template.parse_template(text)
    with pytest.raises(errors.InvalidField) as refused:
        template.render(text, devices)
    assert refused.value.violations[0].field == field
    assert problem in refused.value.violations[0].description


def test_no_file_is_left_out() -> None:
    source = pathlib.Path(__file__).read_text()
    assert [path.stem for path in FILES.iterdir() if f'"{path.stem}"' not in source] == []


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("capi", values(Hardware=machine())),
        ("certificate", values(references=REFERENCES, network=NETWORK)),
        ("discovery", values(hardware_id="7", token="t", disk="/dev/sda", block_partition=2, mode="")),
        ("targets", values(Targets={"machine1": {"mac_addr": MAC}})),
    ],
)
def test_what_is_rendered_at_once_is_the_same(name: str, devices: document.JsonObject) -> None:
    text = (FILES / f"{name}.yaml").read_text()
    known = quick.QuickTemplates()
    lesson = quick.find_lesson(text)
    assert lesson is not None
    known.learn(text, lesson)
    found = known.render(text, devices, field="template", devices_field="hardware")
    assert found == frozen.Frozen.of(template.render(text, devices))
