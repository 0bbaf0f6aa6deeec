"""Files of machines as public projects around Tinkerbell have them: read, or refused with what to do.

Each has the shape of files that are seen in the projects it names; names, addresses and texts are our own.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.command_line import CommandLine


@dataclass(frozen=True)
class File:
    """A file, where its shape is seen, and what comes of it: for each machine its MACs, or a sentence."""

    seen: str
    text: str
    macs: list[list[str]] = field(default_factory=list)
    refused: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    suffix: str = ".yaml"


PLAIN = """\
apiVersion: "tinkerbell.org/v1alpha1"
kind: Hardware
metadata:
  name: press-7
  namespace: print-shop
spec:
  disks:
  - device: /dev/sdb
  interfaces:
  - dhcp:
      arch: aarch64
      hostname: press-7
      ip:
        address: 172.20.7.17
        gateway: 172.20.7.1
        netmask: 255.255.255.128
      lease_time: 43200
      mac: 02:00:5e:10:00:17
      name_servers:
      - 172.20.7.2
      - 172.20.7.3
      uefi: true
    netboot:
      allowPXE: true
      allowWorkflow: true
"""

PLACEHOLDERS = """\
apiVersion: "tinkerbell.org/v1alpha1"
kind: Hardware
metadata:
  name: bench
spec:
  disks:
    - device: $BENCH_DISK
  metadata:
    facility:
      facility_code: bench
    instance:
      hostname: "bench"
      id: "$BENCH_MAC"
  interfaces:
    - dhcp:
        ip:
          address: $BENCH_IP
          netmask: 255.255.255.0
        mac: $BENCH_MAC
        uefi: false
      netboot:
        allowPXE: true
        allowWorkflow: true
"""

GENERATED = """\
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata:
  creationTimestamp: null
  labels:
    type: cp
  name: rack4-u11
  namespace: eksa-system
spec:
  bmcRef:
    apiGroup: null
    kind: Machine
    name: bmc-rack4-u11
  disks:
  - device: /dev/nvme1n1
  interfaces:
  - dhcp:
      arch: x86_64
      hostname: rack4-u11
      ip:
        address: 10.44.0.11
        family: 4
        gateway: 10.44.0.1
        netmask: 255.255.252.0
      lease_time: 4294967294
      mac: "02:00:5e:44:00:0b"
      name_servers:
      - 10.44.0.2
      uefi: true
    netboot:
      allowPXE: true
      allowWorkflow: true
  metadata:
    facility:
      facility_code: onprem
      plan_slug: m4.large
    instance:
      allow_pxe: true
      always_pxe: true
      hostname: rack4-u11
      id: 02:00:5e:44:00:0b
      ips:
      - address: 10.44.0.11
        family: 4
        public: true
      operating_system: {}
status: {}
"""

CONTROLLER = """\
---
apiVersion: bmc.tinkerbell.org/v1alpha1
kind: Machine
metadata:
  name: bmc-rack4-u11
spec:
  connection:
    host: 10.45.0.11
    insecureTLS: true
    authSecretRef:
      name: bmc-rack4-u11-auth
"""

SECRET = """\
---
apiVersion: v1
kind: Secret
metadata:
  name: bmc-rack4-u11-auth
data:
  password: bm90LXRvbGQ=
type: kubernetes.io/basic-auth
"""

FILE_BACKEND = """\
- apiVersion: tinkerbell.org/v1alpha1
  kind: Hardware
  metadata:
    name: vm-a
    namespace: default
  spec:
    interfaces:
    - dhcp:
        mac: "02:00:5e:00:00:0a"
        domain_name: "lab.example"
        time_servers:
        - "192.0.2.9"
        ip:
          address: "192.0.2.10"
          netmask: "255.255.255.0"
      netboot:
        allowPXE: true
        ipxe:
          url: "https://boot.example"
- apiVersion: tinkerbell.org/v1alpha1
  kind: Hardware
  metadata:
    name: vm-b
    namespace: default
  spec:
    interfaces:
    - dhcp:
        mac: "02:00:5e:00:00:0b"
"""

CLOUD_INIT = """\
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata:
  name: greeter
  namespace: lab
spec:
  userData: >-
    #cloud-config

    users:
      - name: operator
    runcmd:
      - systemctl enable --now greeter
  metadata:
    facility:
      facility_code: lab
    instance:
      hostname: greeter
      ips:
        - address: 198.51.100.4
      operating_system:
        distro: debian
        version: "12"
      tags: [blue]
"""

BONDED = """\
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata: {name: store-2}
spec:
  metadata:
    bonding_mode: 4
    instance:
      ips:
        - address: "2001:db8:9::2/64"
          family: 6
  interfaces:
    - dhcp:
        mac: 02:00:5e:09:00:01
        name_servers: ["2001:db8::53"]
    - dhcp:
        mac: 02:00:5e:09:00:02
"""

PRINTED = """\
apiVersion: v1
items:
- apiVersion: tinkerbell.org/v1alpha1
  kind: Hardware
  metadata:
    annotations:
      kubectl.kubernetes.io/last-applied-configuration: |
        {"kind":"Hardware"}
    creationTimestamp: "2025-03-02T10:00:00Z"
    generation: 3
    labels:
      v1alpha1.tinkerbell.org/ownerName: pool-x
    name: pool-1
    namespace: tinkerbell
    resourceVersion: "81234"
    uid: 0d8a5f3e-2b7d-4b53-9a35-6d3a2f8f4c11
  spec:
    interfaces:
    - dhcp: {mac: "02:00:5e:20:00:01", lease_time: 4.294967294e+09}
      netboot: {allowPXE: false}
- apiVersion: tinkerbell.org/v1alpha1
  kind: Hardware
  metadata: {name: pool-2, namespace: tinkerbell}
  spec:
    interfaces:
    - dhcp: {mac: "02:00:5e:20:00:02"}
kind: List
metadata:
  resourceVersion: ""
"""

ISO_AND_ROUTES = """\
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata:
  name: edge-3
spec:
  agentID: 02:00:5e:30:00:03
  auto: {enrollmentEnabled: true}
  interfaces:
    - disableDhcp: false
      dhcp:
        mac: 02:00:5e:30:00:03
        vlan_id: "210"
        classless_static_routes:
          - destination_descriptor: 10.0.0.0/8
            router: 192.0.2.254
        tftp_server_name: 192.0.2.1
        boot_file_name: switch.json
      isoboot:
        sourceISO: http://192.0.2.1/hook.iso
      netboot:
        allowPXE: true
        osie: {baseURL: "http://192.0.2.1/osie", kernel: vmlinuz, initrd: initramfs}
"""

OLD_RESOURCE = """\
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata:
  labels:
    clusterctl.cluster.x-k8s.io/move: "true"
  name: worker-9
spec:
  bmcRef: bmc-worker-9
  id: 3c1f7a52-8b43-4a4d-9c25-1f1f9d3b7a09
status: {}
"""

PUSHED_JSON = """\
{
  "id": "3c1f7a52-8b43-4a4d-9c25-1f1f9d3b7a10",
  "metadata": "{\\"facility\\":{\\"facility_code\\":\\"onprem\\"},\\"instance\\":{},\\"weight\\":1e308}",
  "network": {
    "interfaces": [
      {
        "dhcp": {"arch": "x86_64", "lease_time": "86400", "mac": "02:00:5E:40:00:10", "uefi": false,
                 "ip": {"address": "198.51.100.10", "gateway": "198.51.100.1", "family": "4"}},
        "netboot": {"allow_pxe": true, "allow_workflow": true,
                    "osie": {"base_url": "http://198.51.100.2/osie", "kernel": "vmlinuz", "initrd": "initramfs"}}
      }
    ]
  }
}
"""

TERRAFORM = """\
{
  "id": "${id}",
  "metadata": {"facility": {"facility_code": "${facility}"}, "state": ""},
  "network": {"interfaces": [{"dhcp": {"mac": "${mac}"}, "netboot": {"allow_pxe": true}}]}
}
"""

OLDEST = """\
{"id": "3c1f7a52-8b43-4a4d-9c25-1f1f9d3b7a11", "arch": "x86_64", "allow_pxe": true, "efi_boot": false,
 "network_ports": [{"data": {"mac": "02:00:5e:50:00:11"}}]}
"""

NEXT_VERSION = """\
apiVersion: "tinkerbell.org/v1alpha2"
kind: Hardware
metadata:
  name: next
spec:
  networkInterfaces:
    "02:00:5e:60:00:01":
      dhcp: {hostname: next}
  storageDevices:
    - name: /dev/sda
"""

INVENTORY = """\
hostname,mac,ip_address,netmask,gateway,disk
shelf-1,02:00:5e:70:00:01,192.0.2.71,255.255.255.0,192.0.2.1,/dev/sda
"""

TABBED = """\
apiVersion:\ttinkerbell.org/v1alpha1
kind:\tHardware
metadata:\t{name: tabbed}\t# by hand
spec:
  interfaces:
  - dhcp:\t{mac: "02:00:5e:80:00:01"}
"""

FILES = {
    "concept": File("tinkerbell.org content/docs/concepts/hardware.md", PLAIN, [["02:00:5e:10:00:17"]]),
    "to fill in": File(
        "tinkerbell/playground stack, tinkerbell/tinkerbell-docs docs/hardware-data.md",
        PLACEHOLDERS,
        refused="17:11: spec.interfaces[0].dhcp.ip.address: is the placeholder $BENCH_IP; fill it in before",
    ),
    "generated": File(
        "aws/eks-anywhere hardware manifests, one machine",
        GENERATED,
        [["02:00:5e:44:00:0b"]],
        metadata={"labels": {"type": "cp"}, "bmcRef": {"apiGroup": None, "kind": "Machine", "name": "bmc-rack4-u11"}},
    ),
    "generated, with its controller": File(
        "aws/eks-anywhere hardware.yaml, which has three objects for each machine",
        GENERATED + CONTROLLER + SECRET,
        refused="50:1: kind: is Machine of bmc.tinkerbell.org/v1alpha1; Tinkwell does not manage the controllers",
    ),
    "with a secret": File(
        "aws/eks-anywhere, kubectl apply of all there is",
        GENERATED + SECRET,
        refused="kind: is Secret of v1; Tinkwell has no place for such objects; take it out of the file",
    ),
    "file backend": File(
        "tinkerbell/smee and tinkerbell/tinkerbell pkg/backend/file/testdata/example.yaml",
        FILE_BACKEND,
        [["02:00:5e:00:00:0a"], ["02:00:5e:00:00:0b"]],
        metadata={"interfaces": [{"dhcp": {"domain_name": "lab.example"}}]},
    ),
    "cloud-init": File(
        "tinkerbell/hegel and tootles documentation of cloud-init",
        CLOUD_INIT,
        [[]],
        metadata={"userData": "#cloud-config\nusers:\n  - name: operator\nruncmd:\n  - systemctl enable --now greeter"},
    ),
    "bonded": File(
        "tinkerbell/tinkerbell docs of bonding by NoCloud", BONDED, [["02:00:5e:09:00:01", "02:00:5e:09:00:02"]]
    ),
    "printed": File(
        "kubectl get hardware -o yaml, in issues of tinkerbell/cluster-api-provider-tinkerbell",
        PRINTED,
        [["02:00:5e:20:00:01"], ["02:00:5e:20:00:02"]],
        metadata={"labels": {"v1alpha1.tinkerbell.org/ownerName": "pool-x"}},
    ),
    "iso and routes": File(
        "tinkerbell/tinkerbell docs of ISO boot, users' edge clusters",
        ISO_AND_ROUTES,
        [["02:00:5e:30:00:03"]],
        metadata={"agentID": "02:00:5e:30:00:03", "auto": {"enrollmentEnabled": True}},
    ),
    "first resource": File(
        "aws/eks-anywhere designs, tinkerbell/cluster-api-provider-tinkerbell v0.1",
        OLD_RESOURCE,
        [[]],
        metadata={"bmcRef": "bmc-worker-9"},
    ),
    "pushed": File(
        "tinkerbell/sandbox and tink v0.5 hardware.json, as tink hardware get prints it",
        PUSHED_JSON,
        [["02:00:5e:40:00:10"]],
        metadata={"facility": {"facility_code": "onprem"}, "weight": 1e308},
        suffix=".json",
    ),
    "terraform": File(
        "tinkerbell/tink deploy/terraform, kinvolk/lokomotive hardware_data.tpl",
        TERRAFORM,
        refused="2:3: id: is the placeholder ${id}; fill it in before the file is read, such as with envsubst",
        suffix=".json",
    ),
    "oldest": File(
        "hardware data before tink v0.1, in old walkthroughs",
        OLDEST,
        refused="1:48: arch: unknown key; known keys: created_at, deleted_at, id, metadata, network",
        suffix=".json",
    ),
    "next version": File(
        "tinkerbell/tinkerbell docs/technical/v1alpha2/hardware.yaml",
        NEXT_VERSION,
        refused="1:1: apiVersion: is tinkerbell.org/v1alpha2, of which nothing is read yet; write the hardware as",
    ),
    "inventory": File(
        "aws/eks-anywhere hardware.csv",
        INVENTORY,
        refused="1:1: a machine is an object, not a string; write it as JSON or YAML",
        suffix=".csv",
    ),
    "with tabs": File("hand-written files of users", TABBED, [["02:00:5e:80:00:01"]]),
    "with tabs that indent": File(
        "hand-written files of users",
        TABBED.replace("  -", "\t-"),
        refused="6:1: not YAML: a tab indents this line; write spaces instead",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_as_others_write_it_is_read_or_refused_with_what_to_do(
    cli: CommandLine, tmp_path: Path, name: str
) -> None:
    file = FILES[name]
    path = tmp_path / f"machines{file.suffix}"
    path.write_text(file.text)
    if file.refused:
        told = cli.fails("hardware", "push", str(path))
        assert told.startswith(f"Error: {path}:")
        assert file.refused in told
        assert "bm90LXRvbGQ" not in told
        assert cli.json("hardware", "list") == []
        return
    assert len(cli.ok("hardware", "push", str(path)).splitlines()) == len(file.macs)
    machines = cli.json("hardware", "list")
    interfaces = [machine["network"].get("interfaces", []) for machine in machines]
    assert [[each["dhcp"]["mac"].lower() for each in some] for some in interfaces] == file.macs
    first = next(machine["metadata"] for machine in machines)
    assert {key: first[key] for key in file.metadata} == file.metadata


def test_at_least_ten_files_are_tried_and_some_of_each_outcome() -> None:
    assert len(FILES) >= 10
    assert {bool(file.refused) for file in FILES.values()} == {True, False}


def test_a_file_that_is_pushed_again_changes_nothing(cli: CommandLine) -> None:
    pushed = cli.ok("hardware", "push", stdin=PLAIN)
    assert cli.ok("hardware", "push", stdin=PLAIN) == pushed.replace("revision 1", "unchanged")


def test_what_the_server_refuses_is_told_as_the_file_has_it(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(PLAIN.replace("lease_time: 43200", "lease_time: soon").replace("allowPXE: true", "allowPXE: 1"))
    assert cli.fails("hardware", "push", str(path)).splitlines() == [
        f"Error: {path}:17:7: spec.interfaces[0].dhcp.lease_time: must be a whole number, not a string",
        f"Error: {path}:24:7: spec.interfaces[0].netboot.allowPXE: must be true or false, not a number",
    ]
