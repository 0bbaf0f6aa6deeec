"""Makes the package of a charm from its folder.

Hidden files and folders stay out, and so does what Python leaves behind. Links are refused: whoever packs a stranger's
charm must not send files from elsewhere along.
"""

import stat
from collections.abc import Iterator
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.charm import package

_LEFT_OUT = "__pycache__"


def read(path: Path) -> bytes:
    """Return the package of a charm: the file itself, or that of a folder.

    Raises `errors.CharmRefused`, and `OSError` for what cannot be read.
    """
    return pack(path) if path.is_dir() else path.read_bytes()


def pack(folder: Path) -> bytes:
    """Pack the folder of a charm; the same files give the same package. Raises as `read`."""
    return package.pack(_files(folder, ""))


def _files(folder: Path, prefix: str) -> Iterator[package.NewFile]:
    for entry in sorted(folder.iterdir()):
        path, mode = f"{prefix}{entry.name}", entry.lstat().st_mode
        if entry.name.startswith(".") or entry.name == _LEFT_OUT:
            continue
        if stat.S_ISDIR(mode):
            yield from _files(entry, f"{path}/")
        elif stat.S_ISREG(mode):
            yield package.NewFile(path, entry.read_bytes(), is_executable=bool(mode & stat.S_IXUSR))
        else:
            raise errors.CharmRefused.of(path, "is no plain file; put the file itself in its place")
