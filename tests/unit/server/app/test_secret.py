"""`tinkwell secret`, as far as it takes no database."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tinkwell.cli.main import main
from tinkwell.server.secret import keys


def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["secret", *arguments], env=environment)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_keygen_writes_a_file_and_tells_the_id_and_not_the_key() -> None:
    code, output, _ = run("keygen", "keys")
    (id_,) = keys.read(Path("keys")).ids
    assert (code, output) == (0, f"keys has the new key {id_.hex()}.\n")
    assert run("keygen", "keys") == (1, "", "Error: keys exists; --append adds a key to it\n")
    code, output, _ = run("keygen", "--append", "keys")
    first, second = keys.read(Path("keys")).ids
    assert (code, first) == (0, id_)
    assert f"the new key {second.hex()}." in output


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Error: TINKWELL_SECRET_KEYS is not set: let it name the key file\n"),
        ({"TINKWELL_SECRET_KEYS": "absent"}, "Error: TINKWELL_SECRET_KEYS: Path does not point to a file\n"),
        (
            {"TINKWELL_SECRET_KEYS": "empty"},
            "Error: empty: there is no key in it; `tinkwell secret keygen` makes one\n",
        ),
    ],
)
def test_rekey_says_what_is_wrong_with_the_keys(settings: dict[str, str], message: str) -> None:
    Path("empty").touch(mode=0o600)
    code, _, error = run("rekey", TINKWELL_DATABASE_URL="postgresql://u@localhost:1/d", **settings)
    assert (code, error) == (1, message)


@pytest.mark.parametrize("key", ["", "key", "0123456789abcde", "0123456789abcdef00"])
def test_forget_takes_the_id_of_a_key_alone(key: str) -> None:
    code, _, error = run("forget", key)
    assert (code, "give the id of a key, 16 hexadecimal digits" in error.replace("\n", " ")) == (2, True)
