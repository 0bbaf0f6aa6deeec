"""A provisioner of releases as a process, against a real server, with resources that are files."""

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from support.waiting import eventually
from tinkwell.client import Client, Operation
from tinkwell.core.event.kinds import State

TESTS = Path(__file__).parents[1]
IMAGES = Path(__file__).parent / "resource_images"
SECONDS = 60.0


class Stage:
    """Releases of things (`resource_images/thing`), each of which is a file of `folder` and has a journal beside it."""

    def __init__(self, client: Client, address: str, path: Path) -> None:
        self.client = client
        self.address = address
        self.path = path
        self.state_dir = path / "state"
        self.folder = path / "things"
        self.folder.mkdir()

    @contextlib.asynccontextmanager
    async def provisioner(
        self, *arguments: str, state_dir: Path | None = None, module: Sequence[str] = ("tinkwell.provisioner",)
    ) -> AsyncIterator[Process]:
        """Run a provisioner that serves all namespaces; one that still runs at the end is killed."""
        command = [sys.executable, "-m", *module, "--server", self.address, "--releases", "all"]
        command += ["--runtime", "process", "--process-images", str(IMAGES)]
        command += ["--state-dir", str(state_dir or self.state_dir), "--log-level", "debug", *arguments]
        with (self.path / "stderr").open("ab") as stderr:
            process = await asyncio.create_subprocess_exec(
                *command, stderr=stderr, env={**os.environ, "PYTHONPATH": str(TESTS)}
            )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def thing(self, name: str, text: str = "content", **config: Any) -> dict[str, Any]:
        """Describe a thing."""
        return {"type": "thing", "config": {"path": str(self.folder / name), "text": text, **config}}

    async def apply(self, name: str = "shop", *, plugs: dict[str, Any] | None = None, **resources: Any) -> str:
        """Begin to apply a manifest; returns the operation's id. `options` are the call's own."""
        options = resources.pop("options", {})
        manifest = {"plugs": plugs or {}, "resources": resources}
        return (await self.client.releases.apply(name, manifest=json.dumps(manifest), **options)).id

    async def ends(self, operation_id: str, state: State = State.SUCCEEDED) -> Operation:
        """Wait until an operation has ended, as it should."""
        async with asyncio.timeout(SECONDS):
            operation = await self.client.releases.wait(operation_id)
        assert operation.state is state, (operation.cause, (self.path / "stderr").read_text()[-4000:])
        return operation

    def journal(self, name: str) -> list[str]:
        """What was done with a thing: when each call began, and when it ended."""
        path = self.folder / f"{name}.journal"
        return [line.partition(": ")[2] for line in path.read_text().splitlines()] if path.exists() else []

    def content(self, name: str) -> str | None:
        """What a thing holds; None where it is not there."""
        path = self.folder / name
        return path.read_text() if path.exists() else None

    def go(self, name: str) -> None:
        """Let the calls of a thing go on that wait."""
        (self.folder / f"{name}.go").touch()

    def let_all_go(self) -> None:
        """Let all calls go on that wait. Actions outlive their provisioner, and nothing else would end them."""
        for journal in self.folder.glob("*.journal"):
            self.go(journal.name.removesuffix(".journal"))

    async def has_begun(self, name: str, call: str, *, times: int = 1) -> None:
        """Wait until a call of a thing has begun, so many times."""
        await eventually(lambda: self.journal(name).count(f"{call} begins") >= times, deadline_seconds=SECONDS)

    async def has_failed(self, name: str, call: str) -> None:
        """Wait until a call of a thing has failed."""
        await eventually(lambda: f"{call} fails" in self.journal(name), deadline_seconds=SECONDS)

    async def holds(self, **contents: str | None) -> None:
        """Wait until things hold what they are to hold."""
        await eventually(
            lambda: all(self.content(name) == text for name, text in contents.items()), deadline_seconds=SECONDS
        )

    async def is_late(self, operation_id: str) -> None:
        """Wait until the deadline of an operation has passed."""

        async def is_late() -> bool:
            return ((await self.client.releases.operation(operation_id)).remaining_seconds or 1.0) < 0

        await eventually(is_late, deadline_seconds=SECONDS)

    def runs(self) -> list[str]:
        """What there is of runs."""
        return [path.name for path in (self.state_dir / "runs").iterdir()]
