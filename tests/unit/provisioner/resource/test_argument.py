"""What is a path and what is an image, and what is said of a path that leads nowhere."""

from pathlib import Path

import pytest

from tinkwell.core import errors
from tinkwell.provisioner.resource import argument


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with types: a good one, one whose program is not executable, and one without a program."""
    for name in ("symlink", "plain", "empty"):
        (tmp_path / "acme" / name).mkdir(parents=True)
    for name, mode in (("symlink", 0o755), ("plain", 0o644)):
        (tmp_path / "acme" / name / "run").write_text("#!/bin/sh\n")
        (tmp_path / "acme" / name / "run").chmod(mode)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("text", ["acme/symlink", "./acme/symlink", "acme/symlink/", "~/acme/symlink"])
def test_a_folder_is_found(here: Path, text: str) -> None:
    assert argument.find_folder(text) == here / "acme" / "symlink"


@pytest.mark.parametrize("text", ["acme/symlink:v1", "other/thing", "busybox", "localhost:5000/a", "acme/x@sha256:ab"])
def test_what_is_no_path_is_an_image(text: str) -> None:
    assert argument.find_folder(text) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("acme/symlnk", "there is no folder acme/symlnk; did you mean acme/symlink?"),
        ("./acme/symlnk", "there is no folder ./acme/symlnk; did you mean acme/symlink?"),
        ("acme/zzz", "there is no folder acme/zzz; an image has its tag here, as in acme/zzz:latest"),
        ("/nowhere/at/all", "there is no folder /nowhere/at/all"),
        ("~/zzz", "there is no folder ~/zzz"),
        ("acme/symlink/run", "acme/symlink/run is a file; give the folder that it is in, acme/symlink"),
        ("acme/plain", "acme/plain/run is not executable; say chmod +x acme/plain/run"),
        ("acme/empty", "acme/empty has no file named run; "),
    ],
)
def test_a_path_without_a_type_says_what_to_do(text: str, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        argument.find_folder(text)
    assert caught.value.violations[0].description.startswith(sentence)
