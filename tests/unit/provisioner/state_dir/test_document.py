"""The file by which a workflow's actions share a document, whatever an action has put in its place."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tinkwell.provisioner.state_dir import document

OTHER_ACCOUNT = 65_534


def test_a_document_is_written_and_read(tmp_path: Path) -> None:
    folder = tmp_path / "workflow" / "worker"
    assert document.read(folder, max_bytes=100) is None
    document.provide(folder)
    assert document.read(folder, max_bytes=100) == b"{}"
    document.write(folder, b'{"a": 1}')
    document.provide(folder)
    assert document.read(folder, max_bytes=100) == b'{"a": 1}'
    assert [path.name for path in folder.iterdir()] == ["data"]


def test_of_a_large_one_no_more_is_read_than_shows_that_it_is_too_large(tmp_path: Path) -> None:
    document.write(tmp_path, b"x" * 1_000)
    assert document.read(tmp_path, max_bytes=1_000) == b"x" * 1_000
    assert document.read(tmp_path, max_bytes=10) == b"x" * 11


def link(path: Path) -> None:
    path.symlink_to(path.with_name("secret"))


def hard_link(path: Path) -> None:
    path.hardlink_to(path.with_name("secret"))


def bind_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


@pytest.mark.parametrize("put", [link, hard_link, os.mkfifo, bind_socket])
def test_nothing_but_a_plain_file_is_read_or_written_through(tmp_path: Path, put: Callable[[Path], None]) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"password": 1}')
    put(tmp_path / "data")
    assert document.read(tmp_path, max_bytes=100) is None
    document.provide(tmp_path)
    assert document.read(tmp_path, max_bytes=100) is None
    document.write(tmp_path, b'{"a": 1}')
    assert document.read(tmp_path, max_bytes=100) == b'{"a": 1}'
    assert secret.read_text() == '{"password": 1}'


def test_a_folder_in_its_place_stays(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    document.provide(tmp_path)
    assert document.read(tmp_path, max_bytes=100) is None
    with pytest.raises(OSError, match="directory"):
        document.write(tmp_path, b"{}")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_it_belongs_to_whom_its_folder_belongs_to(tmp_path: Path) -> None:
    def owner() -> tuple[int, int, int]:
        found = (tmp_path / "data").stat()
        return found.st_uid, found.st_gid, found.st_mode & 0o777

    document.give(tmp_path)
    document.provide(tmp_path)
    assert owner() == (0, 0, 0o644)
    os.chown(tmp_path, OTHER_ACCOUNT, OTHER_ACCOUNT)
    document.give(tmp_path)
    assert owner() == (OTHER_ACCOUNT, OTHER_ACCOUNT, 0o644)
    (tmp_path / "data").chmod(0o660)
    document.write(tmp_path, b"[]")
    assert owner() == (OTHER_ACCOUNT, OTHER_ACCOUNT, 0o660)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("put", [link, hard_link, os.mkfifo, bind_socket])
def test_nothing_else_is_given_away(tmp_path: Path, put: Callable[[Path], None]) -> None:
    secret = tmp_path / "secret"
    secret.write_text("{}")
    put(tmp_path / "data")
    os.chown(tmp_path, OTHER_ACCOUNT, OTHER_ACCOUNT)
    document.give(tmp_path)
    assert (secret.stat().st_uid, (tmp_path / "data").lstat().st_uid) == (0, 0)
