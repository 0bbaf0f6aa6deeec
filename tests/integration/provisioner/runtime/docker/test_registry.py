"""A real engine and a private registry."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import docker as sdk
import pytest
from integration.provisioner import engine_image, stub_registry
from integration.provisioner.stub_registry import StubRegistry
from unit.provisioner.conformance import new_key, texts, wait

from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import runtime as docker
from tinkwell.provisioner.runtime.docker.setting import DockerSettings, PullPolicy
from tinkwell.provisioner.state_dir import state_dir

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def client() -> Iterator[sdk.APIClient]:
    if not (os.environ.get("DOCKER_HOST") or "unix://").startswith("unix://"):
        pytest.skip("the engine is elsewhere, and this machine's loopback address is not its own")
    with engine_image.engine_or_skip() as client:
        yield client


@pytest.fixture
def registry(client: sdk.APIClient) -> Iterator[StubRegistry]:
    with stub_registry.running(engine_image.file_system(), user="me", password="secret") as registry:
        yield registry
        for image in client.images(name=f"{registry.host}/team/tool"):
            client.remove_image(image["Id"], force=True)


@pytest.fixture
async def directory(tmp_path: Path) -> AsyncIterator[state_dir.StateDir]:
    directory = state_dir.StateDir.open(tmp_path)
    yield directory
    directory.close()


async def run_tool(directory: state_dir.StateDir, image: str, **settings: Any) -> list[str]:
    """Run a private tool, and return what it says."""
    runtime = await docker.DockerRuntime.connect(directory, concurrency=1, settings=DockerSettings(**settings))
    key = new_key()
    try:
        run = await runtime.start(spec(key, image))
        try:
            assert (await wait(run)).code == 0
            return await texts(run)
        finally:
            await run.remove()
    finally:
        await runtime.close()


def spec(key: RunKey, image: str) -> port.RunSpec:
    return port.RunSpec(key=key, image=image, command=("/bin/sh", "-c", "echo pulled"))


async def test_a_private_image_is_pulled_with_credentials_and_then_not_asked_for_again(
    registry: StubRegistry, directory: state_dir.StateDir
) -> None:
    login = {"registry": f"{registry.host}/team", "user": "me", "password": "secret"}
    assert await run_tool(directory, "tool:v1", **login) == ["pulled"]
    asked = len(registry.asked)
    assert asked > 0
    assert await run_tool(directory, "tool:v1", **login) == ["pulled"]
    assert await run_tool(directory, "tool:v1", pull=PullPolicy.NEVER, registry=f"{registry.host}/team") == ["pulled"]
    assert len(registry.asked) == asked
    assert await run_tool(directory, "tool:v1", pull=PullPolicy.ALWAYS, **login) == ["pulled"]
    assert len(registry.asked) > asked


@pytest.mark.parametrize("login", [{}, {"user": "me", "password": "wrong"}])
async def test_a_private_image_is_refused_without_the_right_credentials(
    registry: StubRegistry, directory: state_dir.StateDir, login: dict[str, str]
) -> None:
    with pytest.raises(port.RunError, match=rf"Credentials for {registry.host} come from") as caught:
        await run_tool(directory, "tool:v1", registry=f"{registry.host}/team", **login)
    assert caught.value.reason is port.Reason.IMAGE
    assert f"the image {registry.host}/team/tool:v1 is not on the engine" in str(caught.value)


async def test_a_tag_that_the_registry_lacks_is_said_to_be_lacking(
    registry: StubRegistry, directory: state_dir.StateDir
) -> None:
    with pytest.raises(port.RunError, match=rf"does {registry.host} have it, with this tag\?"):
        await run_tool(directory, "tool:v2", registry=f"{registry.host}/team", user="me", password="secret")


async def test_a_registry_that_is_not_there_is_said_to_be_out_of_reach(
    registry: StubRegistry, directory: state_dir.StateDir
) -> None:
    registry.shutdown()
    registry.server_close()
    with pytest.raises(port.RunError, match=rf"is {registry.host} reachable from the engine's machine\?"):
        await run_tool(directory, f"{registry.host}/team/tool:v1")
