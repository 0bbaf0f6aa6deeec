"""What becomes of the fields of Tinkerbell's `kind: Hardware`."""

import copy
import uuid
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.hardware import tinkerbell

UUID = "5F0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"


def hardware(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "tinkerbell.org/v1alpha1",
        "kind": "Hardware",
        "metadata": {"name": "node-1", **metadata},
        "spec": spec,
    }


def read(spec: Any, **metadata: Any) -> Any:
    return tinkerbell.read(hardware(spec, **metadata))


WHOLE: dict[str, Any] = {
    "agentID": "52:54:00:00:00:01",
    "auto": {"enrollmentEnabled": True},
    "bmcRef": {"apiGroup": "bmc.tinkerbell.org", "kind": "Machine", "name": "node-1"},
    "disks": [{"device": "/dev/sda"}, {"device": "/dev/nvme0n1"}],
    "interfaces": [
        {
            "disableDhcp": False,
            "dhcp": {
                "arch": "x86_64",
                "hostname": "node-1",
                "ip": {"address": "10.0.0.5", "netmask": "255.255.255.0", "gateway": "10.0.0.1", "family": 4},
                "lease_time": 86400,
                "mac": "52:54:00:00:00:01",
                "name_servers": ["10.0.0.1"],
                "time_servers": ["10.0.0.2"],
                "iface_name": "eno1",
                "uefi": True,
                "domain_name": "lab",
                "vlan_id": "110",
                "tftp_server_name": None,
            },
            "netboot": {
                "allowPXE": True,
                "allowWorkflow": False,
                "ipxe": {"url": "http://x", "contents": "#!ipxe\n", "binary": "ipxe.efi"},
                "osie": {"baseURL": "http://osie", "kernel": "vmlinuz", "initrd": "initrd"},
            },
            "isoboot": {"sourceISO": "http://iso"},
        },
        {"dhcp": {"mac": "52:54:00:00:00:02"}, "netboot": None},
    ],
    "metadata": {
        "facility": {"facility_code": "lab"},
        "instance": {"hostname": "node-1", "storage": {"disks": [{"device": "/dev/sda", "wipe_table": True}]}},
    },
    "references": {"lvm": {"name": "x"}},
    "resources": {"cpu": 4},
    "tinkVersion": 2,
    "userData": "#cloud-config\n",
    "vendorData": "x",
}


def test_every_field_has_its_place() -> None:
    given = hardware(WHOLE, namespace="lab", labels={"role": "worker"}, uid="x", managedFields=[])
    before = copy.deepcopy(given)
    machine: Any = tinkerbell.read(given | {"status": {"state": ""}})
    assert given == before
    dhcp = WHOLE["interfaces"][0]["dhcp"]
    taken = {name: dhcp[name] for name in dhcp if name not in ("domain_name", "vlan_id", "tftp_server_name")}
    netboot = {
        "allow_pxe": True,
        "allow_workflow": False,
        "ipxe": {"url": "http://x", "contents": "#!ipxe\n"},
        "osie": {"base_url": "http://osie", "kernel": "vmlinuz", "initrd": "initrd"},
    }
    assert machine["network"] == {
        "interfaces": [
            {"dhcp": taken, "netboot": netboot},
            {"dhcp": {"mac": "52:54:00:00:00:02"}, "netboot": {}},
        ]
    }
    disks = [{"device": "/dev/sda", "wipe_table": True}, {"device": "/dev/nvme0n1"}]
    left = {
        "disableDhcp": False,
        "dhcp": {"domain_name": "lab", "vlan_id": "110"},
        "netboot": {"ipxe": {"binary": "ipxe.efi"}},
        "isoboot": {"sourceISO": "http://iso"},
    }
    assert machine["metadata"] == {
        "facility": {"facility_code": "lab"},
        "instance": {"hostname": "node-1", "storage": {"disks": disks}},
        "name": "node-1",
        "namespace": "lab",
        "labels": {"role": "worker"},
        **{name: WHOLE[name] for name in ("agentID", "auto", "bmcRef", "references", "resources", "tinkVersion")},
        "userData": "#cloud-config\n",
        "vendorData": "x",
        "interfaces": [left, {}],
    }


@pytest.mark.parametrize(
    ("spec", "metadata"),
    [
        ({}, {"name": "node-1"}),
        (None, {"name": "node-1"}),
        ({"interfaces": None, "disks": None, "metadata": None, "bmcRef": None}, {"name": "node-1"}),
        ({"disks": [{"device": "/dev/sda"}]}, {"instance": {"storage": {"disks": [{"device": "/dev/sda"}]}}}),
        ({"disks": [{}], "metadata": {"instance": None}}, {"instance": {"storage": {"disks": [{}]}}}),
    ],
)
def test_what_is_not_said_is_not_there(spec: Any, metadata: dict[str, Any]) -> None:
    machine = read(spec)
    assert machine["network"] == {"interfaces": []}
    assert machine["metadata"] == {"name": "node-1", **metadata}


def test_the_id_is_the_same_each_time_and_another_one_in_each_namespace() -> None:
    ids = [read({})["id"], read({}, namespace="default")["id"], read({}, namespace="lab")["id"]]
    assert ids[0] == ids[1] != ids[2]
    assert read({}, name="node-2")["id"] != ids[0]
    assert [uuid.UUID(each).version for each in ids] == [5, 5, 5]
    # It is stored, so that it must not change with a release.
    assert ids[0] == str(uuid.uuid5(uuid.UUID("b0b5e7a2-6b0c-4b57-8f5e-1c1d9c6f2a40"), "default/node-1"))


def test_an_id_that_the_file_gives_is_taken() -> None:
    assert read({"id": UUID})["id"] == UUID
    assert read({}, name=UUID)["id"] == UUID.lower()


@pytest.mark.parametrize(
    ("spec", "field", "sentence"),
    [
        ({"interface": []}, "spec.interface", "has no such field; did you mean interfaces?"),
        ({"interfaces": {}}, "spec.interfaces", ""),
        ({"interfaces": {"a": 1}}, "spec.interfaces", "must be a list, and not an object"),
        ({"interfaces": [5]}, "spec.interfaces[0]", "must be an object, and not a number"),
        ({"interfaces": [{"dhcp": {"MAC": "x"}}]}, "spec.interfaces[0].dhcp.MAC", "has no such field"),
        ({"interfaces": [{"netboot": {"allow_pxe": True}}]}, "spec.interfaces[0].netboot.allow_pxe", "mean allowPXE?"),
        ({"interfaces": [{"dhcp": {"ip": "10.0.0.5"}}]}, "spec.interfaces[0].dhcp.ip", "must be an object"),
        (
            {"interfaces": [{"dhcp": {"mac": "$TINKERBELL_CLIENT_MAC"}}]},
            "spec.interfaces[0].dhcp.mac",
            "is the placeholder $TINKERBELL_CLIENT_MAC; fill it in before the file is read, such as with envsubst",
        ),
        ({"disks": "/dev/sda"}, "spec.disks", "must be a list, such as [{device: /dev/sda}], and not a string"),
        ({"disks": [1], "metadata": {"instance": "x"}}, "spec.metadata.instance", "must be an object"),
        ({"metadata": []}, "spec.metadata", "must be an object, and not a list"),
        ([], "spec", "must be an object, and not a list"),
    ],
)
def test_what_is_wrong_is_named_as_the_file_has_it(spec: Any, field: str, sentence: str) -> None:
    if not sentence:
        assert read(spec)["network"] == {"interfaces": []}
        return
    with pytest.raises(errors.InvalidField) as caught:
        read(spec)
    [violation] = caught.value.violations
    assert violation.field == field
    assert sentence in violation.description


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(errors.InvalidField) as caught:
        read({"a": 1, "interfaces": [{"b": 1}, {"dhcp": {"c": 1}}], "disks": 5})
    assert [violation.field for violation in caught.value.violations] == [
        *("spec.a", "spec.interfaces[0].b", "spec.interfaces[1].dhcp.c", "spec.disks")
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("id", "metadata.name"),
        ("network.interfaces[0].dhcp.ip.address", "spec.interfaces[0].dhcp.ip.address"),
        ("network.interfaces[0].netboot.allow_pxe", "spec.interfaces[0].netboot.allowPXE"),
        ("network.interfaces[1].netboot.osie.base_url", "spec.interfaces[1].netboot.osie.baseURL"),
        ("metadata", "spec.metadata"),
        ("metadata.instance.id", "spec.metadata.instance.id"),
        ("metadata.labels.role", "metadata.labels.role"),
        ("metadata.userData", "spec.userData"),
        ("metadata.interfaces[0].isoboot", "spec.interfaces[0].isoboot"),
        ("", ""),
    ],
)
def test_a_path_in_the_machine_is_found_in_the_file(path: str, expected: str) -> None:
    assert tinkerbell.path_of(path) == expected
