"""Provisioners that carry out releases of the examples' images."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import docker
import pytest
from integration.provisioner import python_image

from support import release_stack
from support.release_stack import Stack
from tinkwell.client import Client

RUNTIMES = ["process", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.timeout(300)])]
# Runs a provisioner with more options.
Run = Callable[..., contextlib.AbstractAsyncContextManager[Stack]]


@pytest.fixture
async def stack(client: Client, server_address: str, tmp_path: Path) -> AsyncIterator[Stack]:
    """A server, and a provisioner of processes for it."""
    async with release_stack.running(client, server_address, tmp_path) as running:
        yield running


@pytest.fixture(params=RUNTIMES)
def run(request: pytest.FixtureRequest, client: Client, server_address: str, tmp_path: Path) -> Run:
    """Run a provisioner of either runtime that knows images by names, of which the folders are given."""
    engine: docker.APIClient | None = request.getfixturevalue("engine") if request.param == "docker" else None

    @contextlib.asynccontextmanager
    async def running(images: dict[str, Path], options: Sequence[str] = ()) -> AsyncIterator[Stack]:
        folder = None
        if engine is None:
            folder = release_stack.link_images(tmp_path / "images", images)
        else:
            for name, found in images.items():
                python_image.build(engine, found, name)
        async with release_stack.running(client, server_address, tmp_path, images=folder, options=options) as stack:
            yield stack
        if engine is not None:
            instance = (tmp_path / "state" / "instance").read_text()
            assert engine.containers(all=True, filters={"label": f"tinkwell.instance={instance}"}) == []

    return running
