"""A runtime whose runs do what a test says. It passes the same conformance suite as the real ones."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from tinkwell.client.workflow.model import LogStream
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import output, port, workspace

KILLED = 137


@dataclass
class FakeWorld:
    """What outlives a runtime: its runs, their files, and how often each was started."""

    runs: dict[RunKey, "FakeRun"] = field(default_factory=dict)
    starts: Counter[RunKey] = field(default_factory=Counter)
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    # Removing these fails, as an engine that is away makes it.
    unremovable: set[RunKey] = field(default_factory=set)
    peak: int = 0

    @property
    def running(self) -> list[RunKey]:
        return [key for key, run in self.runs.items() if run.ending is None]


class FakeRun:
    """A run that goes on until the test ends or kills it."""

    def __init__(self, world: FakeWorld, spec: port.RunSpec) -> None:
        self.key = spec.key
        self.spec = spec
        self.image_id = ""
        self.is_fed = True
        self.ending: port.Exit | None = None
        self.lines_read = 0
        self._world = world
        self._frames: list[bytes] = []
        self._answer = bytearray()
        self._changed = asyncio.Condition()

    async def write(self, text: bytes | str, stream: LogStream = LogStream.STDOUT) -> None:
        """Let the run write."""
        payload = text.encode() if isinstance(text, str) else text
        if self.spec.answer_bytes and stream is LogStream.STDOUT:
            self._answer += payload[: self.spec.answer_bytes + 1 - len(self._answer)]
            if len(self._answer) > self.spec.answer_bytes:
                await self.kill()
            return
        async with self._changed:
            self._frames.append(output.frame(stream, payload))
            self._changed.notify_all()

    async def exit(self, code: int = 0) -> None:
        """Let the run end."""
        async with self._changed:
            if self.ending is None:
                self.ending = port.Exit(code=code, seconds=1.5)
            self._changed.notify_all()

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        reader = output.OutputReader()
        taken = 0
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self.ending is not None or taken < len(self._frames))  # noqa: B023
                frames, is_over = self._frames[taken:], self.ending is not None
            taken += len(frames)
            for line in reader.feed(b"".join(frames)):
                self.lines_read = max(self.lines_read, line.number)
                yield line
            if is_over:
                break
        for line in reader.finish():
            yield line

    async def wait(self) -> port.Exit:
        async with self._changed:
            await self._changed.wait_for(lambda: self.ending is not None)
        assert self.ending is not None
        return self.ending

    async def answer(self) -> bytes:
        if len(self._answer) > self.spec.answer_bytes:
            message = f"it answers with more than {self.spec.answer_bytes:,} bytes"
            raise port.RunError(port.Reason.ANSWER, message)
        return bytes(self._answer)

    async def was_fed(self) -> bool:
        return self.is_fed

    async def kill(self) -> None:
        await self.exit(KILLED)

    async def remove(self) -> None:
        if self.key in self._world.unremovable:
            raise port.RunError(port.Reason.UNAVAILABLE, "the engine is away")
        await self.kill()
        self._world.runs.pop(self.key, None)


class FakeRuntime:
    """Starts fake runs. `perform` is called with each new one."""

    name = "fake"
    engine_id = ""
    is_local = True

    def __init__(self, world: FakeWorld, perform: Callable[[FakeRun], None] | None = None) -> None:
        self.world = world
        self.perform = perform
        self.failures: dict[str, Exception] = {}
        # What the content of images is named, where a test has changed it.
        self.image_ids: dict[str, str] = {}
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.may_identify = asyncio.Event()
        self.may_identify.set()

    def seen_at(self, mount: port.Mount) -> str:
        return mount.target

    def workspace(self, key: RunKey) -> str:
        return "/workspace"

    async def image_id(self, image: str) -> str:
        await self.may_identify.wait()
        if (failure := self.failures.get(image)) is not None:
            raise failure
        return self.image_ids.get(image, f"id of {image}")

    async def start(self, spec: port.RunSpec, may_begin: Callable[[], bool] = port.always) -> port.Run:
        await self.may_start.wait()
        if (failure := self.failures.get(spec.image)) is not None:
            raise failure
        if (found := self.world.runs.get(spec.key)) is not None:
            return found
        _check_mounts(spec)
        workspace.check(spec.files)
        run = self.world.runs[spec.key] = FakeRun(self.world, spec)
        run.image_id = await self.image_id(spec.image)
        if not may_begin():
            self.world.runs.pop(spec.key, None)
            raise port.forbidden()
        self.world.starts[spec.key] += 1
        self.world.peak = max(self.world.peak, len(self.world.running))
        if self.perform is not None:
            self.perform(run)
        return run

    async def find(self, key: RunKey) -> port.Run | None:
        return self.world.runs.get(key)

    async def find_former(self, key: RunKey) -> list[port.Run]:
        owned = await self.find_owned(key.kind, key.owner)
        return [run for run in owned if run.key.run == key.run and run.key.attempt < key.attempt]

    async def find_owned(self, kind: RunKind, owner: str) -> list[port.Run]:
        return [run for key, run in self.world.runs.items() if (key.kind, key.owner) == (kind, owner)]

    async def held(self, kind: RunKind) -> frozenset[RunKey]:
        return frozenset(key for key in self.world.runs if key.kind is kind)

    async def close(self) -> None:
        pass


def _check_mounts(spec: port.RunSpec) -> None:
    for mount in spec.mounts:
        if not mount.may_create and not Path(mount.source).exists():
            raise port.RunError(port.Reason.SPECIFICATION, f"{mount.source} is not there")
