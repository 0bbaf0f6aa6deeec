"""The image for networks, which runs as a process and speaks to a real engine."""

import contextlib
import os
import uuid
from pathlib import Path
from typing import Any

import docker
import docker.errors
import pytest

from support import release_stack
from tinkwell.client import Client

pytestmark = pytest.mark.docker
SOCKET = Path(os.environ.get("DOCKER_HOST", "/var/run/docker.sock").removeprefix("unix://")).resolve()


def manifest(**config: Any) -> dict[str, Any]:
    resource = {"type": "tinkwell-resource/docker-network:v1", "config": config}
    return {"plugs": {"docker": {"path": str(SOCKET), "read_only": True}}, "resources": {"net": resource}}


async def test_a_network_is_made_left_alone_replaced_and_removed(
    client: Client, server_address: str, engine: docker.APIClient, tmp_path: Path
) -> None:
    if not SOCKET.is_socket():
        pytest.skip(f"the engine is not at a socket of this machine: {SOCKET}")
    name = f"tinkwell-test-{uuid.uuid4().hex}"
    config = {"name": name, "internal": True, "labels": {"of": "a test"}}
    plug = ("--plug", f"docker={SOCKET}:ro")
    async with release_stack.running(client, server_address, tmp_path, options=plug) as stack:
        try:
            made = await stack.apply("n", manifest(**config))
            assert made.actions("net") == ["create"], made.nodes["net"].message
            found = await stack.state("n", "net")
            assert {key: found[key] for key in config} == config
            assert engine.inspect_network(name)["Id"] == found["id"]
            assert (await stack.apply("n", manifest(**config))).became == {"net": "unchanged"}
            changed = await stack.apply("n", manifest(**{**config, "labels": {"of": "another"}}))
            assert changed.actions("net") == ["remove", "create"]
            assert (await stack.state("n", "net"))["id"] != found["id"]
            assert (await stack.uninstall("n")).became == {"net": "removed"}
            with pytest.raises(docker.errors.NotFound):
                engine.inspect_network(name)
        finally:
            with contextlib.suppress(docker.errors.NotFound):
                engine.remove_network(name)
