"""What programs of a charm find in their environment, for each kind of event, and nothing of the agent's own."""

import dataclasses
from pathlib import Path

import pytest
from unit.provisioner.unit import stage

from tinkwell.core.unit.kinds import EventKind
from tinkwell.provisioner.unit.attempt.given import Occasion, Task
from tinkwell.provisioner.unit.dispatch import environment

PLACE = environment.Place(
    charm=Path("/srv/charm"),
    tools=Path("/srv/tools"),
    socket=Path("/srv/run/socket"),
    context="context",
    machine="machine-1",
    home=Path("/home/web"),
    python=Path("/srv/python"),
)
ALWAYS = {
    "CHARM_DIR": "/srv/charm",
    "CLOUD_API_VERSION": "",
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/home/web",
    "JUJU_AGENT_SOCKET_ADDRESS": "/srv/run/socket",
    "JUJU_AGENT_SOCKET_NETWORK": "unix",
    "JUJU_API_ADDRESSES": "",
    "JUJU_AVAILABILITY_ZONE": "",
    "JUJU_CHARM_DIR": "/srv/charm",
    "JUJU_CHARM_FTP_PROXY": "",
    "JUJU_CHARM_HTTPS_PROXY": "",
    "JUJU_CHARM_HTTP_PROXY": "",
    "JUJU_CHARM_NO_PROXY": "",
    "JUJU_CONTEXT_ID": "context",
    "JUJU_MACHINE_ID": "machine-1",
    "JUJU_MODEL_NAME": "shop",
    "JUJU_MODEL_UUID": stage.MODEL,
    "JUJU_PRINCIPAL_UNIT": "",
    "JUJU_UNIT_NAME": "web/0",
    "JUJU_VERSION": "3.6.9",
    "LANG": "C.UTF-8",
    "PATH": "/srv/tools:/srv/python:/usr/bin",
    "TERM": "dumb",
}


def _hook(name: str) -> dict[str, str]:
    return {"JUJU_HOOK_NAME": name, "JUJU_DISPATCH_PATH": f"hooks/{name}"}


@pytest.mark.parametrize(
    "occasion, more",
    [
        (Occasion(name="install", kind="install"), _hook("install")),
        (
            Occasion(
                name="db-relation-departed",
                kind="relation-departed",
                relation=7,
                endpoint="db",
                application="pg",
                unit="pg/1",
                departing_unit="pg/1",
            ),
            _hook("db-relation-departed")
            | {
                "JUJU_RELATION": "db",
                "JUJU_RELATION_ID": "db:7",
                "JUJU_REMOTE_APP": "pg",
                "JUJU_REMOTE_UNIT": "pg/1",
                "JUJU_DEPARTING_UNIT": "pg/1",
            },
        ),
        (
            Occasion(name="db-relation-broken", kind="relation-broken", relation=9, endpoint="db", application="pg"),
            _hook("db-relation-broken")
            | {
                "JUJU_RELATION": "db",
                "JUJU_RELATION_ID": "db:9",
                "JUJU_REMOTE_APP": "pg",
                "JUJU_REMOTE_UNIT": "",
            },
        ),
        (
            Occasion(name="data-storage-attached", kind="storage-attached", storage="data/0"),
            _hook("data-storage-attached")
            | {
                "JUJU_STORAGE_ID": "data/0",
                "JUJU_STORAGE_LOCATION": "/srv/data",
                "JUJU_STORAGE_KIND": "filesystem",
            },
        ),
        (
            Occasion(name="secret-changed", kind=EventKind.SECRET_CHANGED, secret=stage.READ, revision=3),
            _hook("secret-changed") | {"JUJU_SECRET_ID": f"secret:{stage.READ}", "JUJU_SECRET_LABEL": "dsn"},
        ),
        (
            Occasion(name="secret-remove", kind=EventKind.SECRET_REMOVE, secret=stage.OWN, revision=1),
            _hook("secret-remove")
            | {"JUJU_SECRET_ID": f"secret:{stage.OWN}", "JUJU_SECRET_LABEL": "own", "JUJU_SECRET_REVISION": "1"},
        ),
        (
            Occasion(task=Task(id="5b0d", name="backup")),
            {
                "JUJU_HOOK_NAME": "",
                "JUJU_DISPATCH_PATH": "actions/backup",
                "JUJU_ACTION_NAME": "backup",
                "JUJU_ACTION_UUID": "5b0d",
                "JUJU_ACTION_TAG": "action-5b0d",
            },
        ),
        (
            Occasion(task=Task(id="5b0d", arguments=("ls",))),
            {"JUJU_HOOK_NAME": "", "JUJU_DISPATCH_PATH": ""},
        ),
    ],
    ids=["plain", "departed", "broken", "storage", "secret", "revision", "action", "command"],
)
def test_an_event_has_its_environment(
    monkeypatch: pytest.MonkeyPatch, occasion: Occasion, more: dict[str, str]
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("TINKWELL_TOKEN", "hidden")
    given = dataclasses.replace(stage.given(), occasion=occasion)
    assert environment.make(given, PLACE) == ALWAYS | more
