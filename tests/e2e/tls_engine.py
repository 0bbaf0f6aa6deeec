"""An engine that is reached by TLS: a second dockerd on a free port, which keeps all of its files in a folder."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from support.waiting import eventually

PROGRAM = shutil.which("dockerd") or shutil.which("dockerd", path="/usr/sbin:/usr/local/sbin")
SECONDS = 60.0
# It shares the machine with another engine, so it leaves the network alone; any file system bears this driver.
OPTIONS = ("--iptables=false", "--ip6tables=false", "--storage-driver=vfs", "--tlsverify")


@dataclass(frozen=True)
class TlsEngine:
    """The engine, and the folder with the certificates of one whom it lets in."""

    url: str
    certs: Path


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[TlsEngine]:
    """Run an engine; skips the test where none can be started. The folder's path is to be short."""
    if PROGRAM is None:
        pytest.skip("needs the program dockerd, which is not installed")
    if os.geteuid() != 0:
        pytest.skip("needs root, as which dockerd is started")
    if shutil.which("ip") is None:
        pytest.skip("needs the program ip, which is not installed")
    authority, port = trustme.CA(), _free_port()
    # Without a bridge of its own it would remove the other engine's: that is what `--bridge=none` does to docker0.
    bridge = f"tinkwell{port}"
    engine = TlsEngine(f"tcp://127.0.0.1:{port}", _write(folder / "client", authority, "tinkwell@example.com"))
    own = _write(folder / "server", authority, "127.0.0.1")
    places = {
        "host": engine.url,
        "data-root": folder / "data",
        "exec-root": folder / "exec",
        "pidfile": folder / "pid",
        "tlscacert": own / "ca.pem",
        "tlscert": own / "cert.pem",
        "tlskey": own / "key.pem",
        "bridge": bridge,
    }
    added = _link("add", bridge, "type", "bridge")
    if added.returncode:
        pytest.skip(f"a bridge cannot be made here: {added.stderr.strip()}")
    log = folder / "dockerd.log"
    with log.open("wb") as output:
        arguments = [*OPTIONS, *(f"--{name}={place}" for name, place in places.items())]
        process = await asyncio.create_subprocess_exec(PROGRAM, *arguments, stdout=output, stderr=output)
    try:
        await eventually(
            lambda: process.returncode is not None or "API listen on" in log.read_text(), deadline_seconds=SECONDS
        )
        if process.returncode is not None:
            pytest.skip(f"dockerd cannot be started here: {log.read_text().strip().splitlines()[-1]}")
        yield engine
    finally:
        if process.returncode is None:
            process.terminate()
            async with asyncio.timeout(SECONDS):
                await process.wait()
        await asyncio.to_thread(_unmount, folder)
        _link("delete", bridge)


def _link(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", "link", *arguments], check=False, capture_output=True, text=True, timeout=SECONDS)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _write(folder: Path, authority: trustme.CA, name: str) -> Path:
    """Write a certificate with its key, and the authority's, under the names that Docker's programs know."""
    folder.mkdir()
    issued = authority.issue_cert(name)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    return folder


def _unmount(folder: Path) -> None:
    """Unmount what it has left mounted, the innermost first, so that the folder can be deleted."""
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in sorted((each for each in mounted if each.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", place], check=True, timeout=SECONDS)
