"""A PostgreSQL as sites run it: on a TCP port, for a user with a password, with or without TLS."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import trustme

from support import waiting
from tinkwell.server.app.dev import binaries, child, place, postgres
from tinkwell.server.app.dev.binaries import Binaries
from tinkwell.server.app.dev.place import Place

HOST = "127.0.0.1"
USER = "tinkwell"
_STOP_SECONDS = 15
_SETTINGS = {
    "listen_addresses": HOST,
    "max_connections": "100",
    "fsync": "off",
    "full_page_writes": "off",
    "logging_collector": "off",
}


@dataclass(frozen=True, slots=True)
class Site:
    """Where it listens, and the folder of its Unix socket, on which nobody is asked for a password."""

    port: int
    socket: Path
    password: str

    def url(self, *, password: str | None = None, host: str = HOST, **parameters: str) -> str:
        """Return the URL of a database that holds nothing, with parameters."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://{USER}:{password or self.password}@{host}:{self.port}/postgres?{query}"


def binaries_with_tls() -> Path | None:
    """Return the folder of programs that can do TLS, which the embedded ones cannot: $PG_BIN, or Debian's."""
    given = [Path(os.environ["PG_BIN"])] if os.environ.get("PG_BIN") else []
    for folder in [*given, *sorted(Path("/usr/lib/postgresql").glob("[0-9]*/bin"))]:
        program = folder / "pg_config"
        if program.exists():
            asked = subprocess.run([program, "--configure"], capture_output=True, text=True, timeout=20, check=True)
            if "openssl" in asked.stdout:
                return folder
    return None


@asynccontextmanager
async def running(
    state_dir: Path, *, password: str, bin_dir: Path | None = None, tls: trustme.CA | None = None
) -> AsyncIterator[Site]:
    """Run one of its own, by the programs in `bin_dir` or $PG_BIN, or the embedded ones.

    With an authority it shows a certificate for localhost, and takes nothing but TLS on its port.
    """
    bin_dir = bin_dir or (Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None)
    async with postgres.embedded(state_dir, bin_dir=bin_dir, durable=False) as cluster:
        connection = await asyncpg.connect(cluster.url)
        await connection.execute(f"SET password_encryption = 'scram-sha-256'; ALTER ROLE {USER} PASSWORD '{password}'")
        await connection.close()
    with place.claim(state_dir) as where:
        found = binaries.find(bin_dir)
        if not where.account.can_enter(Path(found.program("postgres"))):
            found = await asyncio.to_thread(found.copy_to, where.root / "programs")
        site = Site(_free_port(), where.socket, password)
        process = await _start(found, where, site, tls)
        try:
            await waiting.eventually(lambda: _answers(site, process), deadline_seconds=60, interval_seconds=0.02)
            yield site
        finally:
            await child.stop(process, (signal.SIGINT, signal.SIGQUIT), patience_seconds=_STOP_SECONDS)


async def _start(found: Binaries, where: Place, site: Site, tls: trustme.CA | None) -> asyncio.subprocess.Process:
    hba = where.root / "tcp_hba.conf"
    kind = "host" if tls is None else "hostssl"
    hba.write_text(f"local all {USER} trust\n{kind} all {USER} {HOST}/32 scram-sha-256\n")
    hba.chmod(0o644)
    settings = {
        **_SETTINGS,
        "port": str(site.port),
        "unix_socket_directories": str(site.socket),
        "hba_file": str(hba),
        **(_certificate(where, tls) if tls is not None else {"ssl": "off"}),
    }
    with where.log.open("wb") as log:
        return await child.start(
            [
                found.program("postgres"),
                "-D",
                str(where.data),
                *(word for name, value in settings.items() for word in ("-c", f"{name}={value}")),
            ],
            death_signal=signal.SIGINT,
            output=log,
            account=where.account,
            environment={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        )


def _certificate(where: Place, authority: trustme.CA) -> dict[str, str]:
    """Write a certificate and its key where PostgreSQL's account alone can read the key."""
    folder = where.private_directory("tls")
    issued = authority.issue_cert("localhost")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    for name in ("cert.pem", "key.pem"):
        os.chown(folder / name, where.account.uid, where.account.gid)
        (folder / name).chmod(0o600)
    return {"ssl": "on", "ssl_cert_file": str(folder / "cert.pem"), "ssl_key_file": str(folder / "key.pem")}


async def _answers(site: Site, process: asyncio.subprocess.Process) -> bool:
    assert process.returncode is None, "PostgreSQL has ended"
    with contextlib.suppress(OSError, asyncpg.PostgresError):
        connection = await asyncpg.connect(
            host=str(site.socket), port=site.port, user=USER, database="postgres", timeout=10
        )
        await connection.close()
        return True
    return False


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as opened:
        return int(opened.getsockname()[1])
