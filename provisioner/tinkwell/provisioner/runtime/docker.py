"""Runs an action as a container on a Docker Engine.

The container's name is made of the action and the attempt, so the engine itself keeps two starters from starting one
run twice. Its labels say whose it is. Its output is kept by the engine (`json-file`) and read from there, so that it
can be read again after an adoption; the engine, not the reader, keeps the container from blocking on its output.

A workflow's files are a folder of the state directory, mounted at /workflow. With an engine elsewhere, or with this
process in a container, the state directory must have the same path where the engine runs.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Self

from tinkwell.core.decide import RunKey
from tinkwell.provisioner import state
from tinkwell.provisioner.runtime import engine, output, port, stream

LABEL_PREFIX = "tinkwell."
WORKFLOW_DIR = "/workflow"
ANSWER_SECONDS = 10
WAIT_SECONDS = 60.0
KILL_SECONDS = 10.0
REOPEN_SECONDS = 0.5
POLL_SECONDS = 0.1
CREATOR_SECONDS = 3.0
# Only the first `output.MAX_BYTES` are ever read; escaped as JSON they fit into what is kept.
LOG_OPTIONS = {"max-size": "100m", "max-file": "2"}


class DockerRuntime:
    """The runtime of a Docker Engine."""

    name = "docker"

    def __init__(self, found: engine.Engine, directory: state.StateDir, *, is_privileged: bool = False) -> None:
        self._engine = found
        self._directory = directory
        self._is_privileged = is_privileged

    @classmethod
    async def connect(
        cls,
        directory: state.StateDir,
        *,
        concurrency: int,
        is_privileged: bool = False,
        answer_seconds: int = ANSWER_SECONDS,
    ) -> Self:
        """Find the engine; raises `RunError` where none answers in time.

        Each run reads its log and waits for its end at the same time, so it needs two streams.
        """
        with _told():
            found = await engine.Engine.connect(streams=2 * concurrency + 2, answer_seconds=answer_seconds)
        return cls(found, directory, is_privileged=is_privileged)

    async def start(self, spec: port.RunSpec) -> port.Run:
        """Create and start a container; the image is pulled only where the engine does not have it."""
        with _told():
            await self._ensure_image(spec.image)
            run, is_new = await self._create(spec)
            if is_new:  # the engine would start one that has ended once more
                await run.start()
            return run

    async def find(self, key: RunKey) -> "DockerRun | None":
        """Find a run by its container's name."""
        with _told():
            try:
                found = await self._engine.inspect(container_name(key))
            except engine.Gone:
                return None
        return DockerRun(key, found.id, self._engine)

    async def held(self) -> frozenset[RunKey]:
        """Return the runs whose containers carry this state directory's mark."""
        mine = f"{LABEL_PREFIX}instance={self._directory.instance}"
        with _told():
            found = await self._engine.labels_of_all(labels=[f"{LABEL_PREFIX}managed=true", mine])
        return frozenset(
            RunKey(
                labels[f"{LABEL_PREFIX}workflow"],
                labels[f"{LABEL_PREFIX}action"],
                int(labels[f"{LABEL_PREFIX}attempt"]),
            )
            for labels in found
        )

    async def close(self) -> None:
        """Let go of the engine."""
        self._engine.close()

    async def _ensure_image(self, image: str) -> None:
        if await self._engine.has_image(image):
            return
        try:
            await self._engine.pull(image)
        except engine.Refused as error:
            message = f"the image {image} is not on the engine and cannot be pulled: {error}"
            raise port.RunError(port.Reason.IMAGE, message) from error

    async def _create(self, spec: port.RunSpec) -> "tuple[DockerRun, bool]":
        """Return the run's container, and whether it is new."""
        name = container_name(spec.key)
        deadline = asyncio.get_running_loop().time() + CREATOR_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            try:
                created = await self._engine.create(
                    name=name,
                    image=spec.image,
                    command=spec.command,
                    environment=spec.environment_in(WORKFLOW_DIR),
                    labels=self._labels(spec),
                    host=self._host(spec),
                )
            except engine.Refused as error:
                if error.status != engine.CONFLICT:
                    message = f"the engine refuses the container: {error}"
                    raise port.RunError(port.Reason.SPECIFICATION, message) from error
            else:
                return DockerRun(spec.key, created, self._engine), True
            if (found := await self.find(spec.key)) is not None:
                return found, False
            await asyncio.sleep(POLL_SECONDS)  # the name is taken some time before its container is there
        raise port.RunError(port.Reason.UNAVAILABLE, f"the engine says that {name} is there, and that it is not")

    def _host(self, spec: port.RunSpec) -> dict[str, Any]:
        files = self._directory.workflow_dir(spec.key.workflow_id, spec.worker_id)
        return {
            "binds": [f"{files}:{WORKFLOW_DIR}", *spec.volumes],
            "pid_mode": spec.pid or None,
            "privileged": self._is_privileged,
            "log_config": {"type": "json-file", "config": LOG_OPTIONS},
        }

    def _labels(self, spec: port.RunSpec) -> dict[str, str]:
        labels = {
            "managed": "true",
            "instance": self._directory.instance,
            "workflow": spec.key.workflow_id,
            "action": spec.key.action_id,
            "attempt": str(spec.key.attempt),
            "task": spec.task_name,
            "name": spec.action_name,
            "worker": spec.worker_id,
        }
        return {f"{LABEL_PREFIX}{name}": value for name, value in labels.items()}


class DockerRun:
    """A run of the docker runtime: one container."""

    def __init__(self, key: RunKey, container: str, found: engine.Engine) -> None:
        self.key = key
        self.container = container
        self._engine = found
        self._is_over = False
        self._stream: stream.Stream | None = None

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the output, in passes over the engine's log; each begins at its start, and what is known is skipped.

        A pass that follows the log may break off. It may also end well and too early: an engine stops following when
        the container ends, also where the reader is behind. So the last pass is one that began after the end.
        """
        last, is_complete = 0, False
        with _told():
            while not is_complete:
                reader = output.OutputReader()
                async with contextlib.aclosing(self._read(reader, is_over=await self._has_ended())) as lines:
                    async for line in lines:
                        if line.number > last:
                            last = line.number
                            yield line
                is_complete = reader.is_full or reader.is_finished
                if not is_complete and not await self._has_ended():
                    await asyncio.sleep(REOPEN_SECONDS)

    async def wait(self) -> port.Exit:
        """Wait for the container's end."""
        with _told():
            await self._ensure_started()
            while not (found := await self._inspect()).is_over:
                if found.is_running:
                    await self._engine.wait(self.container, at_most_seconds=WAIT_SECONDS)
                else:  # it is being removed
                    await asyncio.sleep(POLL_SECONDS)
        self._is_over = True
        if self._stream is not None:
            self._stream.end_soon()
        return port.Exit(code=found.exit_code, seconds=found.seconds, note=found.note)

    async def kill(self) -> None:
        """Kill the container, and wait for its end."""
        with _told():
            await self._engine.kill(self.container)
            try:
                async with asyncio.timeout(KILL_SECONDS):
                    while (await self._engine.inspect(self.container)).is_running:
                        await self._engine.wait(self.container, at_most_seconds=KILL_SECONDS)
            except engine.Gone:
                return
            except TimeoutError:
                message = f"the container did not die within {KILL_SECONDS:.0f} s"
                raise port.RunError(port.Reason.UNAVAILABLE, message) from None

    async def remove(self) -> None:
        """Remove the container and its anonymous volumes."""
        with _told():
            await self._engine.remove(self.container)

    async def start(self) -> None:
        """Start the container, which was never started."""
        try:
            await self._engine.start(self.container)
        except engine.Refused as error:
            await self._engine.remove(self.container)
            raise port.RunError(port.Reason.ENTRY_POINT, f"the container did not start: {error}") from error

    async def _ensure_started(self) -> None:
        """Start a container whose creator died before it could; a creator that lives is given the time to do it."""
        deadline = asyncio.get_running_loop().time() + CREATOR_SECONDS
        while (await self._inspect()).status == "created":
            if asyncio.get_running_loop().time() > deadline:
                await self.start()
            await asyncio.sleep(POLL_SECONDS)

    async def _read(self, reader: output.OutputReader, *, is_over: bool) -> AsyncGenerator[output.OutputLine, None]:
        """Yield what one pass brings; the reader is finished when that was everything."""
        try:
            self._stream = await self._engine.logs(self.container, follow=not is_over)
            if is_over or self._is_over:
                self._stream.end_soon()
            async with contextlib.aclosing(self._stream.chunks()) as chunks:
                async for chunk in chunks:
                    for line in reader.feed(chunk):
                        yield line
                    if reader.is_full:
                        return
        except stream.BrokenStreamError:
            return
        except engine.Gone:
            is_over = True  # what was read is all there ever will be
        if is_over:
            for line in reader.finish():
                yield line
        else:  # the log ends a moment before the container is said to have ended
            await self._engine.wait(self.container, at_most_seconds=KILL_SECONDS)

    async def _has_ended(self) -> bool:
        try:
            return (await self._engine.inspect(self.container)).is_over
        except engine.Gone:
            return True

    async def _inspect(self) -> engine.Container:
        try:
            return await self._engine.inspect(self.container)
        except engine.Gone as error:
            raise port.RunError(port.Reason.LOST, "its container was removed by somebody else") from error


def container_name(key: RunKey) -> str:
    """Return the name that the container of a run has, and no other."""
    return f"tinkwell-{state.checked(key.action_id)}-{key.attempt}"


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Tell errors of the engine as errors of the run."""
    try:
        yield
    except engine.Unreachable as error:
        message = f"the Docker Engine does not answer: {error}"
        raise port.RunError(port.Reason.UNAVAILABLE, message) from error
    except engine.EngineError as error:
        raise port.RunError(port.Reason.UNAVAILABLE, f"the Docker Engine failed: {error}") from error
    except (OSError, state.StateError) as error:
        message = f"the state directory cannot be used: {error}"
        raise port.RunError(port.Reason.UNAVAILABLE, message) from error
