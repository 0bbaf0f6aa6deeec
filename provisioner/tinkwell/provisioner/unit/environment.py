"""What a unit's scripts find in their environment, by names that charms know; nothing of the agent's own is there."""

import os
from pathlib import Path

from tinkwell.provisioner.runtime.process import shim
from tinkwell.provisioner.unit.attempt import Given
from tinkwell.provisioner.unit.tool import program


def make(given: Given, *, charm: Path, tools: Path, socket: Path, context: str, machine: str) -> dict[str, str]:
    """Make the environment of the scripts of an attempt; variables of what the event is not about are left out."""
    occasion = given.occasion
    found = {
        "PATH": f"{tools}:{os.environ.get('PATH', shim.DEFAULT_PATH)}",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "DEBIAN_FRONTEND": "noninteractive",
        "CHARM_DIR": str(charm),
        "JUJU_CHARM_DIR": str(charm),
        "JUJU_HOOK_NAME": occasion.name,
        "JUJU_DISPATCH_PATH": f"hooks/{occasion.name}",
        "JUJU_UNIT_NAME": given.unit,
        "JUJU_MODEL_NAME": given.namespace,
        "JUJU_MACHINE_ID": machine,
        "JUJU_AGENT_SOCKET_NETWORK": "unix",
        program.SOCKET: str(socket),
        program.CONTEXT: context,
    }
    if (relation := given.relations.get(occasion.relation)) is not None:
        found |= {
            "JUJU_RELATION": relation.endpoint,
            "JUJU_RELATION_ID": relation.id,
            "JUJU_REMOTE_APP": occasion.application,
            "JUJU_REMOTE_UNIT": occasion.unit,
        }
        if occasion.departing_unit:
            found["JUJU_DEPARTING_UNIT"] = occasion.departing_unit
    if occasion.storage:
        found |= {
            "JUJU_STORAGE_ID": occasion.storage,
            "JUJU_STORAGE_LOCATION": given.storages.get(occasion.storage, ""),
            "JUJU_STORAGE_KIND": "filesystem",
        }
    return found
