"""The docker runtime on a real engine: the conformance suite, and what is its own."""

import uuid

import pytest
from integration.provisioner import engine_image
from unit.provisioner import conformance

from tinkwell.provisioner import state
from tinkwell.provisioner.runtime import docker, port

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def client():
    client = engine_image.connect_or_skip()
    yield client
    client.close()


class DockerHarness:
    def __init__(self, directory, runtime):
        self.directory = directory
        self.runtime = runtime

    @classmethod
    async def open(cls, path):
        directory = state.StateDir.open(path)
        return cls(directory, await docker.DockerRuntime.connect(directory, concurrency=4))

    async def restart(self):
        await self.runtime.close()
        self.directory.close()
        self.directory = state.StateDir.open(self.directory.path)
        self.runtime = await docker.DockerRuntime.connect(self.directory, concurrency=4)

    def spec(self, key, program, *, environment=()):
        return self.spec_of(key, command=("/bin/sh", "-c", str(program)), environment=environment)

    def spec_without_image(self, key):
        return self.spec_of(key, image=f"registry.invalid/absent-{uuid.uuid4()}:v1", command=("true",))

    def spec_without_entry_point(self, key):
        return self.spec_of(key, command=("no-such-command",))

    def spec_of(self, key, *, image=engine_image.IMAGE, **fields):
        return port.RunSpec(
            key=key, worker_id="machine-1", task_name="task", action_name="action", image=image, **fields
        )

    async def close(self):
        for key in await self.runtime.held():
            run = await self.runtime.find(key)
            await run.remove()
        await self.runtime.close()
        self.directory.close()


@pytest.fixture
async def harness(client, tmp_path):
    harness = await DockerHarness.open(tmp_path)
    yield harness
    await harness.close()


class TestConformance(conformance.RuntimeConformance):
    pass
