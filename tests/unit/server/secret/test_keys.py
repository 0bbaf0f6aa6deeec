"""The key file: what it may be, who may have it, and what is said about a wrong one."""

import base64
import os
import stat
from pathlib import Path

import pytest

from tinkwell.server.secret import keys

FIRST, SECOND = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys"


def write(file: Path, text: str | bytes, *, mode: int = 0o600) -> None:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    file.chmod(mode)


def refusal(file: Path) -> str:
    with pytest.raises(keys.InvalidKeys) as refused:
        keys.read(file)
    assert FIRST not in str(refused.value)
    return str(refused.value)


def test_the_first_key_is_the_one_of_the_first_line_and_all_are_found_by_their_ids(file: Path) -> None:
    write(file, f"# a comment\n\n{FIRST}\n  {SECOND}  \r\n# {FIRST}\n")
    known = keys.read(file)
    first, second = (keys.Key.of(base64.b64decode(line)) for line in (FIRST, SECOND))
    assert known.first == first
    assert known.ids == [first.id, second.id]
    assert known.find(second.id) == second
    assert known.find(b"another1") is None


def test_an_id_is_that_of_the_key_and_not_of_its_place(file: Path) -> None:
    write(file, f"{FIRST}\n{SECOND}\n")
    before = keys.read(file).ids
    write(file, f"{SECOND}\n{FIRST}")
    assert keys.read(file).ids == before[::-1]


def test_each_use_has_a_key_of_its_own() -> None:
    secret = b"\1" * 32
    key = keys.Key.of(secret)
    assert key.sealing != secret
    assert [len(part) for part in (key.id, key.sealing)] == [8, 32]
    assert not key.sealing.startswith(key.id)


def test_a_key_is_not_shown(file: Path) -> None:
    write(file, FIRST)
    shown = repr(keys.read(file).first)
    assert "sealing" not in shown


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_its_owner_alone_is_read(file: Path, mode: int) -> None:
    write(file, FIRST, mode=mode)
    assert keys.read(file).ids == [keys.Key.of(b"\1" * 32).id]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666, 0o440])
def test_a_file_that_others_may_use_is_refused(file: Path, mode: int) -> None:
    write(file, FIRST, mode=mode)
    assert f"{file} may be used by others (mode {mode:04o}" in refusal(file)
    assert f"`chmod 600 {file}`" in refusal(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_account_is_refused(file: Path) -> None:
    write(file, FIRST)
    os.chown(file, 12_345, -1)
    assert refusal(file) == f"{file} belongs to the account 12345, and must belong to 0, which reads it, or to root"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no key in it; `tinkwell secret keygen` makes one"),
        ("# only a comment\n", "there is no key in it"),
        (f"{FIRST}\n{SECOND[:-2]}\n", "line 2 is no key, which is 32 random bytes in Base64"),
        (f"{FIRST[:-4]}AAAA\n", "line 1 is no key"),
        (f"{FIRST} {SECOND}", "line 1 is no key"),
        ("-----BEGIN PRIVATE KEY-----\n", "line 1 is no key"),
        (f"{SECOND}\n{FIRST}\nпароль\n", "line 3 is no key"),
        (b"\xff\xfe", "line 1 is no key"),
        (f"{FIRST}\n{SECOND}\n\n{FIRST}\n", "line 4 repeats a key; delete it"),
        ("#" * 70_000, "has more than 65,536 bytes, so it is no key file"),
    ],
)
def test_what_is_no_key_file_is_refused_with_the_line(file: Path, text: str | bytes, message: str) -> None:
    write(file, text)
    assert message in refusal(file)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    assert refusal(pipe) == f"{pipe} is not a file"
    assert refusal(tmp_path).startswith(str(tmp_path))
    absent = tmp_path / "absent"
    assert refusal(absent) == f"{absent} cannot be read: No such file or directory"


def test_a_link_to_a_key_file_is_followed_and_kept(file: Path) -> None:
    write(file, FIRST)
    link = file.with_name("link")
    link.symlink_to(file)
    added = keys.create(link, append=True)
    assert link.is_symlink()
    assert keys.read(link).ids == keys.read(file).ids == [keys.Key.of(b"\1" * 32).id, added.id]


def test_a_new_file_has_one_key_and_belongs_to_its_owner_alone(file: Path) -> None:
    former = os.umask(0)
    try:
        made = keys.create(file)
    finally:
        os.umask(former)
    assert keys.read(file).ids == [made.id]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["keys"]
    assert file.read_text().startswith("# ")


def test_a_file_that_exists_is_not_written_over(file: Path) -> None:
    write(file, FIRST)
    with pytest.raises(keys.InvalidKeys, match="exists; --append adds a key to it"):
        keys.create(file)
    assert file.read_text() == FIRST
    assert [path.name for path in file.parent.iterdir()] == ["keys"]


def test_a_key_is_appended_behind_the_others(file: Path) -> None:
    write(file, f"# mine\n{FIRST}")
    added = keys.create(file, append=True)
    assert keys.read(file).ids == [keys.Key.of(b"\1" * 32).id, added.id]
    assert file.read_text().startswith(f"# mine\n{FIRST}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(("text", "mode"), [("nonsense", 0o600), (FIRST, 0o644)])
def test_nothing_is_appended_to_what_is_no_key_file(file: Path, text: str, mode: int) -> None:
    write(file, text, mode=mode)
    with pytest.raises(keys.InvalidKeys):
        keys.create(file, append=True)
    assert file.read_text() == text


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(keys.InvalidKeys, match="absent/keys cannot be written: No such file or directory"):
        keys.create(tmp_path / "absent" / "keys")
    with pytest.raises(keys.InvalidKeys, match="absent cannot be read: No such file or directory"):
        keys.create(tmp_path / "absent", append=True)
