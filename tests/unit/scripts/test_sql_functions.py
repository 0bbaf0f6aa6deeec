"""The check of `make lint` that every SQL function is defined once."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "sql_functions.py"
ONE = "CREATE OR REPLACE FUNCTION ring(id uuid,\n    name text) RETURNS void LANGUAGE sql AS $$ SELECT $$;\n"


def check(*folders: Path) -> tuple[int, str]:
    ended = subprocess.run([sys.executable, SCRIPT, *folders], capture_output=True, text=True, check=False, timeout=30)
    return ended.returncode, ended.stderr


def test_the_product_defines_each_function_once() -> None:
    assert check() == (0, "")


@pytest.mark.parametrize(
    ("name", "other", "is_found"),
    [
        ("b.sql", "CREATE FUNCTION ring(id uuid, name text) RETURNS void", True),
        ("b.sql", "create function public.ring(id uuid, name text) RETURNS void", True),
        ("b.py", 'op.execute("CREATE FUNCTION ring(id uuid, name text) RETURNS void")', True),
        ("b.sql", "CREATE FUNCTION ring() RETURNS void", False),
        ("schema.sql", "CREATE FUNCTION ring(id uuid, name text) RETURNS void", False),
    ],
)
def test_a_second_definition_is_found(tmp_path: Path, name: str, other: str, is_found: bool) -> None:
    (tmp_path / "a.sql").write_text(ONE)
    (tmp_path / name).write_text(other)
    code, said = check(tmp_path)
    assert code == is_found
    assert (f"{tmp_path}/a.sql:1, {tmp_path}/{name}:1" in said) is is_found


def test_two_definitions_in_one_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(ONE + ONE)
    assert check(tmp_path)[0] == 1
