"""An embedded PostgreSQL: created where there is none, run for as long as it is needed, never outliving its owner.

It listens on a Unix socket alone, and that socket admits one account of the operating system, the one that runs this
process: the kernel vouches for it (peer authentication), so there is no password to keep and nobody else gets in.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from tinkwell.server.app.dev import account, binaries, child, place
from tinkwell.server.app.dev.binaries import Binaries
from tinkwell.server.app.dev.place import Place
from tinkwell.server.database import dial, session

_USER = "tinkwell"
_DATABASE = "postgres"
_POLL_SECONDS = 0.02
_START_SECONDS = 60
_CREATE_SECONDS = 120
_STOP_SECONDS = 15
_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "logging_collector": "off",
    "log_destination": "stderr",
    "ssl": "off",
}
# For data that may be lost: a crash of the machine loses it, and commits are fast.
_FORGETFUL_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class NotRunning(Exception):
    """PostgreSQL could not be started, or ended by itself; the text says why."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster. Its URL works only for this account, in any program that accepts libpq's URLs."""

    url: str
    version: str
    process: asyncio.subprocess.Process
    log: Path

    async def watch(self) -> None:
        """Wait until PostgreSQL ends by itself, then raise `NotRunning`."""
        code = await self.process.wait()
        raise NotRunning(f"PostgreSQL ended by itself with exit code {code}:\n{child.tail(self.log)}")


@asynccontextmanager
async def embedded(
    state_dir: Path, *, bin_dir: Path | None = None, durable: bool = True, roles: Sequence[str] = ()
) -> AsyncIterator[Cluster]:
    """Run the cluster of a state directory. If there is none, create it.

    Without `durable`, a crash of the machine may lose data; that is for tests. This account may also connect as each of
    the roles, which need not exist yet. Must be called from the main thread. Raises `NotRunning`, `place.NotAvailable`,
    `binaries.NoBinaries`.
    """
    found = binaries.find(bin_dir)
    with place.claim(state_dir) as where:
        if not where.account.can_enter(Path(found.program("postgres"))):
            found = await asyncio.to_thread(found.copy_to, where.root / "programs")
        if not where.data.exists():
            await _create(found, where, durable=durable)
        _check_version(found, where)
        await _wait_for_predecessor(where)
        process = await _start(found, where, durable=durable, roles=(_USER, *roles))
        try:
            url = _url(where)
            await _wait_until_ready(process, url, where.log)
            yield Cluster(url, found.version, process, where.log)
        finally:
            await child.stop(process, (signal.SIGINT, signal.SIGQUIT), patience_seconds=_STOP_SECONDS)


async def _create(found: Binaries, where: Place, *, durable: bool) -> None:
    # Renamed when complete, so that an interrupted creation starts again.
    target = where.private_directory("data.partial")
    options = ["--username", _USER, "--encoding=UTF8", "--locale=C.UTF-8", "--auth=peer", "--no-instructions"]
    if not durable:
        options.append("--no-sync")
    with where.new_log() as log:
        process = await child.start(
            [found.program("initdb"), "-D", str(target), *options],
            death_signal=signal.SIGKILL,
            output=log,
            account=where.account,
            environment=_ENVIRONMENT,
        )
    try:
        async with asyncio.timeout(_CREATE_SECONDS):
            code = await process.wait()
    except TimeoutError as error:
        raise NotRunning(f"initdb took longer than {_CREATE_SECONDS} s:\n{child.tail(where.log)}") from error
    finally:
        await child.stop(process, (), patience_seconds=_STOP_SECONDS)
    if code != 0:
        raise NotRunning(f"initdb failed with exit code {code}:\n{child.tail(where.log)}")
    target.rename(where.data)


def _check_version(found: Binaries, where: Place) -> None:
    major = place.read_foreign(where.data / "PG_VERSION").strip()
    if not major.isdecimal():
        raise NotRunning(f"{where.data} holds no cluster of PostgreSQL: its PG_VERSION is no number")
    if major != str(found.major):
        raise NotRunning(
            f"{where.data} was made by PostgreSQL {major}, but {found.directory} is {found.version}: "
            f"use another state directory, or set {binaries.ENVIRONMENT} to a PostgreSQL {major}"
        )


async def _wait_for_predecessor(where: Place) -> None:
    """Let a PostgreSQL whose owner was killed finish its shutdown, then remove what a crash left behind."""
    pid_file = where.data / "postmaster.pid"
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            while (pid := _running(pid_file)) is not None:  # noqa: ASYNC110 another process tells no events
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as error:
        raise NotRunning(f"a PostgreSQL (process {pid}) still runs in {where.data}: end it first") from error
    # The process number in a leftover file may belong to another process, which PostgreSQL would take for its own.
    pid_file.unlink(missing_ok=True)
    for leftover in where.socket.iterdir():
        leftover.unlink()


def _running(pid_file: Path) -> int | None:
    try:
        pid = int(place.read_foreign(pid_file).split("\n", 1)[0])
        works_in = Path(f"/proc/{pid}/cwd").readlink()
    except (OSError, ValueError):
        return None
    return pid if works_in == pid_file.parent else None


async def _start(found: Binaries, where: Place, *, durable: bool, roles: Sequence[str]) -> asyncio.subprocess.Process:
    hba, ident = where.root / "hba.conf", where.root / "ident.conf"
    names = [role.replace('"', '""') for role in roles]
    _write(hba, "".join(f'local all "{name}" peer map=owner\n' for name in names))
    _write(ident, "".join(f'owner "{account.own().name}" "{name}"\n' for name in names))
    settings = {
        **_SETTINGS,
        **({} if durable else _FORGETFUL_SETTINGS),
        "unix_socket_directories": str(where.socket),
        "hba_file": str(hba),
        "ident_file": str(ident),
    }
    options = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
    with where.new_log() as log:
        return await child.start(
            [found.program("postgres"), "-D", str(where.data), *options],
            death_signal=signal.SIGINT,
            output=log,
            account=where.account,
            environment=_ENVIRONMENT,
        )


def _write(path: Path, text: str) -> None:
    with place.open_own(path, mode=0o644) as file:
        file.write(text.encode())


def _url(where: Place) -> str:
    # PGPORT in the environment would otherwise override the default.
    port = "&port=5432" if "PGPORT" in os.environ else ""
    return f"postgresql://{_USER}@/{_DATABASE}?host={where.socket}{port}"


async def _wait_until_ready(process: asyncio.subprocess.Process, url: str, log: Path) -> None:
    try:
        async with asyncio.timeout(_START_SECONDS):
            while not await _answers(url):
                if process.returncode is not None:
                    raise NotRunning(f"PostgreSQL did not start:\n{child.tail(log)}")
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as error:
        raise NotRunning(f"PostgreSQL was not ready within {_START_SECONDS} s:\n{child.tail(log)}") from error


async def _answers(url: str) -> bool:
    try:
        connection = await session.connect(url, session.TASK, connect_seconds=_START_SECONDS)
        await connection.close()
    except dial.CannotConnect as error:
        # A server that answers that it is a standby has started.
        return any(isinstance(cause, asyncpg.TargetServerAttributeNotMatched) for cause in error.causes)
    except (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
        return False
    return True
