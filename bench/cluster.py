"""The run's own PostgreSQL: embedded, durable, and with a fresh database for each sample."""

import itertools
import urllib.parse
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from tinkwell.server.app.dev import binaries, place, postgres
from tinkwell.server.app.dev.binaries import Binaries
from tinkwell.server.database import schema

# Checkpoints happen between samples, not in them. Files of the write-ahead log are used again, as in a cluster that has
# run for a while: to make a new one, 16 MB that are written and flushed, holds all commits up. All else is PostgreSQL's
# own default, fsync included.
SETTINGS = {"min_wal_size": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "1h", "autovacuum_naptime": "1h"}
_USE_LOG_FILES = "SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal() FROM generate_series(1, 64)"
_SHOWN = (
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "shared_buffers",
    "huge_pages_status",
    "max_connections",
)
_TEMPLATE = "bench_template"
_SETUP_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running PostgreSQL. `url` is its maintenance database, `pid` its postmaster."""

    url: str
    pid: int
    programs: Binaries
    settings: dict[str, str]
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def version(self) -> str:
        return self.programs.version

    @asynccontextmanager
    async def database(self, statements: Sequence[str] = ()) -> AsyncIterator[str]:
        """Make a migrated database, changed by the statements, and drop it afterwards; yields its URL."""
        name = f"bench_{next(self._numbers)}"
        await execute(self.url, f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY")
        try:
            url = _beside(self.url, name)
            await execute(url, *statements, "CHECKPOINT")
            yield url
        finally:
            await execute(self.url, f"DROP DATABASE {name} WITH (FORCE)")


@asynccontextmanager
async def running(*, bin_dir: Path | None = None) -> AsyncIterator[Cluster]:
    """Run a new cluster in a temporary directory, by the programs in `bin_dir`, or the embedded ones."""
    with place.temporary() as state_dir:
        async with postgres.embedded(state_dir, bin_dir=bin_dir) as embedded:
            await execute(embedded.url, *(f"ALTER SYSTEM SET {name} = '{value}'" for name, value in SETTINGS.items()))
            await execute(embedded.url, "SELECT pg_reload_conf()", f"CREATE DATABASE {_TEMPLATE}")
            await execute(embedded.url, _USE_LOG_FILES, "CHECKPOINT")
            await schema.upgrade(_beside(embedded.url, _TEMPLATE))
            yield Cluster(
                embedded.url, embedded.process.pid, binaries.find(bin_dir), await _shown_settings(embedded.url)
            )


async def execute(url: str, *statements: str) -> None:
    """Run statements, each in a transaction of its own."""
    connection = await asyncpg.connect(url, timeout=_SETUP_SECONDS, command_timeout=_SETUP_SECONDS)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def fetch_value(url: str, query: str) -> object:
    """Run a query and return its one value."""
    connection = await asyncpg.connect(url, timeout=_SETUP_SECONDS, command_timeout=_SETUP_SECONDS)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def _shown_settings(url: str) -> dict[str, str]:
    # Releases before 17 do not tell whether they got huge pages.
    shown = {name: await fetch_value(url, f"SELECT current_setting('{name}', true)") for name in (*_SHOWN, *SETTINGS)}
    return {name: str(value) for name, value in shown.items() if value is not None}


def _beside(url: str, name: str) -> str:
    return urllib.parse.urlsplit(url)._replace(path=f"/{name}").geturl()
