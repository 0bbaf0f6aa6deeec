"""Python environments of charms: the packed one where it is good, or one that is built of what the source says."""

import asyncio
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tinkwell.provisioner.unit.dispatch import venv
from tinkwell.provisioner.unit.dispatch.venv import Unbuildable, Venvs

DIGEST = f"sha256:{'a' * 64}"
MINOR = sys.version_info.minor
OTHER = "cpython-38"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with packages called ops and yaml, which is all that pip knows."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, module in (("ops", "ops"), ("pyyaml", "yaml")):
        with zipfile.ZipFile(folder / f"{name}-9.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{module}/__init__.py", "version = '9.0'\n")
            wheel.writestr(f"{name}-9.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n")
            wheel.writestr(f"{name}-9.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{name}-9.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def _charm(folder: Path, name: str = "charm", **files: str) -> Path:
    files = {"src/charm.py": "", **files}
    for path, text in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text)
    return folder / name


def _packed_elsewhere(folder: Path, **files: str) -> Path:
    """Make a charm whose packed packages are of another Python."""
    return _charm(folder, **{f"venv/yaml/_yaml.{OTHER}-x86_64-linux-gnu.so": "", **files})


async def test_a_packed_environment_that_can_be_imported_is_used(tmp_path: Path) -> None:
    charm = _charm(tmp_path, **{"venv/ops/__init__.py": "", "venv/yaml/__init__.py": ""})
    python = await Venvs(tmp_path / "venvs").ready(charm, DIGEST)
    assert python == tmp_path / "venvs/python"
    assert (charm / "venv").is_dir()
    assert not (charm / "venv").is_symlink()


async def test_an_environment_is_built_once_for_all_who_ask(tmp_path: Path, wheels: Path) -> None:
    venvs, text = Venvs(tmp_path / "venvs"), {"requirements.txt": "ops\npyyaml\n"}
    first, second = _packed_elsewhere(tmp_path, **text), _charm(tmp_path, "other", **text)
    found = await asyncio.gather(venvs.ready(first, DIGEST), venvs.ready(second, DIGEST))
    made = tmp_path / f"venvs/{'a' * 32}-cpython-3{MINOR}"
    assert [*found] == [made / "bin"] * 2
    assert [charm.joinpath("venv").readlink() for charm in (first, second)] == [made] * 2
    asking = [str(first / "venv/bin/python3"), "-c", "import ops; print(ops.version)"]
    said = await asyncio.to_thread(subprocess.run, asking, capture_output=True, check=True)
    assert said.stdout == b"9.0\n"
    # Its programs know where it is, though it was made elsewhere.
    assert str(made).encode() in (made / "bin/pip").read_bytes()
    venvs.sweep([DIGEST])
    assert made.exists()
    venvs.sweep([])
    assert not made.exists()


async def test_a_packed_environment_of_another_python_is_refused_where_nothing_else_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unbuildable, match=rf"its packed venv is for Python 3.8, this machine runs Python 3.{MINOR}"):
        await Venvs(tmp_path / "venvs").ready(_packed_elsewhere(tmp_path), DIGEST)


async def test_a_charm_that_says_nowhere_what_it_needs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unbuildable, match=r"write ops into a requirements.txt"):
        await Venvs(tmp_path / "venvs").ready(_charm(tmp_path), DIGEST)


async def test_a_build_that_fails_says_why_and_leaves_nothing(tmp_path: Path, wheels: Path) -> None:
    charm = _charm(tmp_path, **{"requirements.txt": "no-such-package\n"})
    with pytest.raises(Unbuildable, match=r"No matching distribution found for no-such-package"):
        await Venvs(tmp_path / "venvs").ready(charm, DIGEST)
    assert [path.name for path in (tmp_path / "venvs").iterdir()] == ["python"]


async def test_a_build_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv, "BUILD_SECONDS", 0.01)
    with pytest.raises(Unbuildable, match=r"it took longer than 0 s|was not built within 0 s"):
        await Venvs(tmp_path / "venvs").ready(_charm(tmp_path, **{"requirements.txt": "ops\n"}), DIGEST)


async def test_a_charm_without_packages_gets_this_machines_python(tmp_path: Path) -> None:
    (tmp_path / "charm").mkdir()
    assert await Venvs(tmp_path / "venvs").ready(tmp_path / "charm", DIGEST) == tmp_path / "venvs/python"
    assert (tmp_path / "venvs/python/python3").exists()


def test_a_build_knows_where_packages_come_from_and_nothing_else_of_the_agent() -> None:
    given = {"PATH": "/bin", "PIP_INDEX_URL": "https://a", "https_proxy": "b", "TINKWELL_TOKEN": "c", "NO_PROXY": "d"}
    made = venv.building(given)
    assert made == {
        "PATH": "/bin",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "PIP_INDEX_URL": "https://a",
        "https_proxy": "b",
        "NO_PROXY": "d",
    }
