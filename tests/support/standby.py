"""A physical standby of a cluster, made by `pg_basebackup` as sites make theirs, and promoted when a test asks.

    async with standby.running(primary_url) as s:
        await s.catch_up()
        await s.promote()

It follows its primary by streaming replication, in a state directory of its own. What the primary commits after the
standby has lost it is what a fail-over loses.
"""

import asyncio
import contextlib
import os
import signal
import urllib.parse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from support import role
from support.waiting import eventually
from tinkwell.server.app.dev import binaries, child, place, postgres

_BACKUP_SECONDS = 120
_PROMOTE_SECONDS = 60
_CATCH_UP_SECONDS = 60
_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
_ASK_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Standby:
    """A running standby. `url` leads to it alone, `urls` to whichever of it and its primary is the primary."""

    url: str
    urls: str
    primary_url: str
    cluster: postgres.Cluster

    async def catch_up(self) -> None:
        """Return once it has replayed what the primary has committed by now."""
        end = await _ask(self.primary_url, "SELECT pg_current_wal_insert_lsn()")

        async def has_replayed() -> bool:
            return bool(await _ask(self.url, "SELECT pg_last_wal_replay_lsn() >= $1", end))

        await eventually(has_replayed, deadline_seconds=_CATCH_UP_SECONDS, interval_seconds=0.02)

    async def promote(self) -> None:
        """Make a primary of it; returns once it accepts writes. The former primary knows nothing of that."""
        assert await _ask(self.url, "SELECT pg_promote(true, $1)", _PROMOTE_SECONDS)

    async def is_primary(self) -> bool:
        """Whether it accepts writes."""
        return not await _ask(self.url, "SELECT pg_is_in_recovery()")


@asynccontextmanager
async def running(
    primary_url: str, state_dir: Path | None = None, *, bin_dir: Path | None = None, durable: bool = False
) -> AsyncIterator[Standby]:
    """Run a standby of the embedded cluster that the URL leads to, until the block ends.

    Without a state directory it has one that is deleted in the end. The programs are those in `bin_dir`, in $PG_BIN, or
    the embedded ones, and must be of the primary's version. Must be called from the main thread.
    """
    bin_dir = bin_dir or (Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None)
    async with contextlib.AsyncExitStack() as stack:
        home = state_dir or stack.enter_context(place.temporary())
        await admit(primary_url)
        await _back_up(primary_url, home, bin_dir)
        cluster = await stack.enter_async_context(
            postgres.embedded(home, bin_dir=bin_dir, durable=durable, roles=role.ALL)
        )
        yield Standby(cluster.url, _joined(primary_url, cluster.url), primary_url, cluster)


async def admit(primary_url: str) -> None:
    """Let a standby in. A restart of the embedded cluster forgets that, since it writes the file of who may enter."""
    _append(Path(await _ask(primary_url, "SHOW hba_file")))
    await _ask(primary_url, "SELECT pg_reload_conf()")


def _append(hba: Path) -> None:
    # The socket is open to one account alone, which both clusters run as.
    line = 'local replication "tinkwell" trust\n'
    if line not in (text := hba.read_text()):
        hba.write_text(text + line)


async def _back_up(primary_url: str, state_dir: Path, bin_dir: Path | None) -> None:
    """Fill the state directory with a copy of the primary that is ready to follow it."""
    found = binaries.find(bin_dir)
    with place.claim(state_dir) as where:
        if not where.account.can_enter(Path(found.program("postgres"))):
            found = await asyncio.to_thread(found.copy_to, where.root / "programs")
        command = [
            found.program("pg_basebackup"),
            f"--dbname={primary_url}",
            f"--pgdata={where.private_directory('data')}",
            "--checkpoint=fast",
            "--wal-method=stream",
            "--write-recovery-conf",
            "--no-sync",
        ]
        with where.log.open("wb") as log:
            process = await child.start(
                command,
                death_signal=signal.SIGKILL,
                output=log,
                account=where.account,
                environment=_ENVIRONMENT,
            )
        try:
            async with asyncio.timeout(_BACKUP_SECONDS):
                code = await process.wait()
        finally:
            await child.stop(process, (), patience_seconds=10)
        assert code == 0, f"pg_basebackup ended with {code}:\n{child.tail(where.log)}"


def _joined(*urls: str) -> str:
    """Return the URL of the first that names the hosts of all, which are folders of sockets."""
    queries = [dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query)) for url in urls]
    hosts = ",".join(query["host"] for query in queries)
    query = urllib.parse.urlencode({**queries[0], "host": hosts}, safe="/,")
    return urllib.parse.urlsplit(urls[0])._replace(query=query).geturl()


async def _ask(url: str, query: str, *values: object) -> Any:
    connection = await asyncpg.connect(url, timeout=_ASK_SECONDS, command_timeout=_PROMOTE_SECONDS + _ASK_SECONDS)
    try:
        return await connection.fetchval(query, *values)
    finally:
        await connection.close(timeout=5)
