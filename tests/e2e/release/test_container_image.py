"""The image for containers, which runs as a process and speaks to a real engine."""

import contextlib
import os
import uuid
from pathlib import Path
from typing import Any

import docker
import docker.errors
import pytest
from integration.provisioner import engine_image

from support import release_stack
from tinkwell.client import Client

pytestmark = pytest.mark.docker
SOCKET = Path(os.environ.get("DOCKER_HOST", "/var/run/docker.sock").removeprefix("unix://")).resolve()


def manifest(**config: Any) -> dict[str, Any]:
    resource = {"type": "tinkwell-resource/docker-container:v1", "config": config}
    return {"plugs": {"docker": {"path": str(SOCKET), "read_only": True}}, "resources": {"box": resource}}


async def test_a_container_is_made_left_alone_started_again_replaced_and_removed(
    client: Client, server_address: str, engine: docker.APIClient, tmp_path: Path
) -> None:
    if not SOCKET.is_socket():
        pytest.skip(f"the engine is not at a socket of this machine: {SOCKET}")
    name = f"tinkwell-test-{uuid.uuid4().hex}"
    config = {"name": name, "image": engine_image.IMAGE, "command": ["/bin/sleep", "600"], "environment": {"A": "1"}}
    plug = ("--plug", f"docker={SOCKET}:ro")
    async with release_stack.running(client, server_address, tmp_path, options=plug) as stack:
        try:
            assert (await stack.apply("box", manifest(**config))).actions("box") == ["create", "start"]
            found = await stack.state("box", "box")
            assert (found["name"], found["image"], found["running"]) == (name, engine_image.IMAGE, True)
            assert "A=1" in engine.inspect_container(name)["Config"]["Env"]
            assert (await stack.apply("box", manifest(**config))).became == {"box": "unchanged"}

            engine.kill(name)
            assert (await stack.apply("box", manifest(**config))).actions("box") == ["start"]

            changed = await stack.apply("box", manifest(**config | {"environment": {}}))
            assert changed.actions("box") == ["remove", "create", "start"]
            assert (await stack.state("box", "box"))["id"] != found["id"]

            assert (await stack.uninstall("box")).became == {"box": "removed"}
            with pytest.raises(docker.errors.NotFound):
                engine.inspect_container(name)
        finally:
            with contextlib.suppress(docker.errors.NotFound):
                engine.remove_container(name, force=True)


async def test_what_the_engine_refuses_is_told(
    client: Client, server_address: str, engine: docker.APIClient, tmp_path: Path
) -> None:
    if not SOCKET.is_socket():
        pytest.skip(f"the engine is not at a socket of this machine: {SOCKET}")
    nowhere = "localhost:1/nowhere:v1"
    plug = ("--plug", f"docker={SOCKET}:ro")
    async with release_stack.running(client, server_address, tmp_path, options=plug) as stack:
        failed = await stack.apply("box", manifest(name=f"tinkwell-test-{uuid.uuid4().hex}", image=nowhere))
        assert failed.broken("box").name == "pull"
        assert "localhost:1" in "".join(await stack.printed(failed.operation, "box"))
