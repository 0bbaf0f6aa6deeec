"""Describes storage as Juju writes it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tinkwell.core.unit.kinds import Life
from tinkwell.juju.shell import moment

if TYPE_CHECKING:
    from tinkwell.client import Storage

KIND = "filesystem"


def combined(storages: "Iterable[Storage]", machines: Mapping[str, str]) -> dict[str, Any]:
    """Describe all instances as `storage` and `status` do; `machines` has the names of machines by their ids.

    There are no separate filesystems and volumes, because an instance is a folder on its machine.
    """
    return {"storage": {each.name: whole(each, machines) for each in storages}, "filesystems": {}, "volumes": {}}


def whole(storage: "Storage", machines: Mapping[str, str]) -> dict[str, Any]:
    """Describe a storage instance."""
    found: dict[str, Any] = {
        "kind": KIND,
        "life": storage.life.lower(),
        "status": {"current": status(storage), "since": moment.juju(storage.updated_at or storage.created_at)},
        "persistent": False,
    }
    if storage.unit:
        machine = machines.get(storage.machine, storage.machine)
        attachment = {"machine": machine, "life": storage.life.lower()}
        found["attachments"] = {"units": {storage.unit: {key: value for key, value in attachment.items() if value}}}
    return found


def status(storage: "Storage") -> str:
    """Return the status of an instance in Juju's words."""
    if storage.life is Life.DYING:
        return "detaching"
    if not storage.unit:
        return "detached"
    return "attached" if storage.attached else "pending"
