"""Charms of Juju from their sources: each shape of the documentation of ops is packed and taken, or refused."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from support.ops_charm import SHAPES, Shape
from tinkwell.client.unit import package
from tinkwell.core import errors
from tinkwell.core.charm import package as core_package
from tinkwell.core.charm.record import Charm
from tinkwell.core.unit.kinds import CharmKind, Profile


def written(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


def checked(data: bytes) -> Charm:
    return core_package.check(io.BytesIO(data))


TAKEN = {name: shape for name, shape in SHAPES.items() if not shape.refusal}
REFUSED = {name: shape for name, shape in SHAPES.items() if shape.refusal}


@pytest.mark.parametrize("shape", TAKEN.values(), ids=TAKEN)
def test_a_charm_of_the_documentation_is_taken(tmp_path: Path, shape: Shape) -> None:
    found = checked(package.pack(written(tmp_path, dict(shape.files)))).manifest
    assert (found.kind, found.profile) == (CharmKind.OPS, Profile.JUJU)
    assert {*found.actions} == {*shape.actions}
    assert {*found.options} == {*shape.options}
    assert {*found.storages} == {*shape.storages}
    assert {*found.endpoints} == {*shape.endpoints}


@pytest.mark.parametrize("shape", REFUSED.values(), ids=REFUSED)
def test_a_charm_that_needs_more_is_refused_with_a_sentence(tmp_path: Path, shape: Shape) -> None:
    with pytest.raises(errors.CharmRefused) as caught:
        checked(package.pack(written(tmp_path, dict(shape.files))))
    assert shape.refusal in str(caught.value)


def test_a_mistake_is_told_by_its_line_in_the_file_that_there_is(tmp_path: Path) -> None:
    with pytest.raises(errors.CharmRefused) as caught:
        package.pack(written(tmp_path, dict(SHAPES["a sidecar on Kubernetes"].files)))
    assert caught.value.violations[0].field == "charmcraft.yaml.containers"
    assert caught.value.violations[0].description.startswith("line 4, column ")


def test_the_files_that_ops_reads_are_made_of_charmcraft_yaml(tmp_path: Path) -> None:
    data = package.pack(written(tmp_path, dict(SHAPES["httpbin on machines"].files)))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        metadata = json.loads(archive.read("metadata.yaml"))
        assert [*metadata] == ["name", "summary", "description", "provides"]
        assert json.loads(archive.read("config.yaml"))["options"]["ratio"]["default"] == 0.25
        assert [*json.loads(archive.read("actions.yaml"))] == ["get-requests"]


def test_files_that_are_there_are_left_as_they_are(tmp_path: Path) -> None:
    files = {"charmcraft.yaml": "name: a\nactions: {x: {}}\n", "actions.yaml": "y: {}\n", "src/charm.py": ""}
    data = package.pack(written(tmp_path, files))
    assert [*checked(data).manifest.actions] == ["y"]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert "config.yaml" not in archive.namelist()


def test_a_charm_of_ours_keeps_its_manifest(tmp_path: Path) -> None:
    files = {"charm.yaml": "name: web\n", "charmcraft.yaml": "name: other\n", "hooks/lib/a.sh": ""}
    data = package.pack(written(tmp_path, files))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert "metadata.yaml" not in archive.namelist()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "charmcraft.yaml: must be one object with the name of the charm in it"),
        ("name: a\n---\nname: b\n", "charmcraft.yaml: must be one object"),
        ("name: [", "charmcraft.yaml: line 1"),
        ("name: a\nname: b", "charmcraft.yaml: line 2"),
    ],
)
def test_what_is_no_charmcraft_yaml_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(errors.CharmRefused) as caught:
        package.pack(written(tmp_path, {"charmcraft.yaml": text, "src/charm.py": ""}))
    assert sentence in str(caught.value)


def test_a_virtual_environment_stays_out(tmp_path: Path) -> None:
    folder = written(tmp_path, {"metadata.yaml": "name: a\n", "src/charm.py": "", "venv/pyvenv.cfg": ""})
    (folder / "venv" / "python").symlink_to("/usr/bin/python3")
    assert checked(package.pack(folder)).name == "a"


def test_files_take_the_place_of_resources(tmp_path: Path) -> None:
    folder = written(tmp_path / "charm", dict(SHAPES["a file of a resource"].files))
    given = tmp_path / "given"
    given.write_bytes(b"hello")
    packed = tmp_path / "a.charm"
    packed.write_bytes(package.pack(folder))
    for source in (folder, packed):
        data = package.read(source, {"my-resource": given})
        assert not [each for each in checked(data).warnings if "my-resource is not in" in each]
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.read("resources/my-resource/somefile.txt") == b"hello"
    with pytest.raises(errors.CharmRefused, match="the charm has no such resource; did you mean my-resource"):
        package.read(folder, {"my-resourc": given})
