"""A server, a provisioner of releases on the Docker Engine, and a client; and `docker run` with the same image."""

import asyncio
import contextlib
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import tinkwell.client
from bench import process
from bench.context import Context
from bench.release import resource
from tinkwell.client import Operation

LONGEST_SECONDS = 120
_CALLED = re.compile(r"^called (\d+) (\d+) \d+ \S+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Site:
    """What benchmarks of releases in containers share. `data` is a folder for the volume of `docker run`."""

    client: tinkwell.client.Client
    provisioner: process.Program
    data: Path

    async def apply(self, release: str, manifest: str) -> Operation:
        """Apply a manifest, and wait until it is brought about."""
        async with asyncio.timeout(LONGEST_SECONDS):
            return await (await self.client.releases.apply(release, manifest=manifest)).result()

    async def uninstall(self, release: str) -> None:
        """Remove a release."""
        async with asyncio.timeout(LONGEST_SECONDS):
            await (await self.client.releases.uninstall(release)).result()

    def calls(self) -> list[tuple[float, float]]:
        """Return how many seconds each call took that has ended: in the engine, and with its reports."""
        found = _CALLED.findall(self.provisioner.log.read_text(errors="replace"))
        return [(int(in_engine) / 1e9, int(whole) / 1e9) for in_engine, whole in found]

    async def run_plainly(self, name: str, *command: str, poll_seconds: float = 0.0) -> float:
        """Give a resource's image its document by `docker run`, and return the seconds until it has answered.

        With `poll_seconds` it is looked only so often whether that has ended.
        """
        began = time.perf_counter()
        running = await asyncio.create_subprocess_exec(
            *("docker", "run", "--rm", "-i", "--volume", f"{self.data}:{resource.DATA}", resource.NAME, *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        asking = asyncio.ensure_future(running.communicate(resource.document(name)))
        if poll_seconds:
            await until(lambda: running.returncode is not None, interval_seconds=poll_seconds)
        said, _ = await asking
        if running.returncode or not said.startswith(b"{"):
            raise process.Failed(f"docker run said {said!r} and ended with {running.returncode}")
        return time.perf_counter() - began


async def until(condition: Callable[[], bool], *, interval_seconds: float = 0.01) -> None:
    """Look again and again whether a condition holds. Raises `TimeoutError`."""
    async with asyncio.timeout(LONGEST_SECONDS):
        while True:
            await asyncio.sleep(interval_seconds)
            if condition():
                return


async def output(*command: str) -> str:
    """Run a program to its end, and return what it wrote. Raises `process.Failed`."""
    running = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(LONGEST_SECONDS):
        said, _ = await running.communicate()
    text = said.decode(errors="replace")
    if running.returncode:
        raise process.Failed(f"{' '.join(command)} ended with {running.returncode}: {text}")
    return text


@contextlib.asynccontextmanager
async def opened(context: Context) -> AsyncIterator[Site]:
    """Run a server and a provisioner until the block ends."""
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        data = context.directory / "data"
        data.mkdir()
        command = (sys.executable, "-m", "bench.release.agent", server.address, str(context.directory / "state"))
        async with process.program(*command, log=context.directory / "release.log") as running:
            await running.line("releases are watched")
            yield Site(client, running, data)
