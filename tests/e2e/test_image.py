"""The image that the Dockerfile builds, and the system that docker-compose.yml makes of it.

No registry is needed: `scripts/local/images.sh` makes the base image and one of PostgreSQL out of Debian packages.
"""

import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
import testcontainers.core.config
from integration.provisioner import engine_image
from testcontainers.community.postgres import PostgresContainer

import tinkwell.client
from support import server as server_support
from tinkwell.client import EventType, State
from tinkwell.server.database import schema

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
BASE, POSTGRES, TINKWELL = (f"tinkwell-local/{name}" for name in ("base", "postgres", "tinkwell"))
BUILD_SECONDS = 600
COMPOSE_SECONDS = 240
MACHINE = "52:54:00:10:00:03"
TEMPLATE = f"""\
version: "0.1"
name: composed
global_timeout: 120
tasks:
  - name: write
    worker: "{{{{.device_1}}}}"
    actions:
      - name: write
        image: {engine_image.IMAGE}
        timeout: 60
        command: [/bin/sh, -c, 'echo kept > "$WORKFLOW_DIR/file"']
      - name: read
        image: {engine_image.IMAGE}
        timeout: 60
        command: [/bin/sh, -c, 'grep kept "$WORKFLOW_DIR/file"']
"""

Compose = Callable[..., str]


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.APIClient]:
    with engine_image.engine_or_skip() as client:
        yield client


@pytest.fixture(scope="module")
def local_images(engine: docker.APIClient) -> None:
    """The base image and the image of PostgreSQL."""
    missing = [image for image in (BASE, POSTGRES) if not engine.images(name=image)]
    if missing and (os.geteuid() != 0 or shutil.which("debootstrap") is None):
        pytest.skip(f"{', '.join(missing)}: not there, and only root with debootstrap can make them")
    run(str(ROOT / "scripts" / "local" / "images.sh"))


@pytest.fixture(scope="module")
def image(local_images: None) -> str:
    """The image of the product, built anew."""
    run("docker", "build", "--network=host", f"--build-arg=BASE={BASE}", f"--tag={TINKWELL}", str(ROOT))
    return TINKWELL


@pytest.fixture
def compose(image: str, tmp_path: Path) -> Iterator[Compose]:
    """Run docker-compose on a project of its own, which is removed in the end."""
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed")
    environment = {
        "COMPOSE_PROJECT_NAME": f"tinkwell-test-{uuid.uuid4().hex[:8]}",
        "TINKWELL_IMAGE": image,
        "POSTGRES_IMAGE": POSTGRES,
        "TINKWELL_PORT": "0",
        "TINKWELL_HTTP_PORT": "0",
        "TINKWELL_STATE_DIR": str(tmp_path / "state"),
    }

    def call(*arguments: str) -> str:
        return run("docker-compose", *arguments, seconds=COMPOSE_SECONDS, **environment)

    yield call
    print(call("logs", "--no-color", "--tail=50"))
    call("down", "--volumes", "--timeout=10")


def run(*command: str, seconds: float = BUILD_SECONDS, **environment: str) -> str:
    """Run a command to its end and return what it wrote; fails with all of it otherwise."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TINKWELL_")}
    finished = subprocess.run(
        command,
        cwd=ROOT,
        env={**inherited, "DOCKER_BUILDKIT": "0", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert finished.returncode == 0, f"{' '.join(command)} failed:\n{finished.stdout[-4000:]}"
    return finished.stdout


def test_the_image_runs_as_nobody_special_and_can_do_everything(image: str) -> None:
    assert run("docker", "run", "--rm", image, "--version").startswith("tinkwell ")
    assert run("docker", "run", "--rm", "--entrypoint=id", image, "-u").strip() == "10001"
    for command in ("server", "provisioner", "db"):
        assert "Usage" in run("docker", "run", "--rm", image, command, "--help")


async def test_compose_brings_up_a_system_that_runs_workflows_and_keeps_them(compose: Compose) -> None:
    compose("up", "--detach")
    async with tinkwell.client.connect(compose("port", "server", "50051").strip()) as client:
        await client.hardware.push({"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": {"mac": MACHINE}}]}})
        template = await client.templates.create(name="composed", data=TEMPLATE)
        workflow = await client.workflows.create(template.id, {"device_1": MACHINE})
        async for event in client.workflows.watch(resource_id=workflow.id):
            if event.event_type in (EventType.WORKFLOW_SUCCEEDED, EventType.WORKFLOW_FAILED):
                break
        assert (await client.workflows.get(workflow.id)).state is State.SUCCEEDED
    compose("restart", "--timeout=10", "postgres", "server")
    async with tinkwell.client.connect(compose("port", "server", "50051").strip()) as client:
        await client.wait_ready(60)
        assert (await client.workflows.get(workflow.id)).state is State.SUCCEEDED


@pytest.fixture
def container_url(local_images: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A PostgreSQL that testcontainers starts. Its reaper is an image of a registry, and stays out."""
    monkeypatch.setattr(testcontainers.core.config.testcontainers_config, "ryuk_disabled", True)
    with PostgresContainer(POSTGRES, password="p@ss/word", driver=None) as postgres:
        yield postgres.get_connection_url()


async def test_a_server_works_on_a_postgresql_in_a_container(container_url: str) -> None:
    await schema.upgrade(container_url)
    async with (
        server_support.running(container_url) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        created = await client.hardware.push({"id": str(uuid.uuid4())})
        async for event in client.events.watch(from_revision=1):
            assert event.revision == created.revision
            break
