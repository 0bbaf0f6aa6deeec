"""The page about writing a resource: its commands, to the letter, and what it says of the kit."""

import ast
import os
import shutil
from pathlib import Path

import docker
import docker.errors
import pytest
from e2e.release import test_page as pages
from integration.provisioner import python_image

from support import page, process, release_stack
from support.author import KIT

PAGE = page.read("how-to/resource-kit.md")
MOST_COMMANDS = 10
ALPINE = "python:3-alpine"


def section(title: str) -> str:
    """Return the section of the page with this title."""
    (found,) = (part for part in PAGE.split("\n## ") if part.startswith(title))
    return found


async def test_ten_commands_lead_from_nothing_to_a_release_of_a_new_type(tmp_path: Path) -> None:
    commands = page.commands(section("From nothing to a release"))
    assert len(commands) <= MOST_COMMANDS
    (at,) = (number for number, command in enumerate(commands) if command.line.startswith("tinkwell dev "))
    settings = {"PATH": release_stack.path(), "TINKWELL_PORT": "0", "TINKWELL_HTTP_PORT": "0"}
    if os.environ.get("PG_BIN"):
        settings["TINKWELL_PG_BIN"] = os.environ["PG_BIN"]
    await follow(commands[:at], tmp_path, settings)
    arguments = commands[at].line.split()[1:]
    async with process.running(*arguments, log=tmp_path / "dev.log", environment=settings, folder=tmp_path) as dev:
        ready = await dev.line(r"^gRPC +(\S+)\nHTTP .*\nDatabase .*$", deadline_seconds=60)
        assert page.agrees(commands[at].output, ready[0])
        await follow(commands[at + 1 :], tmp_path, {**settings, "TINKWELL_SERVER": ready[1]})


async def follow(commands: list[page.Command], folder: Path, settings: dict[str, str]) -> None:
    """Run commands, and compare what they print with what the page says."""
    for command in commands:
        printed = await pages.run(command.line, folder, settings)
        assert page.agrees(command.output, printed), f"$ {command.line}\n{printed}"


@pytest.mark.docker
@pytest.mark.timeout(300)
async def test_its_image_is_built_and_tried_out_in_containers(tmp_path: Path, engine: docker.APIClient) -> None:
    if shutil.which("docker") is None:
        pytest.skip("the command docker, which the page uses, is not installed")
    settings = {"PATH": release_stack.path()}
    first = page.commands(section("From nothing to a release"))[0]
    await follow([first], tmp_path, settings)
    is_stand_in = not engine.images(name=ALPINE)
    if is_stand_in:
        python_image.provide_base(engine)
        engine.tag(python_image.BASE, ALPINE.partition(":")[0], tag=ALPINE.partition(":")[2])
    try:
        await follow(page.commands(section("In a container")), tmp_path, settings)
    finally:
        if is_stand_in:
            engine.remove_image(ALPINE, noprune=True)


def test_the_page_names_all_that_the_kit_has() -> None:
    text = KIT.read_text()
    (resource,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == "Resource")
    names = {
        node.target.id
        for node in resource.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    names |= {node.name for node in resource.body if isinstance(node, ast.FunctionDef)} - {"__init__"}
    names |= {"given", "stale_state", "last_state", "workspace", "fail", "difference", "run"}
    assert not [name for name in names if name not in PAGE]
