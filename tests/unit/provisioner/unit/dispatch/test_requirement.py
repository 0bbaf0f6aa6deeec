"""Which packages a charm asks for is read out of the files of its source."""

from pathlib import Path

import pytest

from tinkwell.provisioner.unit.dispatch import requirement
from tinkwell.provisioner.unit.dispatch.requirement import Requirements

LIBRARY = 'LIBID = "1"\nPYDEPS = ["pydantic>=2", "cosl"]\n'
PROJECT = '[project]\nname = "web"\ndependencies = ["ops>=2.10", "--index-url=http://bad"]\n'
LOCK = """
[[package]]
name = "ops"
version = "2.17.1"
source = {registry = "https://pypi.example"}
[[package]]
name = "web"
version = "0.0.0"
source = {virtual = "."}
[[package]]
name = "numpy"
version = "1.0"
[[package]]
name = "numpy"
version = "2.0"
"""


def _charm(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / {"library": "lib/charms/a/v0/b.py", "lock": "uv.lock"}.get(name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_nothing_is_asked_for_where_no_file_says_so(tmp_path: Path) -> None:
    assert requirement.find(tmp_path) == Requirements()


def test_requirements_come_first_and_libraries_add_theirs(tmp_path: Path) -> None:
    charm = _charm(tmp_path, **{"requirements.txt": "ops\n", "pyproject.toml": PROJECT, "library": LIBRARY})
    assert requirement.find(charm) == Requirements(arguments=("-r", "requirements.txt", "pydantic>=2", "cosl"))


def test_a_project_is_pinned_by_its_lock(tmp_path: Path) -> None:
    charm = _charm(tmp_path, **{"pyproject.toml": PROJECT, "lock": LOCK})
    assert requirement.find(charm) == Requirements(arguments=("ops>=2.10",), constraints="ops==2.17.1\n")


def test_what_poetry_depends_on_is_named(tmp_path: Path) -> None:
    text = '[tool.poetry.dependencies]\npython = "^3.10"\nops = "^2.0"\n'
    assert requirement.find(_charm(tmp_path, **{"pyproject.toml": text})) == Requirements(arguments=("ops",))


@pytest.mark.parametrize("text", ["PYDEPS = make()\n", "PYDEPS = (\n", "PYDEPS = 'ops'\n", "\0"])
def test_what_a_library_computes_is_left_out(tmp_path: Path, text: str) -> None:
    assert requirement.find(_charm(tmp_path, library=text)) == Requirements()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(requirement.Unreadable, match=r"pyproject\.toml cannot be read"):
        requirement.find(_charm(tmp_path, **{"pyproject.toml": "["}))
