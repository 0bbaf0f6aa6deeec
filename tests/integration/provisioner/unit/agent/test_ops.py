"""An unmodified charm of ops goes through its life: what it hears, does, keeps and defers lands with each event."""

import json
from pathlib import Path

import pytest

from support import real_agent, tiny_charm
from support.unit_server import UNIT_ID, UnitServer
from support.waiting import eventually
from tinkwell.client.unit.agent.outcome import OutcomeFolder
from tinkwell.core.unit.kinds import TaskState

DEADLINE_SECONDS = 60.0
LIFE = [
    "data-storage-attached", "install", "db-relation-created", "leader-elected", "config-changed", "start",
    "db-relation-joined", "db-relation-changed", "update-status", "db-relation-departed", "db-relation-broken",
    "stop", "remove",
]  # fmt: skip


def _server(names: list[str], *, has_dispatch: bool = True) -> UnitServer:
    server = UnitServer(names, {})
    server.config = {"workers": 2, "defer": ""}
    server.storages = {"data/0": True}
    server.deploy(tiny_charm.packed(has_dispatch=has_dispatch))
    return server


async def _run(server: UnitServer, path: Path) -> UnitServer:
    async with real_agent.serving(server, path / "units"):
        await eventually(lambda: server.is_over or bool(server.state.failures), deadline_seconds=DEADLINE_SECONDS)
        outcomes = OutcomeFolder(path / "units/outcomes")
        await eventually(lambda: not outcomes.unit_ids(), deadline_seconds=DEADLINE_SECONDS)
    assert not server.state.failures
    return server


def _said(server: UnitServer) -> list[str]:
    return [text for _, (level, text) in sorted(server.state.lines.items()) if level == "INFO"]


@pytest.mark.parametrize("has_dispatch", [True, False], ids=["its own dispatch", "none"])
async def test_a_charm_lives_and_ends(tmp_path: Path, has_dispatch: bool) -> None:
    server = await _run(_server(LIFE, has_dispatch=has_dispatch), tmp_path)
    state = server.state
    assert [name for name, _ in state.committed] == LIFE
    assert "data_storage_attached is number 1, leads: True" in _said(server)
    assert "stop is number 11, leads: True" in _said(server)
    assert "db has pg://0, and members ['pg/0']" in _said(server)
    assert state.bag["count"] == "8"
    assert state.bag["app.secret"].startswith("secret:")
    assert {"private-address", "ingress-address", "egress-subnets"} <= state.bag.keys()
    assert [each.split()[0] for each in state.secret_edits] == ["add", "grant"] * 2
    assert (state.ports, state.version, set(state.statuses)) == (["8080/tcp"] * 2, "1.2", {"active"})


async def test_what_is_deferred_is_shown_until_it_is_heard(tmp_path: Path) -> None:
    server = _server(["install", "config-changed", "start"])
    server.config["defer"] = "install,config_changed"
    await _run(server, tmp_path)
    assert [(ordinal, handler) for ordinal, handler, _ in server.state.notices] == [
        (1, "Tiny._on_any for Tiny/on/install[1]"),
        (2, "Tiny._on_any for Tiny/on/config_changed[6]"),
    ]
    server.config["defer"] = ""
    server.state.names.append("update-status")
    await _run(server, tmp_path)
    assert server.state.notices == []


async def test_of_a_failure_the_charm_has_forgotten_all(tmp_path: Path) -> None:
    server = _server(["install", "config-changed"])
    await _run(server, tmp_path)
    server.refused = {"start"}
    server.state.names.append("start")
    async with real_agent.serving(server, tmp_path / "units"):
        await eventually(lambda: server.state.in_flight == (2, 1, 0, True), deadline_seconds=DEADLINE_SECONDS)
        server.refused = set()
        server.retry()
        await eventually(lambda: server.is_over, deadline_seconds=DEADLINE_SECONDS)
    assert [text for text in _said(server) if text.startswith("start")] == ["start is number 3, leads: True"] * 2


async def test_actions_answer_and_keep_what_they_have_counted(tmp_path: Path) -> None:
    server = _server(["install"])
    task = server.ask("backup", parameters={"target": "/srv"})
    await _run(server, tmp_path)
    outcome, told = server.state.ended[task]
    result = json.loads(outcome.result)
    assert outcome.state is TaskState.SUCCEEDED
    assert (result["size"], result["count"], result["return-code"]) == ({"bytes": "12"}, "1", 0)
    assert told == ["backs up to /srv"]
    failing = server.ask("fail")
    await _run(server, tmp_path)
    assert server.state.ended[failing][0].state is TaskState.FAILED
    assert server.state.ended[failing][0].message == "as it was asked to"
    again = server.ask("backup", parameters={"target": "/srv"})
    await _run(server, tmp_path)
    # install was the second one, and what has failed is not counted.
    assert json.loads(server.state.ended[again][0].result)["count"] == "3"
    assert not (tmp_path / "units/units" / UNIT_ID / "state").exists()


async def test_secrets_are_rotated_and_removed_once_they_expire(tmp_path: Path) -> None:
    server = _server(["install", "secret-rotate", "secret-expired"])
    server.owned = ["o" * 20]
    await _run(server, tmp_path)
    assert server.state.secret_edits == [f"set {'o' * 20}", f"remove {'o' * 20}"]
    assert "revision 1 of own has expired" in _said(server)
    assert "another one is not there for it" in _said(server)
