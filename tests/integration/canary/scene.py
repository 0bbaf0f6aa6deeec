"""Where secrets of releases are told: a server and provisioners as processes, and all places that they may get to."""

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import docker
import pytest
from integration.canary.conftest import Cage
from integration.provisioner import engine_image, python_image

from support import canary, release_stack, role
from support.dump import dump
from support.process import Process
from support.waiting import eventually
from tinkwell.server.secret import keys

SOURCE = Path(release_stack.__file__).parent / "resource_images" / "canary"
IMAGE = "tinkwell-test/canary:1"
SECONDS = 60.0
RUNTIMES = ["process", pytest.param("docker", marks=pytest.mark.docker)]
DEBUG = ("--log-level", "debug")

S = TypeVar("S", bound="Scene")


class Engine:
    """What a real engine shows and keeps of a provisioner's containers."""

    def __init__(self, client: docker.APIClient, state_dir: Path) -> None:
        self._client = client
        self._state_dir = state_dir
        self.folder = Path(client.info()["DockerRootDir"])

    def containers(self) -> list[str]:
        """The ids of the containers."""
        instance = (self._state_dir / "instance").read_text()
        found = self._client.containers(all=True, filters={"label": f"tinkwell.instance={instance}"})
        return [container["Id"] for container in found]

    def shown(self) -> dict[str, str]:
        """What is shown of each container, by its id."""
        found = {}
        for container in self.containers():
            with contextlib.suppress(docker.errors.NotFound):
                found[container] = json.dumps(self._client.inspect_container(container), indent=1)
        return found

    def remove_all(self) -> None:
        """Remove what a test that has failed leaves."""
        for container in self.containers():
            with contextlib.suppress(docker.errors.APIError):
                self._client.remove_container(container, force=True, v=True)


class Scene:
    """A server and provisioners as processes, and releases of resources that have secrets and tell all.

    Subclasses say what the configs of the resources are, once all in them is evaluated.
    """

    def __init__(self, cage: Cage, database_url: str, engine: Engine | None) -> None:
        self.cage = cage
        self.engine = engine
        self.state_dir = cage.path / "provisioner"
        self.files = cage.path / "files"
        # Of this run alone, since engines keep what others leave there.
        self.since = time.time()
        self.mark = canary.named(uuid.uuid4().hex)
        self.server = ""
        self._database_url = database_url
        self._keys = cage.path / "secret.keys"
        self.files.mkdir()
        self.files.chmod(0o777)
        keys.create(self._keys)

    def secret(self, name: str) -> str:
        return f"{self.mark}-{name} é+/&"

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        settings = {
            "TINKWELL_DATABASE_URL": role.url_of_server(self._database_url),
            "TINKWELL_SECRET_KEYS": str(self._keys),
            "TINKWELL_THROWAWAY_DATABASE": "true",
        }
        async with self.cage.running("server", "--port", "0", "--http-port", "0", *DEBUG, **settings) as server:
            self.server = (await server.line(r"^gRPC +(\S+)$"))[1]
            await server.line(r"^HTTP +(\S+)$")
            yield

    @contextlib.asynccontextmanager
    async def provisioner(self) -> AsyncIterator[Process]:
        runtime: tuple[str, ...] = ("--runtime", "docker")
        if self.engine is None:
            runtime = ("--runtime", "process", "--process-images", str(self.cage.path / "images"))
        options = ("--releases", "all", "--state-dir", str(self.state_dir), "--plug", f"files={self.files}", *runtime)
        async with self.running("provisioner", *options, *DEBUG) as provisioner:
            await provisioner.line("releases are watched")
            yield provisioner

    def running(self, *words: str) -> contextlib.AbstractAsyncContextManager[Process]:
        return self.cage.running(*words, TINKWELL_SERVER=self.server, PATH=release_stack.path())

    async def ok(self, *words: str) -> str:
        code, output = await self.cage.run(*words, TINKWELL_SERVER=self.server)
        assert code == 0, output
        return output

    def configs(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the configs of the resources by their names, as they are when all is evaluated."""
        raise AssertionError("a subclass says it")

    def told(self, name: str) -> list[str]:
        """The calls of a resource, with digests of what they were given."""
        return (self.files / f"{name}.told").read_text().splitlines()

    def expected(self, name: str, *calls: str) -> list[str]:
        """The same, where they have got the true values."""
        config, secret = self.configs()[name], self.secret(name)
        stale = {"generated": secret, "is": f"made with {secret}"}
        given: Mapping[str, Any] = {"state": {"config": config}, "make": {"config": config, "staleState": stale}}
        return [f"{call} {_digest(given[call])}" for call in calls]

    def hold(self, name: str, call: str) -> Callable[[], None]:
        """Have a call wait until what is returned is called."""
        gate = self.files / f"{name}.{call}.wait"
        gate.touch()
        return gate.unlink

    async def has_begun(self, name: str, call: str, apply: Process) -> None:
        """Wait until a call has begun."""
        begun = self.files / f"{name}.{call}.begun"
        try:
            await eventually(begun.exists, deadline_seconds=SECONDS, interval_seconds=0.02)
        except TimeoutError:
            raise AssertionError(f"{name}.{call} has not begun:\n{apply.output}") from None

    async def nothing_is_kept(self) -> None:
        """Wait until nothing below the state directory and the engine's folder has a secret; calls go away in time."""
        folders = [self.state_dir]
        if self.engine is not None and os.access(self.engine.folder, os.R_OK):
            folders.append(self.engine.folder)
        found: list[str] = []

        async def is_clean() -> bool:
            nonlocal found
            looks = [asyncio.to_thread(canary.files_with, folder, self.mark, since=self.since) for folder in folders]
            found = [file for files in await asyncio.gather(*looks) for file in files]
            return not found

        try:
            await eventually(is_clean, deadline_seconds=SECONDS, interval_seconds=0.2)
        except TimeoutError:
            raise AssertionError(f"secrets are in {found}") from None

    async def dumped(self) -> list[str]:
        """The lines of a dump of the database that hold a secret, also as bytes."""
        text = await dump(self._database_url)
        return canary.lines_with(text) + [line for line in text.splitlines() if self.mark.encode().hex() in line]

    async def written(self) -> list[str]:
        """The files of PostgreSQL that hold a secret, its write-ahead log and what it says itself among them.

        There are none where the cluster of the tests is not of this machine.
        """
        connection = await asyncpg.connect(self._database_url)
        data = Path(await connection.fetchval("SHOW data_directory"))
        await connection.execute("CHECKPOINT")
        await connection.close()
        return await asyncio.to_thread(_files_of_postgres_with, data, self.mark, self.since)


@contextlib.asynccontextmanager
async def opened(kind: type[S], runtime: str, cage: Cage, database_url: str) -> AsyncIterator[S]:
    """Make a scene of a kind for a runtime, which is `process` or `docker`."""
    if runtime == "process":
        release_stack.link_images(cage.path / "images", {IMAGE: SOURCE})
        yield kind(cage, database_url, None)
        return
    with engine_image.engine_or_skip() as client:
        folder = shutil.copytree(SOURCE, cage.path / "image")
        python_image.build(client, folder, IMAGE)
        engine = Engine(client, cage.path / "provisioner")
        yield kind(cage, database_url, engine)
        engine.remove_all()


def _files_of_postgres_with(data: Path, mark: str, since: float) -> list[str]:
    places = [place for place in (data, *data.parent.glob("*.log")) if place.exists()]
    return [file for place in places for file in canary.files_with(place, mark, since=since)]


def _digest(given: object) -> str:
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()
