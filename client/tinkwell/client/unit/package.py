"""Makes the package of a charm from its folder.

Hidden files and folders are left out, and so are Python's caches and virtual environments, which only work on the
machine where they were made. Links are refused, so that a stranger's charm cannot make its packer send files from
elsewhere. If the folder has a charmcraft.yaml, as the source of a Juju charm has, the files that ops reads are made
from it.
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
    """Return the package of a charm: the content of a file, or a packed folder, with files for some of its resources.

    Raises `errors.CharmRefused`, and `OSError` for what cannot be read.
    """
    data = pack(path) if path.is_dir() else path.read_bytes()
    return with_resources(data, resources) if resources else data


def pack(folder: Path) -> bytes:
    """Pack the folder of a charm; the same files give the same package. Raises what `read` raises."""
    files = [*_files(folder, "")]
    return package.pack([*files, *_made(files)])


def with_resources(data: bytes, resources: Mapping[str, Path]) -> bytes:
    """Return a package with files for resources, by their names. Raises what `read` raises."""
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
    """Iterate over the files that are made from charmcraft.yaml, if there is one."""
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
        # Errors name lines of charmcraft.yaml, which the author has written.
        metadata.read_manifest({source.path: text})
    for name, made in files_made.items():
        yield package.NewFile(name, made.encode())
