"""Runs the whole product in one command: an embedded PostgreSQL, a server in this process, and a provisioner.

The parts end in reverse order: the provisioner while the server still answers it, the server while it still has its
database. A part that fails ends the others, except the provisioner, which is restarted.
"""

import asyncio
import logging
import os
import pwd
import random
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pydantic

from tinkwell.core import access
from tinkwell.core.process_log import redaction
from tinkwell.sandbox import secrecy
from tinkwell.server import settings
from tinkwell.server.app import main
from tinkwell.server.app.dev import child, neighbor, place, postgres
from tinkwell.server.database import schema
from tinkwell.server.secret import keys
from tinkwell.server.settings import Settings

logger = logging.getLogger(__name__)

_PROVISIONER = "provisioner"
_KEYS = "secret.keys"
_SHOWN_ACCOUNTS = 5
_STOP_SECONDS = 15
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_HEALTHY_SECONDS = 60.0
# The exit code of a command with wrong options, which no restart will correct.
_USAGE_ERROR = 2


class Refused(Exception):
    """The stack cannot run with these options. The text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run the stack. Options that are None are left to the settings. A state directory of None is temporary."""

    state_dir: Path | None
    runtime: str
    port: int | None = None
    http_port: int | None = None
    bin_dir: Path | None = None
    images: Path | None = None


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a ready stack."""

    grpc: str
    http: str
    database_url: str


async def run(options: Options, *, ready: Callable[[Addresses], None]) -> None:
    """Run until cancelled. `ready` is called once, when calls are accepted."""
    # The provisioner may run actions as processes of the same account, which must not see our keys and tokens.
    secrecy.hide()
    with place.temporary() if options.state_dir is None else nullcontext(options.state_dir) as state_dir:
        async with postgres.embedded(state_dir, bin_dir=options.bin_dir) as cluster:
            await schema.upgrade(cluster.url)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(cluster.watch(), name="postgres")
                await _serve_and_provision(options, state_dir, cluster.url, ready)


async def _serve_and_provision(
    options: Options, state_dir: Path, database_url: str, ready: Callable[[Addresses], None]
) -> None:
    loaded = settings.load(database_url=database_url, port=options.port, http_port=options.http_port)
    chosen, environment = _admit_provisioner(_with_keys(loaded, state_dir))
    async with _serving(chosen) as addresses:
        if not chosen.tokens:
            _tell_neighbors()
        ready(Addresses(addresses.grpc, addresses.http, database_url))
        await _keep_provisioning(_command(options, addresses.grpc, state_dir / _PROVISIONER), environment)


def _with_keys(chosen: Settings, state_dir: Path) -> Settings:
    """Use the keys beside the database, unless the settings name others. Make some if there are none."""
    if chosen.secret_keys is not None:
        return chosen
    file = state_dir / _KEYS
    if not file.exists():
        keys.create(file)
    with_keys = chosen.model_copy(update={"secret_keys": file})
    redaction.register(*with_keys.secrets())
    return with_keys


def _admit_provisioner(chosen: Settings) -> tuple[Settings, Mapping[str, str]]:
    """Give the provisioner a token of its own if callers need one."""
    if chosen.server_cert is not None:
        raise Refused("`tinkwell dev` does not do TLS: run `tinkwell server` and `tinkwell provisioner` instead")
    environment = {name: value for name, value in os.environ.items() if name not in ("TINKWELL_SERVER", "TINKWELL_TLS")}
    if not chosen.tokens:
        return chosen, environment
    token = secrets.token_urlsafe()
    redaction.register(token)
    tokens = {**chosen.tokens, _PROVISIONER: pydantic.SecretStr(token)}
    roles = {**chosen.roles, _PROVISIONER: access.Role.ADMIN}
    return chosen.model_copy(update={"tokens": tokens, "roles": roles}), {**environment, "TINKWELL_TOKEN": token}


def _tell_neighbors() -> None:
    """Log a warning if other accounts of this machine may use the server to run actions as this account."""
    if others := neighbor.find(pwd.getpwall(), own=os.geteuid()):
        logger.warning(
            "other accounts of this machine may use this server, and run actions by it as this account: "
            "set TINKWELL_TOKENS to admit only who has a token",
            extra={"accounts": ", ".join(others[:_SHOWN_ACCOUNTS]) + (" …" if len(others) > _SHOWN_ACCOUNTS else "")},
        )


@asynccontextmanager
async def _serving(chosen: Settings) -> AsyncIterator[main.Addresses]:
    ready: asyncio.Future[main.Addresses] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(main.serve(chosen, ready=ready.set_result), name="server")
        yield await ready


def _command(options: Options, server: str, state_dir: Path) -> list[str]:
    command = [sys.executable, "-m", "tinkwell.provisioner", "--server", server]
    command += ["--agent-for", "all", "--releases", "all", "--units"]
    command += ["--runtime", options.runtime, "--state-dir", str(state_dir)]
    if options.images is not None:
        command += ["--process-images", str(options.images.absolute())]
    if options.state_dir is None:
        command.append("--ephemeral")
    return command


async def _keep_provisioning(command: list[str], environment: Mapping[str, str]) -> None:
    loop = asyncio.get_running_loop()
    pause = _FIRST_PAUSE_SECONDS
    while True:
        begin = loop.time()
        code = await _run(command, environment)
        if code == _USAGE_ERROR:
            raise Refused("the provisioner does not accept its options; see above")
        if loop.time() - begin > _HEALTHY_SECONDS:
            pause = _FIRST_PAUSE_SECONDS
        logger.warning("the provisioner ended by itself and is started again", extra={"exit_code": code})
        await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


async def _run(command: list[str], environment: Mapping[str, str]) -> int:
    process = await child.start(
        command, death_signal=signal.SIGTERM, output=sys.stderr.fileno(), environment=environment
    )
    try:
        return await process.wait()
    finally:
        await child.stop(process, (signal.SIGTERM,), patience_seconds=_STOP_SECONDS)
