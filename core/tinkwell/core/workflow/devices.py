"""The device map of a workflow, and the references to workers in it."""

from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core import errors
from tinkwell.core.value import document
from tinkwell.core.value import parse as value

MAX_KEY_BYTES = 200


class WorkerKind(StrEnum):
    """How a reference names its worker."""

    MAC = "MAC"
    IP = "IP"
    HARDWARE_ID = "HARDWARE_ID"


@dataclass(frozen=True, slots=True)
class Worker:
    """A reference to a worker in its normal form: a MAC address, an IPv4 or IPv6 address, or a hardware id."""

    kind: WorkerKind
    value: str


def parse_devices(field: str, text: str | bytes) -> document.JsonObject:
    """Parse the device map, a JSON object such as `{"device_1": "52:54:00:10:00:03"}`; its values are any JSON."""
    devices = document.parse_json_object(field, text)
    if "" in devices:
        raise errors.InvalidField.of(field, "has an empty key; name the device, such as device_1")
    for key in devices:
        value.parse_text(value.child(field, key), key, max_bytes=MAX_KEY_BYTES)
    return devices


def parse_worker(field: str, text: str) -> Worker:
    """Parse a reference to a worker: a MAC address, an IP address or a hardware id."""
    parsers = (
        (WorkerKind.MAC, value.parse_mac),
        (WorkerKind.IP, value.parse_ip),
        (WorkerKind.HARDWARE_ID, value.parse_uuid),
    )
    for kind, parse in parsers:
        try:
            return Worker(kind, parse(field, text))
        except errors.InvalidField:
            continue
    raise errors.InvalidField.of(
        field, f"{value.show(text)} is not a worker; give a MAC address, an IP address or a hardware id"
    )
