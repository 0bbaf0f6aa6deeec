"""The folders from which children import."""

import importlib.util
from pathlib import Path

import pytest

from tinkwell.sandbox import import_path


@pytest.mark.parametrize("library", ["ruamel.yaml", "jinja2"])
def test_a_library_is_imported_from_the_folder_above_all_of_its_packages(library: str) -> None:
    spec = importlib.util.find_spec(library)
    assert spec is not None
    assert spec.origin is not None
    folder = import_path.of(library, extra="server")[-1]
    assert Path(spec.origin) == folder.joinpath(*library.split("."), "__init__.py")
    assert folder.name == "site-packages"


def test_a_library_that_is_missing_is_named_with_what_brings_it() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"missing_library is not installed; install tinkwell\[server\]"):
        import_path.of("missing_library", extra="server")
