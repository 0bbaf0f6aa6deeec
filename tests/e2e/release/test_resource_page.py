"""The page about writing a resource: its commands, to the letter, and what it says of the kit."""

import ast
import shutil
from pathlib import Path

import docker
import docker.errors
import pytest
from e2e.release import test_page as pages
from integration.provisioner import python_image

from support import page, release_stack
from support.author import KIT

PAGE = page.read("how-to/resource-kit.md")
MOST_COMMANDS = 10
ALPINE = "python:3-alpine"


def section(title: str) -> str:
    """Return the section of the page with this title."""
    (found,) = (part for part in PAGE.split("\n## ") if part.startswith(title))
    return found


def test_ten_commands_lead_from_nothing_to_a_release_of_a_new_type() -> None:
    assert len(page.commands(section("From nothing to a release"))) <= MOST_COMMANDS


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
        await follow(page.commands(section("In a container"), are_run=False), tmp_path, settings)
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
    reference = page.read("reference/resource-kit.md")
    assert not [name for name in names if name not in reference]
