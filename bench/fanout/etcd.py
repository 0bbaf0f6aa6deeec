"""An etcd of the run's own: one member, on loopback, with its defaults; it flushes each batch of writes to the disk."""

import contextlib
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bench import process


@dataclass(frozen=True, slots=True)
class Etcd:
    """A running etcd."""

    address: str
    pid: int


def program() -> str | None:
    """Return the full path of the installed etcd, if there is one."""
    return shutil.which("etcd")


@contextlib.asynccontextmanager
async def running(directory: Path) -> AsyncIterator[Etcd]:
    """Run an etcd with a data directory of its own below the given one. Raises `process.Failed`."""
    found = program()
    if found is None:
        raise process.Failed("etcd is not installed")
    clients, peers = _free_address(), _free_address()
    with tempfile.TemporaryDirectory(dir=directory) as data:
        command = (
            *(found, "--name=bench", f"--data-dir={data}"),
            *(f"--listen-client-urls=http://{clients}", f"--advertise-client-urls=http://{clients}"),
            *(f"--listen-peer-urls=http://{peers}", f"--initial-advertise-peer-urls=http://{peers}"),
            f"--initial-cluster=bench=http://{peers}",
        )
        async with process.program(*command, log=directory / "etcd.log") as started:
            await started.line("ready to serve client requests")
            yield Etcd(clients, started.pid)


def _free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "{}:{}".format(*probe.getsockname())
