"""Tasks that are cancelled, late, lost or refused: each ends once, and its program is run once at most."""

import json
from pathlib import Path

import pytest

from support import real_agent
from support.unit_server import UNIT_ID, UnitServer
from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.core.charm.package import NewFile
from tinkwell.core.unit.kinds import TaskState
from tinkwell.provisioner.unit import script

DEADLINE_SECONDS = 60.0
HANGS = "trap '' TERM; echo $$ >> ../../../runs; while :; do sleep 1; done"


@pytest.fixture(autouse=True)
def _impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "TERM_SECONDS", 0.2)


def _server(command: str) -> tuple[UnitServer, str]:
    server = UnitServer([], {"install": "exit 0"})
    return server, server.ask(arguments=["sh", "-c", command])


def _runs(path: Path) -> list[str]:
    found = path / "runs"
    return found.read_text().split() if found.exists() else []


def _lives(number: str) -> bool:
    return Path("/proc", number).exists()


async def _is_over(server: UnitServer) -> None:
    await eventually(lambda: server.is_over, deadline_seconds=DEADLINE_SECONDS)


async def test_one_that_is_cancelled_is_ended_though_it_does_not_listen(tmp_path: Path) -> None:
    server, task = _server(HANGS)
    async with real_agent.serving(server, tmp_path):
        await eventually(lambda: bool(_runs(tmp_path)), deadline_seconds=DEADLINE_SECONDS)
        server.cancel()
        await _is_over(server)
    outcome, _ = server.state.ended[task]
    assert (outcome.state, outcome.message) == (TaskState.CANCELLED, "it was cancelled")
    assert not _lives(_runs(tmp_path)[0])


async def test_one_that_is_cancelled_before_it_begins_is_not_run(tmp_path: Path) -> None:
    server, task = _server(HANGS)
    await server.acquire("o", "e")
    await server.next_event(1, UNIT_ID)
    server.cancel()
    assert server.state.running is not None
    server.state.running = server.state.running[0], 2
    async with real_agent.serving(server, tmp_path):
        await _is_over(server)
    assert server.state.ended[task][0].state is TaskState.CANCELLED
    assert _runs(tmp_path) == []


async def test_one_that_is_late_is_ended(tmp_path: Path) -> None:
    server, task = _server(HANGS)
    server.timeout_seconds = 1.0
    async with real_agent.serving(server, tmp_path):
        await _is_over(server)
    outcome, _ = server.state.ended[task]
    assert (outcome.state, outcome.message) == (TaskState.TIMEOUT, "it took longer than 1 s, and was ended")


async def test_one_whose_agent_stops_has_failed_at_once(tmp_path: Path) -> None:
    server, task = _server(HANGS)
    async with real_agent.serving(server, tmp_path):
        await eventually(lambda: bool(_runs(tmp_path)), deadline_seconds=DEADLINE_SECONDS)
    outcome, _ = server.state.ended[task]
    assert (outcome.state, outcome.message) == (TaskState.FAILED, "its agent stops")
    assert not _lives(_runs(tmp_path)[0])
    assert list((tmp_path / "outcomes").iterdir()) == []


async def test_one_whose_agent_stops_without_an_answer_is_told_of_by_who_follows(tmp_path: Path) -> None:
    server, task = _server(HANGS)
    async with real_agent.serving(server, tmp_path):
        await eventually(lambda: bool(_runs(tmp_path)), deadline_seconds=DEADLINE_SECONDS)
        server.errors["commit"] = [errors.Unavailable("it is away")]
    assert task not in server.state.ended
    async with real_agent.serving(server, tmp_path):
        await _is_over(server)
    assert len(_runs(tmp_path)) == 1
    assert server.state.ended[task][0].state is TaskState.FAILED


async def test_one_whose_end_is_refused_is_not_run_again(tmp_path: Path) -> None:
    server, task = _server("echo $$ >> ../../../runs; exit 3")
    server.errors["commit"] = [errors.InvalidField("it is not as it should be")] * 2
    async with real_agent.serving(server, tmp_path):
        await _is_over(server)
    outcome, _ = server.state.ended[task]
    assert outcome.state is TaskState.FAILED
    assert "not run a second time" in outcome.message
    assert len(_runs(tmp_path)) == 1


@pytest.mark.parametrize("text", ["chr(0x1F600)", "chr(1)"], ids=["wide", "written as escapes"])
async def test_what_one_says_at_length_fits_into_its_result(tmp_path: Path, text: str) -> None:
    say = f"import sys; [print({text} * 200_000, file=each) for each in (sys.stdout, sys.stderr)]; sys.exit(3)"
    server = UnitServer([], {"install": "exit 0"})
    task = server.ask(arguments=["python3", "-c", say])
    async with real_agent.serving(server, tmp_path):
        await _is_over(server)
    outcome, _ = server.state.ended[task]
    result = json.loads(outcome.result)
    assert (outcome.state, outcome.message, result["return-code"]) == (TaskState.FAILED, "exit 3", 3)
    assert len(result["stdout"]) > 10_000


@pytest.mark.parametrize(
    "command",
    ['action-set $(python3 -c \'print(".".join("a" * 20_000))\')=1', "action-set $(printf 'a.%.0s' $(seq 80))a=1"],
    ids=["deeper than Python", "deeper than the server"],
)
async def test_a_result_that_lies_too_deep_is_refused(tmp_path: Path, command: str) -> None:
    server, task = _server(command)
    async with real_agent.serving(server, tmp_path):
        await _is_over(server)
    outcome, _ = server.state.ended[task]
    assert outcome.state is TaskState.FAILED
    assert "at most 32" in json.loads(outcome.result)["stderr"]


@pytest.mark.parametrize(
    "command",
    ["mkdir .unit-state.db", "mkdir .unit-state.db-journal; exit 1", "mkfifo pipe; ln -s pipe .unit-state.db"],
    ids=["a folder", "a folder for a journal", "a link to a pipe"],
)
async def test_a_charm_that_spoils_its_state_fails_alone(tmp_path: Path, command: str) -> None:
    server = UnitServer(["install"], {})
    manifest = NewFile("metadata.yaml", b"name: web\nsummary: a\ndescription: b\n")
    text = f"#!/bin/sh\n[ -e again ] || {{ touch again; {command}; }}\n"
    server.deploy([manifest, NewFile("hooks/install", text.encode(), True)])
    async with real_agent.serving(server, tmp_path):
        await eventually(lambda: bool(server.state.failures), deadline_seconds=DEADLINE_SECONDS)
        server.retry()
        await _is_over(server)
    assert server.state.committed == [("install", 2)]
