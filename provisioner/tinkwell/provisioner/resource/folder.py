"""The plugs that a type is tested with: folders that are made for the test, or what its author names.

What is in them is compared before and after calls that may change nothing.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tinkwell.core.release.protocol.answer import PlugRequest
from tinkwell.provisioner.runtime import port

MAX_FILES = 10_000
MAX_READ_BYTES = 1024 * 1024
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Plug:
    """A path of this machine that a type may use as the plug of this name."""

    path: Path
    read_only: bool = False


def mounts(requests: Iterable[PlugRequest], given: Mapping[str, Plug], scratch: Path) -> dict[str, port.Mount]:
    """Return what is mounted for the plugs that an image asks for: what was given, else a new folder of `scratch`."""
    found: dict[str, port.Mount] = {}
    for request in requests:
        plug = given.get(request.name)
        if plug is None:
            folder = scratch / request.name
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o777)  # whoever an image's user is
            plug = Plug(folder)
        read_only = plug.read_only or not request.writable
        found[request.name] = port.Mount(source=str(plug.path), target=request.container_path, read_only=read_only)
    return found


def look(mounted: Mapping[str, port.Mount]) -> dict[str, str]:
    """Describe each file and folder in the plugs that are folders, up to 10,000, by its path such as `files/a.txt`."""
    found: dict[str, str] = {}
    for name, mount in mounted.items():
        root = Path(mount.source)
        if not root.is_dir():
            continue
        for at, folders, files in os.walk(root):
            for each in sorted((*folders, *files)):
                path = Path(at, each)
                found[f"{name}/{path.relative_to(root)}"] = _describe(path)
                if len(found) >= MAX_FILES:
                    return found
    return found


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Say what came, went and changed; empty where nothing has."""
    words = {
        "appeared": [path for path in after if path not in before],
        "is gone": [path for path in before if path not in after],
        "changed": [path for path in before if path in after and before[path] != after[path]],
    }
    told = [f"{path} {word}" for word, paths in words.items() for path in paths]
    return ", ".join(told[:SHOWN]) + (f" and {len(told) - SHOWN} more" if len(told) > SHOWN else "")


def _describe(path: Path) -> str:
    try:
        known = path.lstat()
        content = b""
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                content = file.read(MAX_READ_BYTES)
    except OSError as error:
        return str(error.strerror)
    link = str(path.readlink()) if path.is_symlink() else ""
    size = known.st_size if not path.is_dir() else 0  # that of a folder may change by what is in it
    return f"{known.st_mode:o} {known.st_uid} {size} {link} {hashlib.sha256(content).hexdigest()}"
