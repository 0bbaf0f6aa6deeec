"""The library is light and whole: what it imports, how long that takes, and what its records are made of."""

import dataclasses
import json
import os
import subprocess
import sys
import typing
from collections.abc import Iterator

import pytest

import tinkwell.client

FORBIDDEN = {
    "alembic", "asyncpg", "docker",   "jinja2", "pydantic", "requests", "rich",
    "rich_click", "ruamel", "sqlalchemy", "starlette", "uvicorn", "hypothesis", "pytest", "networkx",
}  # fmt: skip


def python(code: str, **environment: str) -> str:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GRPC_", "COV", "PYTEST"))}
    command = [sys.executable, "-c", code]
    ended = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, timeout=60, env=inherited | environment
    )
    return ended.stdout


@pytest.mark.parametrize("module", ["tinkwell.client", "tinkwell.client.blocking"])
def test_importing_it_drags_in_no_dependency_of_another_component(module: str) -> None:
    loaded = json.loads(python(f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"))
    packages = {name.partition(".")[0] for name in loaded}
    assert packages & FORBIDDEN == set()
    ours = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("tinkwell.")}
    assert ours == {"tinkwell.api", "tinkwell.client", "tinkwell.core"}
    assert not [name for name in loaded if name.startswith("tinkwell.client.testing")]


def test_importing_it_costs_well_under_half_a_second_of_work() -> None:
    # Processor time of this process alone, the best of several, so that a busy machine does not matter.
    code = "import time; begin = time.process_time(); import tinkwell.client; print(time.process_time() - begin)"
    assert min(float(python(code)) for _ in range(3)) < 0.45


@pytest.mark.parametrize(("given", "kept"), [({}, "0"), ({"GRPC_ENABLE_FORK_SUPPORT": "1"}, "1")])
def test_fork_support_is_off_unless_the_user_wants_it(given: dict[str, str], kept: str) -> None:
    code = "import os, tinkwell.client; print(os.environ['GRPC_ENABLE_FORK_SUPPORT'])"
    assert python(code, **given).strip() == kept


def test_fork_support_is_decided_before_grpc_is_imported() -> None:
    code = """
import builtins, os
real = builtins.__import__
def watching(name, *args, **kwargs):
    if name.partition(".")[0] == "grpc":
        assert os.environ.get("GRPC_ENABLE_FORK_SUPPORT") == "0", name
    return real(name, *args, **kwargs)
builtins.__import__ = watching
import tinkwell.client
import sys
import typing
from collections.abc import Iterator
print("grpc" in sys.modules)
"""
    assert python(code).strip() == "True"


def test_every_public_name_exists() -> None:
    assert python("from tinkwell.client import *; print(connect.__name__)").strip() == "connect"


def test_all_that_public_records_are_made_of_is_public_too() -> None:
    public = [getattr(tinkwell.client, name) for name in tinkwell.client.__all__]
    missing = {
        f"{record.__name__} has {kind.__name__}"
        for record in public
        if isinstance(record, type) and dataclasses.is_dataclass(record)
        for annotation in typing.get_type_hints(record).values()
        for kind in types_of(annotation)
        if kind.__module__.startswith("tinkwell.") and kind not in public
    }
    assert not missing


def types_of(annotation: object) -> Iterator[type]:
    if isinstance(annotation, type):
        yield annotation
    for part in typing.get_args(annotation):
        yield from types_of(part)
