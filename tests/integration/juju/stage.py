"""A server with an agent for tests that drive it as tests of charms drive Juju: by jubilant, and nothing else."""

import asyncio
import contextlib
import os
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jubilant
import pytest

import tinkwell.client
from support import process, server
from support.database import Databases
from tinkwell.server.secret import keys

CHARMS = Path(__file__).parent / "charms"
SITE, STORE = CHARMS / "site", CHARMS / "store"
MACHINE = {
    "id": "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2b01",
    "network": {
        "interfaces": [
            {
                "dhcp": {
                    "mac": "52:54:00:10:00:0b",
                    "hostname": "node-1",
                    "ip": {"address": "192.168.56.51", "netmask": "255.255.255.0"},
                }
            }
        ]
    },
}
# A loaded machine takes long for events that are processes; nothing here is to take nearly as long.
WAIT_SECONDS = 100.0
_START_SECONDS = 60


@dataclass(frozen=True)
class Place:
    """Where commands go, and a server over the same database that runs no commands on units."""

    address: str
    strict_address: str


@contextlib.contextmanager
def running(postgres: Databases, folder: Path) -> Iterator[Place]:
    """Run a server, and a provisioner for units, in a thread of their own: what jubilant does blocks."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="juju place")
    thread.start()
    ready: asyncio.Future[Place] = asyncio.run_coroutine_threadsafe(_future(), loop).result(_START_SECONDS)
    stopping = asyncio.run_coroutine_threadsafe(_event(), loop).result(_START_SECONDS)
    serving = asyncio.run_coroutine_threadsafe(_serve(postgres, folder, ready, stopping), loop)
    try:
        yield asyncio.run_coroutine_threadsafe(_first(ready, serving), loop).result(_START_SECONDS)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        try:
            serving.result(_START_SECONDS)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_START_SECONDS)
            loop.close()


@contextlib.contextmanager
def environment(place: Place, folder: Path) -> Iterator[None]:
    """Let programs find the place, and `tinkwell-juju` by the name that jubilant calls Juju's command line by."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "juju").symlink_to(Path(sys.executable).with_name("tinkwell-juju"))
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("TINKWELL_", "JUJU_"))]:
            patch.delenv(name)
        patch.setenv("PATH", str(programs), prepend=os.pathsep)
        patch.setenv("TINKWELL_SERVER", place.address)
        patch.setenv("JUJU_DATA", str(folder / "juju"))
        yield


def wait(juju: jubilant.Juju, ready: Callable[[jubilant.Status], bool], **options: Any) -> jubilant.Status:
    """Wait as authors do, but look more often, and believe what is seen once: it is no guess here."""
    return juju.wait(ready, **{"delay": 0.3, "successes": 1, **options})


def settle(juju: jubilant.Juju, *applications: str) -> jubilant.Status:
    """Wait until units have been told all that there is to be told."""
    return wait(juju, lambda status: jubilant.all_agents_idle(status, *applications))


def message(juju: jubilant.Juju, unit: str) -> str:
    """Return what a unit says about itself."""
    return juju.status().get_units(unit.partition("/")[0])[unit].workload_status.message


def packed(charm: Path, folder: Path) -> Path:
    """Pack a charm of scripts as charmcraft does: a zip of all its files."""
    path = folder / f"{charm.name}_ubuntu-24.04-amd64.charm"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(charm.rglob("*")):
            archive.write(each, each.relative_to(charm))
    return path


def error_of(caught: "pytest.ExceptionInfo[jubilant.CLIError]") -> str:
    """Return the one line that a command has said on standard error."""
    text: str = caught.value.stderr
    assert text.startswith("ERROR "), text
    assert text.count("\n") == 1, text
    return text.removeprefix("ERROR ").removesuffix("\n")


async def _serve(postgres: Databases, folder: Path, ready: "asyncio.Future[Place]", stopping: asyncio.Event) -> None:
    keys.create(folder / "keys")
    agent = ("provisioner", "--units", "--runtime", "process", "--agent-for", str(MACHINE["id"]))
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(postgres.fresh())
        first = await stack.enter_async_context(
            server.running(url, secret_keys=folder / "keys", allow_exec=True, lease_seconds=6)
        )
        strict = await stack.enter_async_context(server.running(url, secret_keys=folder / "keys"))
        client = await stack.enter_async_context(tinkwell.client.connect(first.address))
        await client.hardware.push(MACHINE)
        where = ("--server", first.address, "--state-dir", str(folder / "state"))
        await stack.enter_async_context(process.running(*agent, *where, log=folder / "provisioner.log"))
        ready.set_result(Place(first.address, strict.address))
        await stopping.wait()


async def _future() -> "asyncio.Future[Place]":
    return asyncio.get_running_loop().create_future()


async def _event() -> asyncio.Event:
    return asyncio.Event()


async def _first(ready: "asyncio.Future[Place]", serving: "Any") -> Place:
    """Wait for the place, or for what went wrong with it."""
    served = asyncio.wrap_future(serving)
    await asyncio.wait([ready, served], return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        await served
    return ready.result()
