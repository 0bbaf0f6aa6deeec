"""Provisioners and agents work with the role of agents, people with those of operators and readers."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import tinkwell.client
from support import process, release_stack
from support import server as server_support
from support.release_stack import IMAGES, ROOT
from support.server import Server
from support.waiting import eventually
from tinkwell.client import Client, State
from tinkwell.client.unit.model import UnitStatus

_TOKENS = {name: f"token of {name}" for name in ("people", "board", "rack")}
_ROLES = {"people": "operator", "board": "reader", "rack": "agent"}
_SECONDS = 90.0
_CHARMS = ROOT / "examples" / "charms"
_TEMPLATE = """
version: "0.1"
name: hello
tasks:
  - name: t
    worker: "{{.device_1}}"
    actions:
      - {name: first, image: shell, command: ["echo first >> /workflow/data; echo said"]}
      - {name: second, image: shell, command: ["true"]}
"""


@pytest.fixture
async def server(database_url: str) -> AsyncIterator[Server]:
    async with server_support.running(database_url, tokens=_TOKENS, roles=_ROLES) as running:
        yield running


@pytest.fixture
async def operator(server: Server) -> AsyncIterator[Client]:
    async with tinkwell.client.connect(server.address, token=_TOKENS["people"]) as client:
        yield client


def _images(folder: Path) -> Path:
    entry_point = folder / "images" / "shell" / "run"
    entry_point.parent.mkdir(parents=True)
    entry_point.write_text('#!/bin/sh\nexec /bin/sh -c "$1"\n')
    entry_point.chmod(0o755)
    return release_stack.link_images(folder / "images", {each.name: each for each in IMAGES.iterdir()})


@pytest.mark.timeout(240)
async def test_an_agent_brings_about_what_an_operator_asks_for(
    server: Server, operator: Client, tmp_path: Path
) -> None:
    machine = str(uuid.uuid4())
    interface = {"dhcp": {"mac": "52:54:00:00:00:01", "ip": {"address": "10.0.0.1"}}}
    await operator.hardware.push({"id": machine, "network": {"interfaces": [interface]}})
    template = await operator.templates.create(_TEMPLATE, name="hello")
    rack = {"TINKWELL_TOKEN": _TOKENS["rack"]}
    options = ("--agent-for", "all", "--units")
    async with release_stack.running(
        operator, server.address, tmp_path, images=_images(tmp_path), options=options, environment=rack
    ) as stack:
        workflow = await operator.workflows.create(template.id, {"device_1": machine})

        async def is_over() -> bool:
            return (await operator.workflows.get(workflow.id)).state.is_final

        await eventually(is_over, deadline_seconds=_SECONDS)
        assert (await operator.workflows.get(workflow.id)).state is State.SUCCEEDED
        assert "said" in [line.text async for line in operator.workflows.logs(workflow.id)]

        box = {"type": "tinkwell-resource/directory:v1", "config": {"name": "inbox"}}
        made = await stack.apply("d", {"resources": {"box": box}, "plugs": {"files": {"path": "files"}}})
        assert made.operation.state is State.SUCCEEDED, made
        assert (await stack.uninstall("d")).became == {"box": "removed"}
        await _run_units(server, operator, tmp_path)
        assert "needs the role" not in stack.provisioner.output


async def _run_units(server: Server, operator: Client, folder: Path) -> None:
    page = str(_CHARMS / "page" / "page.py")
    connection = {"TINKWELL_SERVER": server.address}
    deploy = ("app", "deploy", "page", page, "--to", "anywhere", "--config", "title=All")
    run = ("unit", "run", page, "--application", "page", "--state-dir", str(folder / "page"))
    people, rack = ({**connection, "TINKWELL_TOKEN": _TOKENS[name]} for name in ("people", "rack"))
    async with process.running(*deploy, log=folder / "deploy.log", environment=people) as deploying:
        assert await deploying.wait(deadline_seconds=_SECONDS) == 0, deploying.output
    async with process.running(*run, log=folder / "page.log", environment=rack) as serving:
        await operator.applications.deploy("text", _CHARMS / "text", anywhere=True)
        await operator.applications.relate("page", "text")
        await operator.applications.settled("page", "text", timeout_seconds=_SECONDS)
        assert (await operator.applications.unit("page/0")).status == UnitStatus("active", "1 on the page")
        assert await serving.stop(deadline_seconds=_SECONDS) == 0, serving.output
        assert "needs the role" not in serving.output


async def test_the_command_line_says_which_role_is_needed_and_exits_with_one(server: Server, tmp_path: Path) -> None:
    board = {"TINKWELL_SERVER": server.address, "TINKWELL_TOKEN": _TOKENS["board"]}
    for arguments, exit_code, said in (
        (("app", "list"), 0, ""),
        (
            ("app", "remove", "web"),
            1,
            "Error: ApplicationService.Remove needs the role admin or operator, and",
        ),
        (
            ("events", "publish", "a.b"),
            1,
            "Error: EventService.Publish needs the role admin or operator, and board has",
        ),
    ):
        log = tmp_path / f"{arguments[1]}.log"
        async with process.running(*arguments, log=log, environment=board) as command:
            assert await command.wait() == exit_code, command.output
            assert said in command.output


async def test_a_provisioner_with_another_role_ends_with_the_reason(server: Server, tmp_path: Path) -> None:
    board = {"TINKWELL_TOKEN": _TOKENS["board"]}
    command = (
        "provisioner",
        "--server",
        server.address,
        "--state-dir",
        str(tmp_path / "state"),
        "--runtime",
        "process",
    )
    async with process.running(*command, log=tmp_path / "log", environment=board) as provisioner:
        assert await provisioner.wait(deadline_seconds=_SECONDS) == 1
        assert "needs the role admin or agent, and board has the role reader" in provisioner.output
        assert "Traceback" not in provisioner.output
