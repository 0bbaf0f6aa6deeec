"""How an image's reference becomes a folder."""

from pathlib import Path

import pytest

from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.process import image_folder


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("disk-wipe", "disk-wipe"),
        ("disk-wipe:v1", "disk-wipe"),
        ("project/disk-wipe", "project/disk-wipe"),
        ("quay.io/project/disk-wipe:v1.0", "project/disk-wipe"),
        ("localhost:5000/disk-wipe", "disk-wipe"),
        ("localhost/disk-wipe", "disk-wipe"),
        ("registry:5000/a/b:v1@sha256:" + "0" * 64, "a/b"),
        ("disk-wipe@sha256:" + "0" * 64, "disk-wipe"),
    ],
)
def test_a_reference_names_a_folder(image: str, name: str) -> None:
    assert image_folder.image_name(image) == name


@pytest.mark.parametrize("image", ["", ":v1", "a/../b", "a//b", "quay.io/../x", "/etc", "."])
def test_a_reference_cannot_lead_elsewhere(image: str) -> None:
    with pytest.raises(port.RunError, match="names no image"):
        image_folder.image_name(image)


def test_what_python_keeps_beside_a_program_makes_no_other_image(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    before = image_folder.identity(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "kit.cpython-311.pyc").touch()
    assert image_folder.identity(tmp_path) == before
    (tmp_path / "kit.py").touch()
    assert image_folder.identity(tmp_path) != before
