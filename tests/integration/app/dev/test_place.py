"""Where an embedded PostgreSQL keeps its files: only where nobody else can lead it astray or read along."""

import os
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import asyncpg
import pytest

from support import other_account
from tinkwell.server.app.dev import place, postgres

BIN_DIR = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
SECRET = "a statement that nobody else should read"


@pytest.fixture
def state_dir() -> Iterator[Path]:
    with place.temporary() as directory:
        yield directory


def embedded(state_dir: Path) -> AbstractAsyncContextManager[postgres.Cluster]:
    return postgres.embedded(state_dir, bin_dir=BIN_DIR, durable=False)


async def test_nobody_else_reads_what_failed(state_dir: Path) -> None:
    log = state_dir / "postgres" / "server.log"
    for _ in range(2):
        async with embedded(state_dir) as cluster:
            connection = await asyncpg.connect(cluster.url)
            with pytest.raises(asyncpg.PostgresSyntaxError):
                await connection.execute(SECRET)
            await connection.close()
            assert SECRET in log.read_text()
            assert log.stat().st_mode & 0o777 == 0o600
            files = {path.name for folder in (state_dir, log.parent) for path in folder.iterdir() if path.is_file()}
            read = {name for name in files if any_mode(state_dir, name) & 0o044}
            assert read == {"hba.conf", "ident.conf"}
        # Such as a former release left it.
        log.chmod(0o644)


def any_mode(state_dir: Path, name: str) -> int:
    found = state_dir / name
    return (found if found.exists() else state_dir / "postgres" / name).stat().st_mode


@pytest.mark.parametrize("name", ["postgres.lock", "postgres/server.log", "postgres/hba.conf", "postgres/ident.conf"])
async def test_no_link_is_written_through(state_dir: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    victim.chmod(0o640)
    (state_dir / "postgres").mkdir(mode=0o711)
    (state_dir / name).symlink_to(victim)
    with pytest.raises(place.NotAvailable, match=f"{name} cannot be written: it is a link: remove it"):
        async with embedded(state_dir):
            pass
    assert victim.read_text() == "precious"
    assert victim.stat().st_mode & 0o777 == 0o640


async def test_data_at_the_end_of_a_link_is_refused(state_dir: Path, tmp_path: Path) -> None:
    (state_dir / "postgres").mkdir(mode=0o711)
    (state_dir / "postgres" / "data").symlink_to(tmp_path)
    with pytest.raises(place.NotAvailable, match="data is no folder, or a link to one: remove it"):
        async with embedded(state_dir):
            pass


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
@pytest.mark.parametrize("name", ["", "postgres"])
async def test_a_folder_that_others_may_write_to_is_refused(state_dir: Path, name: str, mode: int) -> None:
    (state_dir / name).mkdir(exist_ok=True)
    (state_dir / name).chmod(mode)
    with pytest.raises(place.NotAvailable, match=f"other accounts may write there, for its mode is {mode:04o}: take"):
        async with embedded(state_dir):
            pass
    assert not (state_dir / "postgres" / "data").exists()


@other_account.as_root
@pytest.mark.parametrize("name", ["", "postgres"])
@pytest.mark.parametrize("is_link", [False, True])
async def test_a_folder_that_is_another_account_s_is_refused(state_dir: Path, name: str, is_link: bool) -> None:
    other = other_account.found()
    folder = state_dir / "state" / name
    folder.parent.mkdir(exist_ok=True)
    if is_link:
        (state_dir / "elsewhere").mkdir()
        folder.symlink_to(state_dir / "elsewhere")
    else:
        folder.mkdir(exist_ok=True)
    os.chown(folder, other.uid, other.gid, follow_symlinks=False)
    with pytest.raises(place.NotAvailable, match=f"it belongs to another account, {other.uid}: choose one of your own"):
        async with embedded(state_dir / "state"):
            pass
    assert not (folder / "data").exists()


@other_account.as_root
@pytest.mark.parametrize("kind", ["link", "pipe"])
async def test_what_the_account_of_postgresql_puts_in_place_of_a_file_is_not_read(state_dir: Path, kind: str) -> None:
    async with embedded(state_dir):
        pass
    secret, version = state_dir / "secret", state_dir / "postgres" / "data" / "PG_VERSION"
    secret.write_text("of root\n")
    version.unlink()
    if kind == "link":
        version.symlink_to(secret)
    else:
        os.mkfifo(version)
    with pytest.raises((postgres.NotRunning, OSError)) as caught:
        async with embedded(state_dir):
            pass
    assert "of root" not in str(caught.value)


@other_account.as_root
@pytest.mark.parametrize(("owner", "mode", "is_told"), [(1, 0o755, True), (0, 0o777, True), (0, 0o1777, False)])
def test_a_folder_above_that_others_may_change_is_told(
    state_dir: Path, caplog: pytest.LogCaptureFixture, owner: int, mode: int, is_told: bool
) -> None:
    above = state_dir / "above"
    above.mkdir()
    above.chmod(mode)
    os.chown(above, owner, owner)
    with place.claim(above / "state"):
        pass
    assert ("other accounts may replace the state directory" in caplog.text) == is_told
