"""The engine's client on a real engine: what it answers to calls that come twice, and to names of any kind."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import docker as sdk
import pytest
from integration.provisioner import engine_image

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import engine, label
from tinkwell.provisioner.runtime.docker import runtime as docker
from tinkwell.provisioner.state_dir import state_dir

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def client() -> Iterator[sdk.APIClient]:
    with engine_image.engine_or_skip() as client:
        yield client


@pytest.fixture
async def found(client: sdk.APIClient) -> AsyncIterator[engine.Engine]:
    found = await engine.Engine.connect(streams=4)
    yield found
    found.close()


async def test_every_call_may_be_made_twice(found: engine.Engine) -> None:
    # The engine answers 304, 409 and 404 to what is so already.
    name = f"tinkwell-test-{uuid.uuid4()}"
    container = await found.create(
        name=name, image=engine_image.IMAGE, command=("sleep", "600"), environment={}, labels={}, host={}
    )
    try:
        with pytest.raises(engine.Refused) as taken:
            await found.create(
                name=name, image=engine_image.IMAGE, command=("true",), environment={}, labels={}, host={}
            )
        assert taken.value.status == engine.CONFLICT
        for _ in range(2):
            await found.start(container)
            assert (await found.inspect(container)).is_running
        for _ in range(2):
            await found.kill(container)
            await found.wait(container, at_most_seconds=20)
            assert (await found.inspect(container)).exit_code == 137
    finally:
        for _ in range(2):
            await found.remove(container)
    with pytest.raises(engine.Gone):
        await found.inspect(container)


async def test_names_that_no_container_could_have_are_run(client: sdk.APIClient, tmp_path: Path) -> None:
    # Workflows name their actions for people; the container's own name is made of ids.
    directory = state_dir.StateDir.open(tmp_path)
    runtime = await docker.DockerRuntime.connect(directory, concurrency=1)
    try:
        key = RunKey(RunKind.WORKFLOW, str(uuid.uuid4()), str(uuid.uuid4()), 1)
        task, action = "disk & boot", "écrire l'image / now"
        spec = port.RunSpec(
            key=key,
            labels={"task": task, "name": action},
            image=engine_image.IMAGE,
            command=("true",),
        )
        run = await runtime.start(spec)
        assert (await run.wait()).code == 0
        labels = client.inspect_container(label.container_name(key))["Config"]["Labels"]
        assert (labels["tinkwell.task"], labels["tinkwell.name"]) == (task, action)
        await run.remove()
    finally:
        await runtime.close()
        directory.close()
