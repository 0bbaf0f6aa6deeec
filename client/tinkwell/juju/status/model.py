"""Describes a whole model as `status` shows it, with its machines and storage."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tinkwell.juju.shell import controller, machine, moment
from tinkwell.juju.status import application
from tinkwell.juju.status import unit as units
from tinkwell.juju.status.snapshot import Snapshot
from tinkwell.juju.storage import shape

if TYPE_CHECKING:
    from tinkwell.client import Hardware


def describe(namespace: str, snapshot: Snapshot) -> dict[str, Any]:
    """Describe a model as `status` does."""
    since = moment.juju(snapshot.model.created_at) if snapshot.model is not None else ""
    return {
        "model": {
            "name": namespace,
            "type": "iaas",
            "controller": controller.NAME,
            "cloud": controller.CLOUD,
            "version": controller.VERSION,
            "model-status": units.status("available", "", since=since),
        },
        "machines": {name: _machine(name, each, snapshot) for name, each in snapshot.machines.items()},
        "applications": {each.name: application.describe(each, snapshot) for each in snapshot.applications},
        "storage": _storage(snapshot),
        "controller": {"timestamp": datetime.now(UTC).strftime("%H:%M:%SZ")},
    }


def _machine(name: str, found: "Hardware", snapshot: Snapshot) -> dict[str, Any]:
    since = moment.juju(found.updated_at)
    has_agent = any(each.has_agent for each in snapshot.units if each.machine == found.id)
    addresses = machine.addresses(found)
    return {
        "juju-status": units.status("started" if has_agent else "down", "", since=since)
        | {"version": controller.VERSION},
        "hostname": name,
        "dns-name": addresses[0] if addresses else "",
        "ip-addresses": addresses,
        "instance-id": found.id,
        "machine-status": units.status("running", "", since=since),
        "modification-status": units.status("idle", "", since=since),
    }


def _storage(snapshot: Snapshot) -> dict[str, Any]:
    names = {each.name for each in snapshot.units}
    machines = {each.id: name for name, each in snapshot.machines.items()}
    return shape.combined((each for each in snapshot.storages if not each.unit or each.unit in names), machines)
