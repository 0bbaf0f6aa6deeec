"""Stores build their statements once, since building one and finding its compiled form takes longer than running it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tinkwell.server.app import main

ORIGINS = {"", "sqlalchemy", "postgresql"}
BUILDERS = {"select", "insert", "update", "delete", "text", "literal", "cast"}
SERVER = Path(main.__file__).parent.parent
# Written into the statement on purpose, since the planner must see it.
MAY = {("workflow/store/queries.py", "select_live", "literal")}


def built_in_functions(path: Path) -> Iterator[tuple[str, str, str]]:
    name = str(path.relative_to(SERVER))
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in ast.walk(function):
                if isinstance(call, ast.Call):
                    origin, _, called = ast.unparse(call.func).rpartition(".")
                    if called in BUILDERS and origin in ORIGINS:
                        yield name, function.name, called


def test_no_function_of_a_store_builds_a_statement() -> None:
    stores = sorted(SERVER.glob("*/store/*.py"))
    assert len(stores) > 10
    assert {built for path in stores for built in built_in_functions(path)} <= MAY
