"""The folder of a new type: what is in it, and that nothing is written over."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.author import KIT, Type
from tinkwell.cli.main import main
from tinkwell.core import errors
from tinkwell.provisioner.resource import scaffold

FILES = {"run", "kit.py", "Dockerfile", "README.md", "config.json", "release.yaml"}


def init(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["resource", "init", *words])
    return done.exit_code, done.stdout, done.stderr


def test_a_new_type_works_and_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed, _ = init("acme/my-note")
    folder = tmp_path / "acme" / "my-note"
    assert code == 0
    assert {file.name for file in folder.iterdir()} == FILES
    assert os.access(folder / "run", os.X_OK)
    assert (folder / "kit.py").read_text() == KIT.read_text()
    assert "class MyNote(Resource)" in (folder / "run").read_text()
    assert "type: acme/my-note:v1" in (folder / "release.yaml").read_text()
    assert printed.partition("Next:\n")[2].splitlines() == [
        "  tinkwell resource test acme/my-note --config acme/my-note/config.json",
        "  tinkwell dev --process-images .",
        "  tinkwell release apply my-note acme/my-note/release.yaml",
    ]
    assert not any("%" in file.read_text() for file in folder.iterdir() if file.name != "kit.py")
    state = Type(folder).call("state", config={"name": "a"})
    assert state.answer["status"] == "STALE"


def test_it_is_written_into_a_folder_of_any_name(tmp_path: Path) -> None:
    made = scaffold.write("acme/note", tmp_path / "here")
    assert {file.name for file in made.files} == FILES
    assert made.commands[1] == "tinkwell dev --process-images IMAGES"
    made = scaffold.write("acme/note", tmp_path / "images" / "acme" / "note")
    assert made.commands[1].endswith(f"--process-images {tmp_path}/images")


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_is_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    code, _, told = init("acme/note", str(tmp_path))
    assert (code, told.count("\n")) == (1, 1)
    assert f"{tmp_path / name} would be written over" in told
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "mine")]


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(errors.InvalidField, match="would be written over"):
        scaffold.write("acme/note", tmp_path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["", "Note", "acme/note:v1", "../note", "acme//note", "a b", "acme/note@sha256:1"])
def test_what_no_image_can_be_called_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.InvalidField, match="write it as acme/note"):
        scaffold.write(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.InvalidField, match="cannot be written: Not a directory"):
        scaffold.write("acme/note", tmp_path / "file" / "note")
