"""Runs actions and steps as containers on a Docker Engine.

The container's name is made of the action or step and the attempt, so the engine prevents that two processes start the
same run. Its labels say which run it is; containers without these labels are never touched. The engine keeps the output
(`json-file`), so it can be read again after an adoption, and the container never blocks on it. A container that is
asked for an answer sends it only to the process that is attached; see `attachment`.

Mounts are folders of this machine. With an engine elsewhere, or with this process in a container, they must have the
same path where the engine runs.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from typing import Self

from tinkwell.core.value.run_key import WORDS, RunKey, RunKind
from tinkwell.provisioner.runtime import output_mark, port, workspace
from tinkwell.provisioner.runtime.docker import engine, host, image, inspection, label, setting
from tinkwell.provisioner.runtime.docker import run as docker_run
from tinkwell.provisioner.state_dir import state_dir

ANSWER_SECONDS = 10
WORKSPACE = "/workspace"


class DockerRuntime:
    """The runtime of a Docker Engine."""

    name = "docker"

    def __init__(
        self,
        found: engine.Engine,
        directory: state_dir.StateDir,
        *,
        settings: setting.DockerSettings | None = None,
        engine_id: str = "",
    ) -> None:
        self.engine_id = engine_id
        self._engine = found
        self._directory = directory
        self._settings = settings or setting.DockerSettings()
        self._images = image.ImageSource(found, self._settings)
        self._marks = output_mark.MarkFolder(directory)

    @classmethod
    async def connect(
        cls,
        directory: state_dir.StateDir,
        *,
        concurrency: int,
        fed_concurrency: int = 0,
        settings: setting.DockerSettings | None = None,
        answer_seconds: int = ANSWER_SECONDS,
    ) -> Self:
        """Connect to the engine; raises `RunError` if none answers in time.

        At most `concurrency` runs without input and `fed_concurrency` runs with input may be under way at once. A run
        needs two streams, one to read its log and one to wait for its end; a run with input needs three.
        """
        with docker_run.told():
            found = await engine.Engine.connect(
                streams=2 * concurrency + 3 * fed_concurrency + 2, answer_seconds=answer_seconds, settings=settings
            )
            try:
                return cls(found, directory, settings=settings, engine_id=await found.identity())
            except BaseException:
                found.close()
                raise

    @property
    def is_local(self) -> bool:
        """Whether the engine is reached by a Unix socket of this machine; another engine may be anywhere."""
        return self._engine.is_local

    def seen_at(self, mount: port.Mount) -> str:
        """Return the target of the mount."""
        return mount.target

    def workspace(self, key: RunKey) -> str:
        """Return a folder of the container, which the engine creates if the image does not have it."""
        return WORKSPACE

    async def image_id(self, image: str) -> str:
        """Return the image's digest; the image is pulled first if the pull policy says so."""
        with docker_run.told():
            return await self._images.identify(image)

    async def start(self, spec: port.RunSpec, may_begin: Callable[[], bool] = port.always) -> port.Run:
        """Create and start a container; the image is pulled first if the pull policy says so."""
        workspace.check(spec.files)
        with docker_run.told():
            run, is_new = await self._obtain(spec)
            if is_new:  # The engine would run a container that has ended once more.
                if spec.files:
                    await run.put(WORKSPACE, await asyncio.to_thread(workspace.archive, spec.files))
                await run.start(stdin=spec.stdin, answer_bytes=spec.answer_bytes, may_begin=may_begin)
            return run

    async def find(self, key: RunKey) -> docker_run.DockerRun | None:
        """Find a run by its container's name; a container whose labels do not name this run is ignored."""
        with docker_run.told():
            found = await self._inspect(key)
        return None if found is None else self._run(key, found.id, known=found)

    async def find_former(self, key: RunKey) -> list[port.Run]:
        """Find containers of earlier attempts by their labels, whatever state directory they were started with."""
        _, run_word = WORDS[key.kind]
        with docker_run.told():
            keys = await self._keys({run_word: key.run})
        formers = (other for other in keys if other.kind is key.kind and other.attempt < key.attempt)
        return [self._run(former, label.container_name(former)) for former in formers]

    async def find_owned(self, kind: RunKind, owner: str) -> list[port.Run]:
        """Find the containers of a workflow or release by their labels, whatever state directory they are from."""
        owner_word, _ = WORDS[kind]
        with docker_run.told():
            keys = await self._keys({owner_word: owner})
        return [self._run(key, label.container_name(key)) for key in keys if key.kind is kind]

    async def held(self, kind: RunKind) -> frozenset[RunKey]:
        """Return the runs whose containers have this state directory's id, started or not."""
        with docker_run.told():
            marks = await asyncio.to_thread(self._marks.names)  # First, because a container is older than its mark.
            keys = frozenset(await self._keys({"instance": self._directory.instance}))
            await asyncio.to_thread(self._marks.remove_others, marks, keys)
        return frozenset(key for key in keys if key.kind is kind)

    async def close(self) -> None:
        """Close the connections to the engine."""
        self._engine.close()

    async def _keys(self, labels: Mapping[str, str]) -> list[RunKey]:
        """Return the keys of all containers with these labels that say which run they are."""
        found = await self._engine.labels_of_all(labels=label.filters(labels))
        return [key for each in found if (key := label.key_of(each)) is not None]

    async def _inspect(self, key: RunKey) -> inspection.Container | None:
        """Describe a run's container; None if there is none whose labels name this run."""
        try:
            found = await self._engine.inspect(label.container_name(key))
        except engine.Gone:
            return None
        return found if label.key_of(found.labels) == key else None

    async def _obtain(self, spec: port.RunSpec) -> tuple[docker_run.DockerRun, bool]:
        """Return the run's container, and whether it is new. The image is provided if its creation finds it missing."""
        name = await self._images.prepare(spec.image)
        try:
            return await self._create(spec, name)
        except engine.Gone:
            name = await self._images.provide(spec.image)
        try:
            return await self._create(spec, name)
        except engine.Gone as error:
            raise image.vanished(name, error) from error

    async def _create(self, spec: port.RunSpec, image_name: str) -> tuple[docker_run.DockerRun, bool]:
        """Return the run's container, and whether it is new; raises `engine.Gone` if the image is missing.

        The engine may create the container and then be restarted before it answers. The next try finds the container
        and sees by its creation id that this call has created it.
        """
        creation = uuid.uuid4().hex
        name = label.container_name(spec.key)
        for mount in spec.mounts:
            mount.provide()
        deadline = asyncio.get_running_loop().time() + docker_run.CREATOR_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            try:
                created = await self._engine.create(
                    name=name,
                    image=image_name,
                    entrypoint=spec.entrypoint,
                    command=spec.command or (),
                    environment=spec.variables(),
                    labels=label.labels_of(
                        spec.key, instance=self._directory.instance, others={**spec.labels, label.CREATION: creation}
                    ),
                    host=host.host_config(spec, self._settings),
                    workdir=spec.workdir,
                    takes_input=spec.stdin is not None,
                )
            except engine.Gone:
                raise
            except engine.Refused as error:
                if error.status != engine.CONFLICT:
                    message = f"the engine refuses the container: {error}"
                    raise port.RunError(port.Reason.SPECIFICATION, message) from error
            else:
                return self._run(spec.key, created), True
            if (found := await self._inspect(spec.key)) is not None:
                is_new = label.is_of_creation(found.labels, creation)
                return self._run(spec.key, found.id, known=None if is_new else found), is_new
            await asyncio.sleep(docker_run.POLL_SECONDS)  # The name is taken before the container can be found.
        message = f"the engine has a container {name} that is not this run; remove it (docker rm -f {name})"
        raise port.RunError(port.Reason.UNAVAILABLE, message)

    def _run(self, key: RunKey, container: str, *, known: inspection.Container | None = None) -> docker_run.DockerRun:
        return docker_run.DockerRun(key, container, self._engine, self._marks, known=known)
