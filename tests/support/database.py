"""Databases for tests: one cluster a run, one migrated template, and a copy of it for each test that asks."""

import os
import shutil
import urllib.parse
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from support import role
from tinkwell.server.app.dev import place, postgres
from tinkwell.server.database import schema

_MEMORY = Path("/dev/shm")
# Most that a cluster ever takes: some databases, and the write-ahead log.
_ROOM_BYTES = 3 * 1024**3


@dataclass(frozen=True)
class Databases:
    """A cluster that makes databases. `url` is its maintenance database."""

    url: str
    template: str

    @asynccontextmanager
    async def fresh(self, *, migrated: bool = True) -> AsyncIterator[str]:
        """Make a database of its own for a test; it is dropped afterwards, whoever is still connected to it."""
        name = f"test_{uuid.uuid4().hex}"
        template = self.template if migrated else "template0"
        await _execute(self.url, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        try:
            yield _beside(self.url, name)
        finally:
            await _execute(self.url, f"DROP DATABASE {name} WITH (FORCE)")


@asynccontextmanager
async def databases() -> AsyncIterator[Databases]:
    """Open the cluster of this run: $TEST_DATABASE_URL, or else an embedded one, by the programs in $PG_BIN if set."""
    async with _cluster() as url:
        template = f"template_{uuid.uuid4().hex}"
        await _execute(url, f"CREATE DATABASE {template}")
        try:
            await role.create_for_servers(url)
            await schema.upgrade(_beside(url, template), server_role=role.SERVER_ROLE)
            yield Databases(url, template)
        finally:
            await _execute(url, f"DROP DATABASE {template} WITH (FORCE)")


@asynccontextmanager
async def _cluster() -> AsyncIterator[str]:
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
        return
    bin_dir = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
    with place.temporary(_memory()) as state_dir:
        async with postgres.embedded(state_dir, bin_dir=bin_dir, durable=False, roles=role.ALL) as cluster:
            yield cluster.url


def _memory() -> Path | None:
    """Where files are kept in memory, if there is much room: to make a database is to make some hundred files."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    is_roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > processes * _ROOM_BYTES
    return _MEMORY if is_roomy and os.access(_MEMORY, os.W_OK) else None


def _beside(url: str, name: str) -> str:
    return urllib.parse.urlsplit(url)._replace(path=f"/{name}").geturl()


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
