"""A charm of ops for tests: its files, and packed with the ops that is installed here, as charmcraft packs it."""

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

from tinkwell.core.charm.package import NewFile

FOLDER = Path(__file__).parent / "charm_of_ops"
# What ops needs of the Python environment that it is installed in.
PACKAGES = ("ops", "PyYAML", "websocket-client", "opentelemetry-api", "typing_extensions")
# As charmcraft has written it for years.
DISPATCH = b'#!/bin/sh\nJUJU_DISPATCH_PATH="${JUJU_DISPATCH_PATH:-$0}" PYTHONPATH=lib:venv exec ./src/charm.py\n'


def packed(*, has_dispatch: bool = True) -> list[NewFile]:
    """Return the files of the tiny charm as a `.charm` has them, with its packages in `venv`."""
    dispatch = [NewFile("dispatch", DISPATCH, True)] if has_dispatch else []
    return [*source(), *dispatch, *venv()]


def source() -> list[NewFile]:
    """Return the files of the tiny charm as its author keeps them."""
    found = [path for path in sorted(FOLDER.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return [NewFile(str(path.relative_to(FOLDER)), path.read_bytes(), path.name == "charm.py") for path in found]


def venv() -> list[NewFile]:
    """Return ops and what it needs, in a folder `venv`."""
    return [NewFile(f"venv/{name}", path.read_bytes()) for name, path in _installed()]


def _installed() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for file in importlib.metadata.files(package) or []:
            path = Path(str(file.locate()))
            if ".." not in file.parts and path.suffix not in (".pyc", ".so") and path.is_file():
                yield str(file), path
