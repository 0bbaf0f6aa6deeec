"""The page of Tinkerbell's defects: each has tests, and these exist."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[3]
ROWS = [
    line
    for line in (TESTS.parent / "docs" / "explanation" / "tinkerbell-defects.md").read_text().splitlines()
    if line.startswith("| ") and line != "| defect | tests |"
]


def names_in(path: Path) -> set[str]:
    """Return the tests of a file, also those within a class."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_defect_has_tests_and_they_exist() -> None:
    # Tinkerbell's list has 7 crashes, 6 defects of security, 14 of correctness, 15 of events, and 10 of its worker.
    assert len(ROWS) == 52
    for row in ROWS:
        named = re.findall(r"`([a-z0-9_/]+\.py)::(test_\w+)`", row)
        assert named, row
        assert row.count("::") == len(named), row
        for path, name in named:
            assert name in names_in(TESTS / path), f"{path}::{name}"
