"""No secret is in what `tinkwell server`, its workers and `tinkwell db` write at level debug, whatever goes wrong."""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import nkeys  # type: ignore[import-untyped]
import pytest
from integration.canary.conftest import Cage
from integration.log.relay import cluster

import tinkwell.client
from support import canary
from support.tcp_postgres import Site
from support.waiting import eventually
from tinkwell.client import errors

SECRET = canary.named("secret")
TOKEN, WRONG_TOKEN = canary.named("token"), canary.named("wrong-token")
PORTS = ("--port", "0", "--http-port", "0", "--log-level", "debug")
DEBUG = {"TINKWELL_LOG_LEVEL": "debug", "TINKWELL_THROWAWAY_DATABASE": "true"}
# A user of a broker, by its public key, whose secret one nobody here has.
NKEY = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
GRPC, HTTP = r"^gRPC +(\S+)$", r"^HTTP +(\S+)$"
TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'tinkwell%'"


async def cut_off(site: Site) -> None:
    """End all of a server's sessions."""
    connection = await asyncpg.connect(host=str(site.socket), port=site.port, user="tinkwell", database="postgres")
    try:
        await connection.execute(TERMINATE)
    finally:
        await connection.close()


async def use(address: str) -> None:
    """Make a call that is answered, and one that is refused."""
    async with tinkwell.client.connect(address, token=TOKEN) as client:
        await client.hardware.push({"id": str(uuid.uuid4())})
    async with tinkwell.client.connect(address, token=WRONG_TOKEN) as client:
        with pytest.raises(errors.Unauthenticated):
            await client.hardware.push({"id": str(uuid.uuid4())})


def phone_home(address: str) -> None:
    body = json.dumps({"password": canary.named("phone-home")}).encode()
    request = urllib.request.Request(f"{address}/phone-home", body, headers={"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=10):
        pass


def is_ready(address: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/readyz", timeout=10):
        return True
    return False


def unheard_port() -> int:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        return int(unheard.getsockname()[1])


@asynccontextmanager
async def broker(folder: Path, port: int, login: str) -> AsyncIterator[None]:
    """Run a NATS that asks for a login, as its settings describe it."""
    assert cluster.PROGRAM is not None
    config = folder / "nats.conf"
    config.write_text(
        f'listen: 127.0.0.1:{port}\njetstream {{ store_dir: "{folder}/nats" }}\nauthorization {{ {login} }}\n'
    )
    running = await asyncio.create_subprocess_exec(
        cluster.PROGRAM,
        *("-c", str(config)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        running.kill()
        await running.wait()


@pytest.mark.parametrize(("log_format", "workers"), [("text", 1), ("json", 2)])
async def test_a_server_that_works_and_loses_its_database_and_its_broker_tells_no_secret(
    cage: Cage, site: Site, log_format: str, workers: int
) -> None:
    settings = {
        "TINKWELL_DATABASE_URL": site.url(sslmode="prefer"),
        "TINKWELL_TOKENS": json.dumps({"alice": TOKEN}),
        "TINKWELL_NATS_URL": f"nats://tink:{canary.named('nats-password')}@127.0.0.1:{unheard_port()}",
        "TINKWELL_LOG_FORMAT": log_format,
        **DEBUG,
    }
    async with cage.running("server", *PORTS, "--workers", str(workers), **settings) as server:
        grpc = (await server.line(GRPC))[1]
        http = (await server.line(HTTP))[1]
        await use(grpc)
        await asyncio.to_thread(phone_home, http)
        await cut_off(site)
        await server.line("the event log is out of reach")
        await eventually(lambda: asyncio.to_thread(is_ready, http), deadline_seconds=60)
        assert await server.stop() == 0
    assert cage.escaped == []


@pytest.mark.nats
@pytest.mark.skipif(cluster.PROGRAM is None, reason="needs nats-server, which is not installed")
async def test_a_server_with_a_broker_that_takes_its_password_and_later_does_not_tells_no_secret(
    cage: Cage, site: Site
) -> None:
    port = cluster.free_ports(1)[0]
    login = f"nats://tink:{canary.named('nats-password')}@127.0.0.1:{port}"
    wrong = f"nats://tink:{canary.named('wrong-nats-password')}@127.0.0.1:{port}"
    token = f"nats://{canary.named('nats-token')}@127.0.0.1:{port}"
    settings = {"TINKWELL_DATABASE_URL": site.url(), **DEBUG}
    async with broker(cage.path, port, f'user: "tink", password: "{canary.named("nats-password")}"'):
        async with cage.running("server", *PORTS, TINKWELL_NATS_URL=login, **settings) as server:
            await server.line("this server publishes the log", deadline_seconds=60)
            assert await server.stop() == 0
        for url in (wrong, token):
            async with cage.running("server", *PORTS, TINKWELL_NATS_URL=url, **settings) as server:
                await server.line("Authorization Violation", deadline_seconds=60)
                assert await server.stop() == 0
    shutil.rmtree(cage.path / "nats", ignore_errors=True)
    assert cage.escaped == []


@pytest.mark.nats
@pytest.mark.skipif(cluster.PROGRAM is None, reason="needs nats-server, which is not installed")
async def test_a_credentials_file_that_the_broker_does_not_take_tells_no_secret(cage: Cage, site: Site) -> None:
    port = cluster.free_ports(1)[0]
    seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER).decode()
    file, block = cage.path / "nats.creds", "-----BEGIN {kind}-----\n{text}\n------END {kind}------\n"
    settings = {
        "TINKWELL_DATABASE_URL": site.url(),
        "TINKWELL_NATS_URL": f"nats://127.0.0.1:{port}",
        "TINKWELL_NATS_CREDENTIALS": str(file),
        **DEBUG,
    }
    async with broker(cage.path, port, f"users: [ {{ nkey: {NKEY} }} ]"):
        for text in (seed, f"SU{SECRET}"):
            file.write_text(
                block.format(kind="NATS USER JWT", text=SECRET) + block.format(kind="USER NKEY SEED", text=text)
            )
            async with cage.running("server", *PORTS, **settings) as server:
                await server.line("Authorization Violation" if text == seed else "invalid seed", deadline_seconds=60)
                await server.stop()
                assert seed not in server.output
    assert cage.escaped == []


@pytest.mark.parametrize("command", [("server", *PORTS), ("server", *PORTS, "--workers", "2"), ("db", "upgrade")])
async def test_a_wrong_password_is_told_without_it(cage: Cage, site: Site, command: tuple[str, ...]) -> None:
    url = site.url(password=canary.named("wrong-password"))
    code, output = await cage.run(*command, TINKWELL_DATABASE_URL=url, **DEBUG)
    assert (code, "password authentication failed" in output) == (1, True)
    assert cage.escaped == []


async def test_a_wrong_password_from_beside_the_url_is_not_told_either(cage: Cage, site: Site) -> None:
    wrong = canary.named("wrong-password")
    file = cage.path / "pgpass"
    file.write_text(f"*:*:*:*:{wrong}\n")
    file.chmod(0o600)
    url = f"postgresql://tinkwell@127.0.0.1:{site.port}/postgres"
    for query, variables in (
        ("", {"PGPASSWORD": wrong}),
        (f"?passfile={file}", {}),
        (f"?password={wrong}&sslpassword={wrong}", {}),
    ):
        code, output = await cage.run("db", "current", TINKWELL_DATABASE_URL=url + query, **variables, **DEBUG)
        assert (code, "password authentication failed" in output) == (1, True)
    assert cage.escaped == []


async def test_a_database_that_is_waited_for_is_told_without_its_password(cage: Cage) -> None:
    url = f"postgresql://u:{SECRET}@127.0.0.1:{unheard_port()}/d"
    async with cage.running("server", *PORTS, TINKWELL_DATABASE_URL=url, **DEBUG) as server:
        await server.line(r"waiting for the database database=postgresql://u@127\.0\.0\.1:\d+/d ")
        assert await server.stop() == 0
    assert cage.escaped == []


async def test_settings_that_cannot_be_used_are_told_without_their_secrets(cage: Cage, site: Site) -> None:
    for name in ("cert", "key"):
        (cage.path / name).write_text(f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n")
    for settings in (
        {"TINKWELL_DATABASE_URL": f"postgresql://u:{SECRET}@{SECRET}@h/d"},
        {"TINKWELL_TOKENS": f'{{"alice": "{SECRET}"'},
        {"TINKWELL_SERVER_CERT": str(cage.path / "cert"), "TINKWELL_SERVER_KEY": str(cage.path / "key")},
    ):
        code, output = await cage.run("server", *PORTS, **{"TINKWELL_DATABASE_URL": site.url(), **DEBUG, **settings})
        assert (code, "Traceback" in output) == (1, False)
    assert cage.escaped == []
