"""The folders from which child processes of the sandbox import."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import tinkwell


def of(*libraries: str, extra: str) -> list[Path]:
    """Return the folders of Tinkwell's modules and of libraries, without importing these.

    Raises `ModuleNotFoundError` for a library that is not installed; `extra` is the extra that installs it.
    """
    return list(dict.fromkeys(_folders(libraries, extra)))


def _folders(libraries: tuple[str, ...], extra: str) -> Iterator[Path]:
    for path in tinkwell.__path__:
        yield Path(path).parent
    for library in libraries:
        spec = importlib.util.find_spec(library)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{library} is not installed; install tinkwell[{extra}]")
        # The folder above the top-level package of the library.
        yield Path(spec.origin).parents[1 + library.count(".")]
