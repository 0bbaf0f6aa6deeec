"""What a unit's programs find in their environment, by names that charms know; nothing of the agent's own is there."""

import os
from dataclasses import dataclass
from pathlib import Path

from tinkwell.core.charm.assumption import JUJU_VERSION
from tinkwell.core.unit import secret as secrets
from tinkwell.core.unit.kinds import EventKind
from tinkwell.provisioner.runtime.process import shim
from tinkwell.provisioner.unit.attempt.given import Given
from tinkwell.provisioner.unit.dispatch import program
from tinkwell.provisioner.unit.tool import program as tool

# They are there, since some charms ask for them without a default, and say nothing.
_EMPTY = (
    "CLOUD_API_VERSION",
    "JUJU_API_ADDRESSES",
    "JUJU_AVAILABILITY_ZONE",
    "JUJU_CHARM_FTP_PROXY",
    "JUJU_CHARM_HTTPS_PROXY",
    "JUJU_CHARM_HTTP_PROXY",
    "JUJU_CHARM_NO_PROXY",
    "JUJU_PRINCIPAL_UNIT",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an attempt runs: the charm's folder, where tools and Python are, and how the agent is reached."""

    charm: Path
    tools: Path
    socket: Path
    context: str
    machine: str = ""
    home: Path
    python: Path | None = None


def make(given: Given, place: Place) -> dict[str, str]:
    """Make the environment of an attempt's programs; variables of what the event is not about are left out."""
    occasion = given.occasion
    folders = [str(place.tools), *([str(place.python)] if place.python else [])]
    return {
        **dict.fromkeys(_EMPTY, ""),
        "PATH": ":".join([*folders, os.environ.get("PATH", shim.DEFAULT_PATH)]),
        "HOME": str(place.home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "DEBIAN_FRONTEND": "noninteractive",
        "CHARM_DIR": str(place.charm),
        "JUJU_CHARM_DIR": str(place.charm),
        "JUJU_HOOK_NAME": occasion.name,
        "JUJU_DISPATCH_PATH": program.path_of(occasion),
        "JUJU_UNIT_NAME": given.unit,
        "JUJU_MODEL_NAME": given.namespace,
        "JUJU_MODEL_UUID": given.model,
        "JUJU_VERSION": JUJU_VERSION,
        "JUJU_MACHINE_ID": place.machine,
        "JUJU_AGENT_SOCKET_NETWORK": "unix",
        tool.SOCKET: str(place.socket),
        tool.CONTEXT: place.context,
        **_relation(given),
        **_storage(given),
        **_secret(given),
        **_action(given),
    }


def _relation(given: Given) -> dict[str, str]:
    occasion = given.occasion
    if not occasion.relation:
        return {}
    departing = {"JUJU_DEPARTING_UNIT": occasion.departing_unit} if occasion.departing_unit else {}
    return {
        "JUJU_RELATION": occasion.endpoint,
        "JUJU_RELATION_ID": f"{occasion.endpoint}:{occasion.relation}",
        "JUJU_REMOTE_APP": occasion.application,
        "JUJU_REMOTE_UNIT": occasion.unit,
        **departing,
    }


def _storage(given: Given) -> dict[str, str]:
    name = given.occasion.storage
    if not name:
        return {}
    return {
        "JUJU_STORAGE_ID": name,
        "JUJU_STORAGE_LOCATION": given.storages.get(name, ""),
        "JUJU_STORAGE_KIND": "filesystem",
    }


def _secret(given: Given) -> dict[str, str]:
    occasion = given.occasion
    if not occasion.secret:
        return {}
    known = given.secrets.get(occasion.secret)
    found = {"JUJU_SECRET_ID": secrets.uri(occasion.secret), "JUJU_SECRET_LABEL": known.label if known else ""}
    if occasion.kind in (EventKind.SECRET_EXPIRED, EventKind.SECRET_REMOVE):
        found["JUJU_SECRET_REVISION"] = str(occasion.revision)
    return found


def _action(given: Given) -> dict[str, str]:
    task = given.occasion.task
    if task is None or task.arguments:
        return {}
    return {"JUJU_ACTION_NAME": task.name, "JUJU_ACTION_UUID": task.id, "JUJU_ACTION_TAG": f"action-{task.id}"}
