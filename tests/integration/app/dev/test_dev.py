"""`tinkwell dev` as a user runs it: what it prints, what it keeps, and that nothing is left when it ends."""

import asyncio
import json
import os
import pwd
import re
import signal
import socket
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

import tinkwell.client
from support import other_account, process, release_stage, waiting
from tinkwell.server.app.dev import neighbor, place
from tinkwell.server.secret import keys

DEV = ("dev", "--port", "0", "--http-port", "0", "--runtime", "process")
READY = r"^gRPC +(?P<grpc>\S+)\nHTTP +(?P<http>\S+)\nDatabase +(?P<database>\S+)$"
ENVIRONMENT = {"TINKWELL_PG_BIN": os.environ["PG_BIN"]} if os.environ.get("PG_BIN") else {}
MACHINE = "11111111-2222-3333-4444-555555555555"

TEMPLATE = """\
version: "0.1"
name: sleeping
global_timeout: 3600
tasks:
  - name: sleep
    worker: "{{.device_1}}"
    actions:
      - {name: sleep, image: sleeper, timeout: 3600}
"""


@dataclass(frozen=True)
class Stack:
    """A running `tinkwell dev` and what it printed."""

    command: process.Process
    grpc: str
    http: str
    database: str


@pytest.fixture
def state_dir() -> Iterator[Path]:
    with place.temporary() as directory:
        yield directory


@asynccontextmanager
async def running(tmp_path: Path, *arguments: str, **environment: str) -> AsyncIterator[Stack]:
    settings = {**ENVIRONMENT, **environment}
    async with process.running(*DEV, *arguments, log=tmp_path / "dev.log", environment=settings) as command:
        ready = await command.line(READY, deadline_seconds=60)
        yield Stack(command, ready["grpc"], ready["http"], ready["database"])


def family(pid: int) -> set[int]:
    """Return the process and all that descend from it."""
    children: dict[int, set[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, set()).add(int(path.parent.name))
    found, frontier = {pid}, {pid}
    while frontier:
        frontier = {child for parent in frontier for child in children.get(parent, ())} - found
        found |= frontier
    return found


def command_line(pid: int) -> bytes:
    """Return the command line of a living process, nothing for one that is dead or about to be reaped."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def provisioner_of(stack: Stack, *, other_than: int = 0) -> int:
    found = 0

    def runs() -> bool:
        nonlocal found
        provisioners = [pid for pid in family(stack.command.pid) if b"\0tinkwell.provisioner\0" in command_line(pid)]
        found = provisioners[0] if provisioners else 0
        return found not in (0, other_than)

    await waiting.eventually(runs, deadline_seconds=60)
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
async def test_nothing_is_left_running_however_it_ends(tmp_path: Path, state_dir: Path, number: signal.Signals) -> None:
    async with running(tmp_path, "--state-dir", str(state_dir)) as stack:
        await provisioner_of(stack)
        pids = family(stack.command.pid)
        code = await stack.command.stop(number)
    assert len(pids) > 3
    assert code == (-number if number is signal.SIGKILL else 0)
    await waiting.eventually(lambda: not any(map(command_line, pids)), deadline_seconds=20)


async def test_what_was_stored_is_there_again_after_a_kill(tmp_path: Path, state_dir: Path) -> None:
    async with running(tmp_path, "--state-dir", str(state_dir)) as stack:
        async with tinkwell.client.connect(stack.grpc) as client:
            await client.hardware.push({"id": MACHINE})
        await stack.command.stop(signal.SIGKILL)
    async with (
        running(tmp_path, "--state-dir", str(state_dir)) as stack,
        tinkwell.client.connect(stack.grpc) as client,
    ):
        assert (await client.hardware.by_id(MACHINE)).id == MACHINE


async def test_the_printed_addresses_answer(tmp_path: Path) -> None:
    async with running(tmp_path, "--ephemeral") as stack:
        ready = await asyncio.to_thread(lambda: urllib.request.urlopen(f"{stack.http}/readyz", timeout=20).read())
        assert json.loads(ready)["ready"] is True
        connection = await asyncpg.connect(stack.database)
        assert await connection.fetchval("SELECT count(*) FROM hardware") == 0
        await connection.close()


async def test_it_carries_out_releases(tmp_path: Path) -> None:
    manifest = {"resources": {"first": {"type": "thing", "config": {"path": str(tmp_path / "a"), "text": "content"}}}}
    images = ("--process-images", str(release_stage.IMAGES))
    async with (
        running(tmp_path, "--ephemeral", *images) as stack,
        tinkwell.client.connect(stack.grpc) as client,
    ):
        await (await client.releases.apply("shop", manifest=manifest)).result()
        assert (tmp_path / "a").read_text() == "content"


async def test_an_ephemeral_one_leaves_no_files(tmp_path: Path) -> None:
    async with running(tmp_path, "--ephemeral") as stack:
        directory = Path(stack.database.partition("host=")[2]).parent.parent
        assert directory.exists()
        await stack.command.stop()
    assert not directory.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_an_ephemeral_one_takes_running_actions_with_it(tmp_path: Path, number: signal.Signals) -> None:
    image = tmp_path / "images" / "sleeper" / "run"
    image.parent.mkdir(parents=True)
    image.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/new && mv {tmp_path}/new {tmp_path}/pid && exec sleep 1000\n")
    image.chmod(0o755)
    started = tmp_path / "pid"
    async with running(tmp_path, "--ephemeral", "--process-images", str(tmp_path / "images")) as stack:
        async with tinkwell.client.connect(stack.grpc) as client:
            await client.hardware.push({"id": MACHINE})
            template = await client.templates.create(TEMPLATE)
            await client.workflows.create(template.id, {"device_1": MACHINE})
        await waiting.eventually(started.exists, deadline_seconds=30)
        sleeper = int(started.read_text())
        # While a process is being replaced by `exec`, the kernel shows it without a command line.
        await waiting.eventually(lambda: command_line(sleeper) == b"sleep\x001000\x00", deadline_seconds=20)
        await stack.command.stop(number)
    await waiting.eventually(lambda: not command_line(sleeper), deadline_seconds=20)


async def test_it_makes_keys_for_secrets_once_and_keeps_them(tmp_path: Path, state_dir: Path) -> None:
    file, texts = state_dir / "secret.keys", []
    for _ in range(2):
        async with running(tmp_path, "--state-dir", str(state_dir)) as stack:
            texts.append(await asyncio.to_thread(file.read_text))
            (id_,) = keys.read(file).ids
            assert f"secrets are sealed key={id_.hex()}" in stack.command.output
    assert texts[0] == texts[1]
    assert texts[0].splitlines()[-1] not in stack.command.output


async def test_keys_that_are_set_are_used_in_its_place(tmp_path: Path, state_dir: Path) -> None:
    key = keys.create(tmp_path / "mine")
    settings = {"TINKWELL_SECRET_KEYS": str(tmp_path / "mine")}
    async with running(tmp_path, "--state-dir", str(state_dir), **settings) as stack:
        assert f"secrets are sealed key={key.id.hex()}" in stack.command.output
    assert not (state_dir / "secret.keys").exists()


async def test_a_provisioner_that_dies_is_started_again(tmp_path: Path) -> None:
    async with running(tmp_path, "--ephemeral") as stack:
        first = await provisioner_of(stack)
        os.kill(first, signal.SIGKILL)
        assert await provisioner_of(stack, other_than=first) != first
        assert "the provisioner ended by itself and is started again exit_code=-9" in stack.command.output


async def test_it_ends_with_the_reason_when_its_database_dies(tmp_path: Path) -> None:
    async with running(tmp_path, "--ephemeral") as stack:
        postgres = next(pid for pid in family(stack.command.pid) if b"/postgres\0-D\0" in command_line(pid))
        os.kill(postgres, signal.SIGQUIT)
        assert await stack.command.wait() == 1
        assert re.search(r"^Error: PostgreSQL ended by itself with exit code", stack.command.output, re.MULTILINE)


async def test_where_tokens_are_needed_the_provisioner_has_one(tmp_path: Path) -> None:
    async with running(tmp_path, "--ephemeral", TINKWELL_TOKENS='{"alice": "secret"}') as stack:
        await stack.command.line("workflows are watched")
        async with tinkwell.client.connect(stack.grpc) as client:
            with pytest.raises(tinkwell.client.errors.Unauthenticated):
                await client.hardware.push({"id": MACHINE})
        async with tinkwell.client.connect(stack.grpc, token="secret") as client:
            await client.hardware.push({"id": MACHINE})


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (["--state-dir", "/dev/null/x"], {}, "/dev/null/x cannot be used: .*; choose another state directory"),
        (["--ephemeral"], {"TINKWELL_POOL_SIZE": "x"}, "TINKWELL_POOL_SIZE: Input should be a valid integer"),
        (["--ephemeral"], {"TINKWELL_PG_BIN": "/"}, "/ holds no working PostgreSQL"),
        (["--ephemeral"], {"TINKWELL_SERVER_CERT": __file__, "TINKWELL_SERVER_KEY": __file__}, ".* does not do TLS"),
    ],
)
async def test_what_it_cannot_do_is_said_in_one_sentence(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], message: str
) -> None:
    settings = {**ENVIRONMENT, **environment}
    async with process.running(*DEV, *arguments, log=tmp_path / "dev.log", environment=settings) as command:
        assert await command.wait() == 1
        assert re.search(f"^Error: {message}", command.output, re.MULTILINE)
        assert "Traceback" not in command.output


@other_account.as_root
async def test_a_state_directory_of_another_account_is_refused(tmp_path: Path, state_dir: Path) -> None:
    os.chown(state_dir, other_account.found().uid, -1)
    arguments = (*DEV, "--state-dir", str(state_dir))
    async with process.running(*arguments, log=tmp_path / "dev.log", environment=ENVIRONMENT) as command:
        assert await command.wait() == 1
        assert f"Error: {state_dir} cannot be used to keep state in: it belongs to another account" in command.output
    assert os.listdir(state_dir) == []  # noqa: PTH208 nothing here waits for a disk


@pytest.mark.parametrize("tokens", ["", '{"alice": "secret"}'])
async def test_it_says_that_other_accounts_may_use_it_where_no_token_is_needed(tmp_path: Path, tokens: str) -> None:
    settings = {"TINKWELL_TOKENS": tokens} if tokens else {}
    others = neighbor.find(pwd.getpwall(), own=os.geteuid())
    async with running(tmp_path, "--ephemeral", **settings) as stack:
        told = "other accounts of this machine may use this server" in stack.command.output
        assert told == (not tokens and bool(others))
        if told:
            assert others[0] in stack.command.output


@pytest.mark.parametrize("option", ["--port", "--http-port"])
async def test_a_taken_port_is_named(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        arguments = [*DEV, "--ephemeral", option, port]
        async with process.running(*arguments, log=tmp_path / "dev.log", environment=ENVIRONMENT) as command:
            assert await command.wait() == 1
            assert re.search(f"^Error: cannot listen on 127.0.0.1:{port}", command.output, re.MULTILINE)
