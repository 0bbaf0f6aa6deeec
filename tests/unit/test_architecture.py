"""How modules may depend on each other, beyond the contracts that import-linter holds."""

import graphlib
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_no_modules_import_each_other_in_a_circle_not_even_for_their_types() -> None:
    packages = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["root_packages"]
    # What stands under TYPE_CHECKING or within a function is an import as well.
    graph = grimp.build_graph(*packages, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(reversed(error.args[1]))}")


def test_the_kit_needs_nothing_but_the_standard_library() -> None:
    graph = grimp.build_graph("tinkwell.resource", include_external_packages=True, cache_dir=None)
    imported = {module.partition(".")[0] for module in graph.modules}
    assert "asyncio" in imported
    assert imported - sys.stdlib_module_names == {"tinkwell"}


def test_the_sandbox_needs_nothing_but_the_standard_library() -> None:
    graph = grimp.build_graph("tinkwell.sandbox", include_external_packages=True, cache_dir=None)
    imported = {module.partition(".")[0] for module in graph.modules}
    assert "asyncio" in imported
    assert imported - sys.stdlib_module_names == {"tinkwell"}
