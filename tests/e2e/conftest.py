"""An engine, and machines that run their actions on it."""

import uuid
from collections.abc import Iterator

import docker
import pytest
from e2e import scene
from integration.provisioner import engine_image

from tinkwell.client import Client


@pytest.fixture
def engine() -> Iterator[docker.APIClient]:
    with engine_image.engine_or_skip() as client:
        yield client


@pytest.fixture
async def machines(client: Client) -> dict[str, str]:
    """The ids of two machines by the name of their device."""
    ids = {}
    for device, mac in scene.MACS.items():
        ids[device] = str(uuid.uuid4())
        await client.hardware.push({"id": ids[device], "network": {"interfaces": [{"dhcp": {"mac": mac}}]}})
    return ids
