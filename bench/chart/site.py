"""A server, a provisioner of releases that runs processes, and a client; and the resources, which sleep."""

import asyncio
import contextlib
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tinkwell.client
from bench import process
from bench.context import Context
from bench.release.site import LONGEST_SECONDS, until

_SLEEPER = "sleeper"
# The ordinal of the first call, which is made of all before anything is changed.
_INIT = "1"
_CALLED = re.compile(r"^called \d+ \d+ (\d+) (\S+)/(\d+)$", re.MULTILINE)
_RUN = """\
#!/bin/sh
given=$(cat)
config=${given#*\\"config\\":}
made=${config#*\\"made\\":}
made=${made#*\\"}
made=${made%%\\"*}
case ${1:-init} in
init) echo '{"state_action": {"args": ["state"]}}' ;;
state)
    seconds=${config#*\\"seconds\\":}
    seconds=${seconds#*\\"}
    seconds=${seconds%%\\"*}
    if [ -e "$made" ]; then
        echo '{"status": "VALID", "state": {}}'
    else
        echo '{"status": "STALE", "actions": [{"name": "make", "args": ["make", "'"$seconds"'"]}]}'
    fi ;;
make) sleep "$2"; : >"$made" ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """A release that was installed: its seconds, and by path those that calls of resources ran, without `init`."""

    seconds: float
    calls: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Site:
    """What benchmarks of sleeping charts share. `folder` is where resources leave what they have made."""

    client: tinkwell.client.Client
    provisioner: process.Program
    folder: Path

    def sleeper(self, seconds: float) -> dict[str, Any]:
        """Return a resource whose one action sleeps, and which is new in each release."""
        made = f"{self.folder}/{{{{ release.name }}}}-{{{{ chart.name }}}}"
        return {"type": _SLEEPER, "config": {"made": made, "seconds": f"{seconds:.2f}"}}

    async def install(self, release: str, archive: bytes, *, count: int, wait: str, parallel: int) -> Sample:
        """Install a chart of so many resources, which is uploaded before, and wait until it is brought about."""
        chart = await self.client.releases.upload_chart(archive)
        before = len(self._called())
        async with asyncio.timeout(LONGEST_SECONDS):
            began = time.perf_counter()
            handle = await self.client.releases.install(release, chart.digest, wait=wait, parallel=parallel)
            await handle.result()
            seconds = time.perf_counter() - began
        # Of each `init`, the state, the action, and the state again.
        await until(lambda: len(self._called()) >= before + 4 * count)
        calls: Counter[str] = Counter()
        for nanoseconds, path, ordinal in self._called()[before:]:
            if ordinal != _INIT:
                calls[path] += int(nanoseconds)
        return Sample(seconds, {path: spent / 1e9 for path, spent in calls.items()})

    def _called(self) -> list[tuple[str, str, str]]:
        return _CALLED.findall(self.provisioner.log.read_text(errors="replace"))


@contextlib.asynccontextmanager
async def opened(context: Context) -> AsyncIterator[Site]:
    """Run a server and a provisioner until the block ends."""
    directory = context.directory / "charts"
    folder, image = directory / "made", directory / "images" / _SLEEPER
    folder.mkdir(parents=True)
    image.mkdir(parents=True)
    (image / "run").write_text(_RUN)
    (image / "run").chmod(0o700)
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        where = (server.address, str(directory / "state"), str(image.parent))
        command = (sys.executable, "-m", "bench.release.agent", *where)
        async with process.program(*command, log=context.directory / "chart.log") as running:
            await running.line("releases are watched")
            yield Site(client, running, folder)
