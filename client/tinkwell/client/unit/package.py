"""Makes the package of a charm from its folder.

Hidden files and folders stay out, and so do what Python leaves behind and virtual environments, which only work where
they were made. Links are refused: whoever packs a stranger's charm must not send files from elsewhere along. The source
of a charm of Juju has charmcraft.yaml, of which the files are made that ops reads.
"""

import io
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.charm import charmcraft, metadata, package

_LEFT_OUT = "__pycache__"
_ENVIRONMENT = "pyvenv.cfg"


def read(path: Path, resources: Mapping[str, Path] | None = None) -> bytes:
    """Return the package of a charm: the file itself, or that of a folder, with files for some of its resources.

    Raises `errors.CharmRefused`, and `OSError` for what cannot be read.
    """
    data = pack(path) if path.is_dir() else path.read_bytes()
    return with_resources(data, resources) if resources else data


def pack(folder: Path) -> bytes:
    """Pack the folder of a charm; the same files give the same package. Raises as `read`."""
    files = [*_files(folder, "")]
    return package.pack([*files, *_made(files)])


def with_resources(data: bytes, resources: Mapping[str, Path]) -> bytes:
    """Return a package with files in the place of resources, by their names. Raises as `read`."""
    with io.BytesIO(data) as file:
        opened = package.open_package(file)
        declared = opened.manifest()[0].resources
        added = {}
        for name, path in resources.items():
            added[metadata.find_resource(declared, name).path] = path.read_bytes()
        kept = (
            package.NewFile(each.path, b"".join(opened.read(each.path)), is_executable=each.is_executable)
            for each in opened.files
            if each.path not in added
        )
        return package.pack([*kept, *(package.NewFile(path, content) for path, content in added.items())])


def _files(folder: Path, prefix: str) -> Iterator[package.NewFile]:
    for entry in sorted(folder.iterdir()):
        path, mode = f"{prefix}{entry.name}", entry.lstat().st_mode
        if entry.name.startswith(".") or entry.name == _LEFT_OUT:
            continue
        if stat.S_ISDIR(mode):
            if not (entry / _ENVIRONMENT).exists():
                yield from _files(entry, f"{path}/")
        elif stat.S_ISREG(mode):
            yield package.NewFile(path, entry.read_bytes(), is_executable=bool(mode & stat.S_IXUSR))
        else:
            raise errors.CharmRefused.of(path, "is no plain file; put the file itself in its place")


def _made(files: Iterable[package.NewFile]) -> Iterator[package.NewFile]:
    """Iterate over the files that are made of charmcraft.yaml, where the charm is one of Juju."""
    there = {file.path: file for file in files}
    source = there.get(charmcraft.CHARMCRAFT_YAML)
    if source is None or metadata.CHARM_YAML in there:
        return
    try:
        text = source.content.decode()
    except UnicodeDecodeError as error:
        raise errors.CharmRefused.of(source.path, "is not UTF-8; save it as UTF-8") from error
    files_made = charmcraft.split(text, there=there.keys())
    if charmcraft.METADATA_YAML in files_made:
        # Its author is told of lines in the file that there is.
        metadata.read_manifest({source.path: text})
    for name, made in files_made.items():
        yield package.NewFile(name, made.encode())
