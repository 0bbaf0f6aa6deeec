"""A position in one log is refused by another one that began as its copy, and never answered with wrong events."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

import tinkwell.client
from support import role
from support import server as servers
from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.server.app.dev import binaries, place, postgres
from tinkwell.server.database import schema

BIN_DIR = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
# So many events both logs have in common; the original has more of its own, and the copy soon has more than that.
COMMON, MORE, MANY = 5, 4, 10


@dataclass(frozen=True)
class Bookmark:
    """The last event that a watcher of the original received."""

    revision: int
    history_id: str


@pytest.fixture
def original() -> Iterator[Path]:
    with place.temporary() as state_dir:
        yield state_dir


@pytest.fixture
def copy() -> Iterator[Path]:
    with place.temporary() as state_dir:
        yield state_dir


@asynccontextmanager
async def cluster(state_dir: Path) -> AsyncIterator[str]:
    async with postgres.embedded(state_dir, bin_dir=BIN_DIR, durable=False, roles=role.ALL) as running:
        yield running.url


@asynccontextmanager
async def serving(database_url: str) -> AsyncIterator[tinkwell.client.Client]:
    async with servers.running(database_url) as server, tinkwell.client.connect(server.address) as client:
        yield client


def data(state_dir: Path) -> Path:
    return (state_dir / "postgres").resolve() / "data"


@contextmanager
def copying(source: Path, target: Path) -> Iterator[Path]:
    """Copy the files of a cluster, yield the copy's directory, and let PostgreSQL's account have what was added."""
    with place.claim(target) as where:
        subprocess.run(["cp", "-a", str(data(source)), str(where.data)], check=True, timeout=60)
        for name in ("postmaster.pid", "postmaster.opts"):
            (where.data / name).unlink(missing_ok=True)
        yield where.data
        for file in where.data.iterdir():
            os.chown(file, where.account.uid, where.account.gid)


async def back_up(database_url: str, source: Path, target: Path, *, signal: str, restore_command: str) -> None:
    """Take a base backup of a running cluster as pg_basebackup does, to begin as the signal file says."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("SELECT pg_backup_start('copy', true)")
        with copying(source, target) as copied:
            label = await connection.fetchval("SELECT labelfile FROM pg_backup_stop(false)")
            for file in (data(source) / "pg_wal").iterdir():
                if file.is_file():
                    shutil.copy(file, copied / "pg_wal" / file.name)
                    os.chown(copied / "pg_wal" / file.name, copied.stat().st_uid, copied.stat().st_gid)
            (copied / "backup_label").write_text(label)
            (copied / signal).touch()
            with (copied / "postgresql.auto.conf").open("a") as settings:
                settings.write(f"restore_command = '{restore_command}'\n")
    finally:
        await connection.close(timeout=5)


async def publish(client: tinkwell.client.Client, count: int) -> None:
    for _ in range(count):
        await client.events.publish("a.b")


async def go_on(client: tinkwell.client.Client) -> Bookmark:
    """Let the original have more events, all of which a watcher receives."""
    await publish(client, MORE)
    async with client.events.watch(from_revision=1) as watch:
        last = [await anext(watch) for _ in range(COMMON + MORE)][-1]
        return Bookmark(last.revision, watch.history_id)


async def is_refused(client: tinkwell.client.Client, revision: int, history_id: str) -> bool:
    with pytest.raises(errors.OtherHistory) as raised:
        async with client.events.watch(from_revision=revision + 1, history_id=history_id) as watch:
            await anext(watch)
    return raised.value.history_id not in ("", history_id)


async def is_another_log(database_url: str, seen: Bookmark) -> None:
    """Refuse the original's positions, whether or not this log has reached them, and serve positions of its own."""
    async with serving(database_url) as client:
        assert await is_refused(client, seen.revision, seen.history_id)
        await publish(client, MANY)
        for revision in (1, COMMON, seen.revision, COMMON + MANY):
            assert await is_refused(client, revision, seen.history_id)
        async with client.events.watch(from_revision=1) as watch:
            events = [await anext(watch) for _ in range(COMMON + MANY)]
            assert watch.history_id != seen.history_id
        assert len({event.id for event in events}) == COMMON + MANY


async def is_primary(connection: asyncpg.Connection) -> bool:
    return not await connection.fetchval("SELECT pg_is_in_recovery()")


async def wait_for_primary(database_url: str, *, promote: bool = False) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        if promote:
            assert not await is_primary(connection)
            assert await connection.fetchval("SELECT pg_promote()")
        await eventually(lambda: is_primary(connection), deadline_seconds=30)
    finally:
        await connection.close(timeout=5)


async def test_a_restored_base_backup_is_another_log(original: Path, copy: Path) -> None:
    async with cluster(original) as url:
        await role.create_for_servers(url)
        await schema.upgrade(url, server_role=role.SERVER_ROLE)
        async with serving(url) as client:
            await publish(client, COMMON)
            await back_up(url, original, copy, signal="recovery.signal", restore_command="false")
            seen = await go_on(client)
    async with cluster(copy) as url:
        await wait_for_primary(url)
        await is_another_log(url, seen)


async def test_a_standby_that_took_over_is_another_log(original: Path, copy: Path) -> None:
    async with cluster(original) as url:
        await role.create_for_servers(url)
        await schema.upgrade(url, server_role=role.SERVER_ROLE)
        async with serving(url) as client:
            await publish(client, COMMON)
            await back_up(url, original, copy, signal="standby.signal", restore_command="false")
            async with cluster(copy) as standby:
                # The original's last events never get here: that is what a failover may lose.
                seen = await go_on(client)
                await wait_for_primary(standby, promote=True)
                await is_another_log(standby, seen)
            # The original is still what it was.
            async with client.events.watch(from_revision=1, history_id=seen.history_id) as watch:
                assert [(await anext(watch)).revision for _ in range(COMMON + MORE)][-1] == seen.revision


async def test_files_put_back_without_recovery_are_noticed_by_a_position_beyond_their_end(
    original: Path, copy: Path
) -> None:
    async with cluster(original) as url:
        await role.create_for_servers(url)
        await schema.upgrade(url, server_role=role.SERVER_ROLE)
        async with serving(url) as client:
            await publish(client, COMMON)
    with copying(original, copy):
        pass
    async with cluster(original) as url, serving(url) as client:
        seen = await go_on(client)
    async with cluster(copy) as url:
        async with serving(url) as client:
            with pytest.raises(errors.OtherHistory, match="beyond the end"):
                async with client.events.watch(from_revision=seen.revision + 1, history_id=seen.history_id) as watch:
                    await anext(watch)
        # Nothing else tells such files from those that they replace, so that whoever puts them back has to say so.
        await declare_another(url)
        await is_another_log(url, seen)


async def declare_another(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("UPDATE event_history SET history_id = DEFAULT")
    finally:
        await connection.close(timeout=5)


async def test_a_dump_that_is_restored_in_one_transaction_is_another_log_to_those_who_watch(original: Path) -> None:
    async with cluster(original) as url:
        await role.create_for_servers(url)
        await schema.upgrade(url, server_role=role.SERVER_ROLE)
        async with serving(url) as client:
            await publish(client, COMMON)
            dump = original / "tinkwell.dump"
            await run_program("pg_dump", "--format=custom", f"--file={dump}", f"--dbname={url}")
            seen = await go_on(client)
            async with client.events.watch(from_revision=seen.revision + 1, history_id=seen.history_id) as watch:
                # As docs/reference/event-log.md has it.
                script = original / "tinkwell.sql"
                await run_program("pg_restore", "--clean", "--if-exists", f"--file={script}", str(dump))
                script.write_text("DROP TABLE events CASCADE;\n" + script.read_text())
                options = ("--single-transaction", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={script}")
                await run_program("psql", *options, f"--dbname={url}", PGOPTIONS="-c deadlock_timeout=1min")
                with pytest.raises(errors.OtherHistory):
                    await anext(watch)
            assert await is_refused(client, seen.revision, seen.history_id)
            async with client.events.watch(from_revision=1) as watch:
                assert [(await anext(watch)).revision for _ in range(COMMON)] == list(range(1, COMMON + 1))


async def run_program(name: str, *arguments: str, **environment: str) -> None:
    process = await asyncio.create_subprocess_exec(
        binaries.find(BIN_DIR).program(name),
        *arguments,
        stdout=asyncio.subprocess.DEVNULL,
        env=os.environ | environment,
    )
    async with asyncio.timeout(60):
        assert await process.wait() == 0
