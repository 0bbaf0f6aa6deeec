"""Two charms of ops for tests: their files, and packed with the ops that is installed here, as charmcraft packs it."""

import importlib.metadata
from collections.abc import Iterator, Sequence
from pathlib import Path

from tinkwell.core.charm.package import NewFile

TINY = Path(__file__).parent / "charm_of_ops"
VAULT = Path(__file__).parent / "vault_of_ops"
# What ops needs of the Python environment that it is installed in.
PACKAGES = ("ops", "PyYAML", "websocket-client", "opentelemetry-api", "typing_extensions")
# As charmcraft has written it for years.
DISPATCH = b'#!/bin/sh\nJUJU_DISPATCH_PATH="${JUJU_DISPATCH_PATH:-$0}" PYTHONPATH=lib:venv exec ./src/charm.py\n'


def packed(folder: Path = TINY, *, has_dispatch: bool = True) -> list[NewFile]:
    """Return the files of a charm as a `.charm` has them, with its packages in `venv`."""
    dispatch = [NewFile("dispatch", DISPATCH, True)] if has_dispatch else []
    return [*source(folder), *dispatch, *venv()]


def source(folder: Path = TINY) -> list[NewFile]:
    """Return the files of a charm as its author keeps them."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return [NewFile(str(path.relative_to(folder)), path.read_bytes(), path.name == "charm.py") for path in found]


def write(folder: Path, files: Sequence[NewFile]) -> Path:
    """Write files into a new folder, and return it."""
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.is_executable else 0o644)
    return folder


def venv() -> list[NewFile]:
    """Return ops and what it needs, in a folder `venv`."""
    return [NewFile(f"venv/{name}", path.read_bytes()) for name, path in _installed()]


def _installed() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for file in importlib.metadata.files(package) or []:
            path = Path(str(file.locate()))
            if ".." not in file.parts and path.suffix not in (".pyc", ".so") and path.is_file():
                yield str(file), path
