"""What the pages about releases show is what a reader gets."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from support import page, release_stack
from support.release_stack import EXAMPLES
from tinkwell.client import Client, State

COMMAND_SECONDS = 60


async def run(line: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a command line in a shell, and return what it prints on both of its outputs."""
    started = await asyncio.create_subprocess_shell(
        line,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(COMMAND_SECONDS):
        printed, _ = await started.communicate()
    return printed.decode()


def beside(path: str) -> set[str]:
    """The names in the folder in which a file or folder is, or was."""
    return {found.name for found in Path(path).parent.iterdir()}


def test_the_tutorial_of_charts_shows_what_is_in_its_files() -> None:
    shown = [block for block in page.blocks(page.read("tutorial/first-chart.md")) if block.use]
    for block in shown:
        assert block.text in (EXAMPLES / "charts" / "shop" / block.use).read_text(), block.use
    assert len(shown) == 3


def test_the_tutorial_shows_the_manifest_that_it_applies() -> None:
    (shown,) = (block.text for block in page.blocks(page.read("tutorial/first-release.md")) if block.use == "hello")
    assert shown in (EXAMPLES / "release" / "hello.yaml").read_text()


async def test_the_images_of_the_page_work_as_it_says(client: Client, server_address: str, tmp_path: Path) -> None:
    images = tmp_path / "images"
    text = page.read("how-to/resource-image.md")
    for block in page.blocks(text):
        if block.use.endswith("/run"):
            file = images / block.use
            file.parent.mkdir(parents=True)
            file.write_text(block.text)
            file.chmod(0o755)
    for command in page.commands(text):
        printed = await run(command.line, images, {"PATH": release_stack.path()})
        assert page.agrees(command.output, printed), f"$ {command.line}\n{printed}"

    (manifest,) = (block.text for block in page.blocks(text) if block.use == "manifest")
    async with release_stack.running(client, server_address, tmp_path, images=images) as stack:
        installed = await stack.apply("mine", manifest)
        assert (installed.operation.state, installed.became) == (
            State.SUCCEEDED,
            {"folder": "changed", "note": "changed"},
        )
        folder = (await stack.state("mine", "folder"))["path"]
        assert (await stack.state("mine", "note"))["text"] == "see inbox"
        assert beside(folder) == {"inbox", "note"}
        assert set((await stack.apply("mine", manifest)).became.values()) == {"unchanged"}
        assert (await stack.uninstall("mine")).became == {"note": "left", "folder": "removed"}
        assert beside(folder) == {"note"}
