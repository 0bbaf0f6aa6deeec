"""Types that are written with the kit run under Deployster, too, and its protocol is all that they are told there."""

import shutil
from pathlib import Path

import docker
import pytest
from integration.provisioner import python_image

from support.author import EXAMPLES
from support.deployster import Deployster, Docker, Engine, Folder
from tinkwell.provisioner.resource import scaffold

KIT_TYPES = sorted(file.parent.name for file in EXAMPLES.glob("*/kit.py"))


@pytest.mark.parametrize("name", KIT_TYPES)
def test_every_example_answers_init_as_deployster_wants_it(tmp_path: Path, name: str) -> None:
    init = Deployster(Folder(EXAMPLES / name), f"tinkwell-resource/{name}:v1", tmp_path).init()
    assert init["state_action"] == {"args": ["state"]}
    assert init["config_schema"]["additionalProperties"] is False


def settles(engine: Engine, files: Path) -> None:
    """Have a file made, left alone, and mended."""
    deployster = Deployster(engine, "tinkwell-resource/file:v1", files.parent)
    config = {"name": "a.txt", "content": "hello", "mode": "0600"}
    done, state = deployster.execute(config)
    assert (done, state["content"], (files / "a.txt").read_text()) == (["write"], "hello", "hello")
    assert deployster.execute(config)[0] == []
    (files / "a.txt").write_text("theirs")
    assert deployster.execute(config)[0] == ["write"]


def test_a_file_settles_as_a_process(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    settles(Folder(EXAMPLES / "file", {"TINKWELL_PLUG_FILES": str(files)}), files)


@pytest.mark.docker
@pytest.mark.timeout(300)
def test_a_file_settles_in_containers_that_deployster_starts(tmp_path: Path, engine: docker.APIClient) -> None:
    if shutil.which("docker") is None:
        pytest.skip("the command docker, by which Deployster starts containers, is not installed")
    python_image.build(engine, EXAMPLES / "file", "tinkwell-resource/file:v1")
    files = tmp_path / "files"
    files.mkdir()
    settles(Docker("tinkwell-resource/file:v1", tmp_path, {"/files": str(files)}), files)


def test_a_new_type_settles(tmp_path: Path) -> None:
    scaffold.write("acme/note", tmp_path / "note")
    deployster = Deployster(Folder(tmp_path / "note", {"TINKWELL_PLUG_FILES": str(tmp_path)}), "acme/note:v1", tmp_path)
    assert deployster.execute({"name": "a", "text": "hello"})[0] == ["write"]
    assert (tmp_path / "a.txt").read_text() == "hello"
    assert deployster.execute({"name": "a", "text": "hello"})[0] == []
