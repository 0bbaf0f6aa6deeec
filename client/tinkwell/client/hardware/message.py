"""Machines between protobuf and objects."""

from collections.abc import Mapping
from typing import Any

from tinkwell.api.v1 import (
    hardware_service_pb2,
)
from tinkwell.client import errors
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.value import field, message, shape

# A caller may push a machine that it has read: the fields that only the server sets are accepted, and ignored.
_PUSHED_KEYS = ("id", "version", "metadata", "network", "created_at", "updated_at", "deleted_at")


def to_hardware(data: "Hardware | Mapping[str, Any]") -> hardware_service_pb2.Hardware:
    """Build the message of a push; raises `InvalidField` that names each unknown key and each wrong type."""
    content: Mapping[str, Any] = data.to_json() if isinstance(data, Hardware) else data
    if not isinstance(content, Mapping):
        raise errors.InvalidField.of("", f"hardware must be an object, not {type(content).__name__}")
    if "apiVersion" in content or "kind" in content:
        sentence = "an object of Kubernetes is none of Tinkwell's machines; tinkwell hardware push reads such files"
        raise errors.InvalidField.of("kind", sentence)
    target = hardware_service_pb2.Hardware()
    violations = [message.unknown_key(str(key), key, _PUSHED_KEYS) for key in content if key not in _PUSHED_KEYS]
    violations += message.fill(target, {key: content[key] for key in ("id", "version") if key in content}, "")
    if content.get("network") is not None:
        violations += message.fill(target.network, content["network"], "network")
    try:
        target.metadata = field.to_json_text(content.get("metadata"), "metadata")
    except errors.InvalidField as error:
        violations += error.violations
    if violations:
        raise errors.InvalidField.of_all(violations)
    return target


def hardware(source: hardware_service_pb2.Hardware) -> Hardware:
    """Read a machine."""
    return Hardware(
        id=source.id,
        version=source.version,
        metadata=shape.parse(source.metadata) or {},
        network=message.to_json(source.network),
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
    )
