"""A provisioner that dies at a certain moment, as by `kill -9`: nothing it does from then on has any effect."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

from unit.provisioner.fake_runtime import FakeRuntime

from tinkwell.client import errors
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import output, port


class Life:
    """Counts what a provisioner does to the world, and ends before the last of so many deeds."""

    def __init__(self, deeds: int | None) -> None:
        self.done = 0
        self._left = deeds

    @property
    def is_over(self) -> bool:
        return self._left is not None and self.done >= self._left

    def spend(self) -> None:
        """Take note of another deed; raises `RunError` where it is not done any more."""
        if self.is_over:
            raise port.RunError(port.Reason.UNAVAILABLE, "dead")
        self.done += 1

    async def call(self, actor: str, method: str, request: Any) -> None:
        """Stand before each call of the server."""
        if actor != "operator" and method != "Renew":
            try:
                self.spend()
            except port.RunError as error:
                raise errors.Unavailable("dead") from error


class MortalRuntime:
    """A runtime as somebody uses it who may die."""

    name, engine_id, is_local = FakeRuntime.name, FakeRuntime.engine_id, True

    def __init__(self, runtime: FakeRuntime, life: Life) -> None:
        self._runtime = runtime
        self._life = life
        self.seen_at, self.workspace, self.image_id = runtime.seen_at, runtime.workspace, runtime.image_id

    async def start(self, spec: port.RunSpec, may_begin: Callable[[], bool] = port.always) -> port.Run:
        self._life.spend()
        return _MortalRun(await self._runtime.start(spec, may_begin), self._life)

    async def find(self, key: RunKey) -> port.Run | None:
        self._life.spend()
        found = await self._runtime.find(key)
        return None if found is None else _MortalRun(found, self._life)

    async def find_former(self, key: RunKey) -> list[port.Run]:
        return [_MortalRun(run, self._life) for run in await self._runtime.find_former(key)]

    async def find_owned(self, kind: RunKind, owner: str) -> list[port.Run]:
        self._life.spend()
        return [_MortalRun(run, self._life) for run in await self._runtime.find_owned(kind, owner)]

    async def held(self, kind: RunKind) -> frozenset[RunKey]:
        return await self._runtime.held(kind)

    async def close(self) -> None:
        pass


class _MortalRun:
    def __init__(self, run: port.Run, life: Life) -> None:
        self._run = run
        self._life = life
        self.key = run.key
        self.image_id = run.image_id
        self.was_fed = run.was_fed

    def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        return self._run.lines()

    async def wait(self) -> port.Exit:
        return await self._run.wait()

    async def answer(self) -> bytes:
        self._life.spend()
        return await self._run.answer()

    async def kill(self) -> None:
        self._life.spend()
        await self._run.kill()

    async def remove(self) -> None:
        self._life.spend()
        await self._run.remove()
