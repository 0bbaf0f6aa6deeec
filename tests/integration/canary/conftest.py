"""Where canaries are put: a database with a password, and commands that run with as much of a log as there is."""

import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from support import canary, process, tcp_postgres
from support.tcp_postgres import Site
from tinkwell.server.app.dev import place
from tinkwell.server.database import schema

PASSWORD = canary.named("database-password")


class Cage:
    """Runs commands, and keeps all that they write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers = itertools.count(1)
        self._runs: list[process.Process] = []

    @contextlib.asynccontextmanager
    async def running(self, *arguments: str, **environment: str) -> AsyncIterator[process.Process]:
        """Run `tinkwell ARGUMENTS` until the block ends."""
        log = self.path / f"{next(self._numbers)}.log"
        home = {"HOME": str(self.path), "XDG_STATE_HOME": str(self.path / "state")}
        async with process.running(*arguments, log=log, environment={**home, **environment}) as command:
            self._runs.append(command)
            yield command

    async def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run a command to its end; returns its exit code and all that it wrote."""
        async with self.running(*arguments, **environment) as command:
            return await command.wait(deadline_seconds=60), command.output

    @property
    def escaped(self) -> list[str]:
        """The lines that hold a canary, of all that was written by commands and into files of state."""
        files = [path.read_text(errors="replace") for path in self.path.rglob("*.jsonl")]
        return [line for text in [*(run.output for run in self._runs), *files] for line in canary.lines_with(text)]


@pytest.fixture
def cage(tmp_path: Path) -> Cage:
    return Cage(tmp_path)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def site() -> AsyncIterator[Site]:
    """A PostgreSQL on a TCP port, with a password and the schema."""
    with place.temporary() as state_dir:
        async with tcp_postgres.running(state_dir, password=PASSWORD) as site:
            await schema.upgrade(f"postgresql://tinkwell@/postgres?host={site.socket}&port={site.port}")
            yield site
