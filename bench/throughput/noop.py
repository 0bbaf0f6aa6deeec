"""A runtime whose runs do nothing: they end with code 0 as soon as they have begun, or last until they are killed."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.output import OutputLine

# The image of runs that last.
STAYS = "stays"


@dataclass(frozen=True, slots=True)
class NoopRun:
    """A run, by what it is kept in, and whether it has ended."""

    key: RunKey
    image_id: str
    _there: "dict[RunKey, NoopRun]"
    _has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def lines(self) -> AsyncGenerator[OutputLine, None]:
        """Yield nothing."""
        await self._has_ended.wait()
        nothing: tuple[OutputLine, ...] = ()
        for line in nothing:
            yield line

    async def wait(self) -> port.Exit:
        """Return at once if it has ended."""
        await self._has_ended.wait()
        return port.Exit(code=0, seconds=0.0)

    async def answer(self) -> bytes:
        """Answer nothing."""
        return b""

    async def was_fed(self) -> bool:
        """Say yes: it needs nothing."""
        return True

    async def kill(self) -> None:
        """End it."""
        self._has_ended.set()

    async def remove(self) -> None:
        """Forget it."""
        self._has_ended.set()
        self._there.pop(self.key, None)


@dataclass(frozen=True, slots=True)
class NoopRuntime:
    """Keeps the keys of what was started and not removed, as every runtime does."""

    name: str = "noop"
    engine_id: str = ""
    is_local: bool = True
    _there: dict[RunKey, NoopRun] = field(default_factory=dict)

    def seen_at(self, mount: port.Mount) -> str:
        """Return where it would be."""
        return mount.target

    def workspace(self, key: RunKey) -> str:
        """Return where it would be."""
        return "/workspace"

    async def image_id(self, image: str) -> str:
        """Return the image itself."""
        return image

    async def start(self, spec: port.RunSpec, may_begin: Callable[[], bool] = port.always) -> port.Run:
        """Return the run of this key."""
        run = self._there.setdefault(spec.key, NoopRun(spec.key, "", self._there))
        if spec.image != STAYS:
            await run.kill()
        return run

    async def find(self, key: RunKey) -> port.Run | None:
        """Find what was started and not removed."""
        return self._there.get(key)

    async def find_former(self, key: RunKey) -> list[port.Run]:
        """Find nothing: no attempt is repeated."""
        return []

    async def find_owned(self, kind: RunKind, owner: str) -> list[port.Run]:
        """Find what was started and not removed."""
        return [run for key, run in self._there.items() if (key.kind, key.owner) == (kind, owner)]

    async def held(self, kind: RunKind) -> frozenset[RunKey]:
        """Return the keys of what was started and not removed."""
        return frozenset(key for key in self._there if key.kind is kind)

    async def close(self) -> None:
        """Do nothing."""
