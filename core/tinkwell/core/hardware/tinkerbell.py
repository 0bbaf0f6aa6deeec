"""Reads machines from Tinkerbell's objects of `kind: Hardware` into Tinkwell's form.

Fields that Tinkwell's network has go there; all other fields of `spec` stay in the metadata, for the programs of their
author. A field that Tinkerbell does not know is refused, because it would have no effect.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core import errors
from tinkwell.core.value import check, closed_object, document, kubernetes, parse
from tinkwell.core.value.document import JsonObject, JsonValue

# Ids of machines without a given id are made from namespace and name below this UUID, always the same.
_NAMESPACE = uuid.UUID("b0b5e7a2-6b0c-4b57-8f5e-1c1d9c6f2a40")


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields of an object: those that Tinkwell has, with their names there, and the others."""

    taken: Mapping[str, "str | tuple[str, _Shape]"]
    kept: frozenset[str] = field(default_factory=frozenset)


def _same(*names: str) -> dict[str, "str | tuple[str, _Shape]"]:
    return {name: name for name in names}


_DHCP = _Shape(
    {
        **_same("mac", "hostname", "lease_time", "name_servers", "time_servers", "arch", "uefi", "iface_name"),
        "ip": ("ip", _Shape(_same("address", "netmask", "gateway", "family"))),
    },
    frozenset({"domain_name", "vlan_id", "classless_static_routes", "tftp_server_name", "boot_file_name"}),
)
_NETBOOT = _Shape(
    {
        "allowPXE": "allow_pxe",
        "allowWorkflow": "allow_workflow",
        "ipxe": ("ipxe", _Shape(_same("url", "contents"), frozenset({"binary"}))),
        "osie": ("osie", _Shape({"baseURL": "base_url", **_same("kernel", "initrd")})),
    }
)
_INTERFACE = _Shape({"dhcp": ("dhcp", _DHCP), "netboot": ("netboot", _NETBOOT)}, frozenset({"disableDhcp", "isoboot"}))
_KEPT_OF_SPEC = ("agentID", "auto", "bmcRef", "references", "resources", "tinkVersion", "userData", "vendorData")
_SPEC = ("id", "interfaces", "metadata", "disks", *_KEPT_OF_SPEC)

_RENAMED = {"allow_pxe": "allowPXE", "allow_workflow": "allowWorkflow", "base_url": "baseURL"}
_RENAMED_PART = re.compile(rf"\b(?:{'|'.join(_RENAMED)})\b")
_OF_METADATA = re.compile(r"metadata\.(name|namespace|labels)\b")
_OF_SPEC = re.compile(rf"metadata\.({'|'.join((*_KEPT_OF_SPEC, 'interfaces'))})\b")


def read(value: JsonObject) -> JsonObject:
    """Read an object of `kind: Hardware` as a machine of Tinkwell: `id`, `metadata` and `network`.

    Raises `errors.InvalidField` with all faults, by their paths in the object. Addresses are checked later, when the
    machine is stored.
    """
    kubernetes.check_kind(value, "Hardware")
    checks = check.Checks()
    spec = kubernetes.part(value, "spec")
    _refuse_unknown(checks, "spec", spec, _SPEC)
    interfaces, left = _interfaces(checks, spec.get("interfaces"))
    metadata = _metadata(checks, value, spec)
    if any(left):
        metadata["interfaces"] = left
    machine: JsonObject = {"id": _id(value, spec), "metadata": metadata, "network": {"interfaces": interfaces}}
    checks.finish()
    return machine


def path_of(path: str) -> str:
    """Return the path in the object of a part of the machine that was read from it."""
    if path == "id":
        return "metadata.name"
    if path.startswith("network."):
        return _RENAMED_PART.sub(lambda found: _RENAMED[found[0]], f"spec.{path.removeprefix('network.')}")
    if _OF_METADATA.match(path):
        return path
    if found := _OF_SPEC.match(path):
        return f"spec.{path[found.start(1) :]}"
    return f"spec.{path}" if path.startswith("metadata") else path


def _id(value: JsonObject, spec: JsonObject) -> JsonValue:
    """Return the id: `spec.id`, which older files have, a name that is a UUID, or one made from the name."""
    if spec.get("id") is not None:
        return spec["id"]
    name = kubernetes.name_of(value)
    try:
        return parse.parse_uuid("", name)
    except errors.InvalidField:
        namespace = kubernetes.part(value, "metadata").get("namespace") or "default"
        return str(uuid.uuid5(_NAMESPACE, f"{namespace}/{name}"))


def _metadata(checks: check.Checks, value: JsonObject, spec: JsonObject) -> JsonObject:
    """Return the metadata of the machine: `spec.metadata`, what is known of the object, and the rest of `spec`."""
    metadata = dict(kubernetes.part(value, "spec.metadata"))
    of_object = kubernetes.part(value, "metadata")
    metadata |= {name: of_object[name] for name in ("name", "namespace", "labels") if of_object.get(name)}
    metadata |= {name: spec[name] for name in _KEPT_OF_SPEC if spec.get(name) is not None}
    _add_disks(checks, metadata, spec.get("disks"))
    return metadata


def _add_disks(checks: check.Checks, metadata: JsonObject, disks: JsonValue) -> None:
    """Add the disks of `spec` to those that the metadata describes, `instance.storage.disks`."""
    if not disks:
        return
    if not isinstance(disks, list):
        checks.refuse(
            "spec.disks", f"must be a list, such as [{{device: /dev/sda}}], and not {document.describe(disks)}"
        )
        return
    for index, disk in enumerate(disks):
        if isinstance(disk, dict):
            _refuse_placeholder(checks, f"spec.disks[{index}].device", disk.get("device"))
    holder = metadata
    for name in ("instance", "storage"):
        inner = holder.get(name) or {}
        if not isinstance(inner, dict):
            checks.refuse(f"spec.metadata.{name}", f"must be an object, and not {document.describe(inner)}")
            return
        # The metadata belongs to the object that is read, which must not change.
        holder[name] = holder = dict(inner)
    described = holder.get("disks") or []
    if isinstance(described, list):
        devices = [disk.get("device") for disk in described if isinstance(disk, dict)]
        new = [disk for disk in disks if not isinstance(disk, dict) or disk.get("device") not in devices]
        holder["disks"] = [*described, *new]


def _interfaces(checks: check.Checks, interfaces: JsonValue) -> tuple[list[JsonValue], list[JsonValue]]:
    """Return the interfaces of the network, and for each the fields that the network does not have."""
    taken: list[JsonValue] = []
    left: list[JsonValue] = []
    if not isinstance(interfaces or [], list):
        checks.refuse("spec.interfaces", f"must be a list, and not {document.describe(interfaces)}")
    elif isinstance(interfaces, list):
        for index, interface in enumerate(interfaces):
            mine, others = _split(checks, parse.child("spec.interfaces", index), interface, _INTERFACE)
            taken.append(mine)
            left.append(others)
    return taken, left


def _split(checks: check.Checks, path: str, value: JsonValue, shape: _Shape) -> tuple[JsonObject, JsonObject]:
    """Split an object into the fields that Tinkwell has and the others."""
    if not isinstance(value or {}, dict):
        checks.refuse(path, f"must be an object, and not {document.describe(value)}")
    if not isinstance(value, dict):
        return {}, {}
    _refuse_unknown(checks, path, value, (*shape.taken, *shape.kept))
    taken: JsonObject = {}
    left: JsonObject = {}
    for name, item in value.items():
        match shape.taken.get(name):
            case str(place):
                _refuse_placeholder(checks, parse.child(path, name), item)
                taken[place] = item
            case (place, inner):
                taken[place], others = _split(checks, parse.child(path, name), item, inner)
                left |= {name: others} if others else {}
            case None if name in shape.kept and item is not None:
                left[name] = item
    return taken, left


def _refuse_unknown(checks: check.Checks, path: str, value: JsonObject, known: tuple[str, ...]) -> None:
    for name in value:
        if name not in known:
            here = _RENAMED.get(name)
            hint = f"did you mean {here}?" if here in known else closed_object.nearest(name, known)
            checks.refuse(parse.child(path, name), f"Tinkerbell's Hardware has no such field; {hint}")


def _refuse_placeholder(checks: check.Checks, path: str, value: JsonValue) -> None:
    if isinstance(value, str) and (found := kubernetes.placeholder(value)):
        checks.refuse(path, found)
