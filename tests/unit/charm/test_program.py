"""Finding the class of a charm in a file."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinkwell import charm
from tinkwell.charm.agent import program

TWO = "from tinkwell import charm\n\nclass A(charm.Charm): ...\nclass B(charm.Charm): ...\n"


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    before, paths = set(sys.modules), list(sys.path)
    yield tmp_path / "a_charm_of_tests.py"
    for name in set(sys.modules) - before:
        del sys.modules[name]
    sys.path[:] = paths


def test_a_class_is_found_by_its_name_and_the_file_is_imported_once(path: Path) -> None:
    path.write_text(TWO)
    assert program.load(f"{path}:B").declared.name == "b"
    assert program.load(f"{path}:B") is program.load(f"{path}:B")


def test_the_only_class_needs_no_name(path: Path) -> None:
    path.write_text("from tinkwell import charm\nfrom tinkwell.charm import Charm\n\nclass Only(charm.Charm): ...\n")
    assert program.load(str(path)).declared.name == "only"


def test_a_module_beside_it_is_found(path: Path) -> None:
    (path.parent / "beside_a_charm.py").write_text("NAME = 'beside'\n")
    path.write_text(
        "import beside_a_charm\nfrom tinkwell import charm\n\nclass A(charm.Charm, name=beside_a_charm.NAME): ...\n"
    )
    assert program.load(f"{path}:A").declared.name == "beside"


@pytest.mark.parametrize(
    ("attribute", "message"), [("", "has 2 charms; say which one"), (":C", "no class C"), (":charm", "no class charm")]
)
def test_what_is_no_charm_is_refused(path: Path, attribute: str, message: str) -> None:
    path.write_text(TWO)
    with pytest.raises(charm.DeclarationError, match=message):
        program.load(f"{path}{attribute}")


def test_a_file_that_is_not_there_or_takes_a_known_name_is_refused(path: Path) -> None:
    with pytest.raises(charm.DeclarationError, match=r"nowhere\.py is no file"):
        program.load("nowhere.py:X")
    for name in ("json.py", "a-charm.py"):
        (path.parent / name).write_text(TWO)
        with pytest.raises(charm.DeclarationError, match="rename it"):
            program.load(f"{path.parent / name}:A")


def test_a_file_that_fails_is_not_half_there(path: Path) -> None:
    path.write_text("raise RuntimeError('no')\n")
    with pytest.raises(RuntimeError, match="no"):
        program.load(f"{path}:A")
    assert path.stem not in sys.modules
