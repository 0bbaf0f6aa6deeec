"""Images of the process runtime, which are folders: their paths, their entry points and their digests."""

import hashlib
import os
from pathlib import Path

from tinkwell.provisioner.runtime import port

ENTRY_POINTS = ("run", "entrypoint")


def find(images: Path | None, image: str) -> Path:
    """Return the path of an image's folder, which need not exist; raises `RunError` without --process-images."""
    if images is None:
        message = f"the process runtime has no images: --process-images names no folder for {image}"
        raise port.RunError(port.Reason.IMAGE, message)
    return images.absolute() / image_name(image)


def entry_point(folder: Path, spec: port.RunSpec) -> Path:
    """Return the file of an image's folder that a run executes; raises `RunError` if there is none."""
    if spec.entrypoint:
        return _named_entry_point(folder, spec)
    for name in ENTRY_POINTS:
        if _is_program(folder / name):
            return folder / name
    message = f"no image {spec.image} here: {folder} holds no executable file named run"
    raise port.RunError(port.Reason.IMAGE, message)


def identity(folder: Path) -> str:
    """Return a digest of the names, sizes and modification times in an image's folder; raises `RunError`."""
    if not folder.is_dir():
        raise port.RunError(port.Reason.IMAGE, f"no such image here: {folder} is no folder")
    digest = hashlib.sha256()
    for path, folders, files in os.walk(folder):
        # Python writes these folders during the first run; they are not part of the image.
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            file = Path(path, name)
            known = file.stat() if file.exists() else file.lstat()  # A link may lead nowhere.
            entry = f"{file.relative_to(folder)} {known.st_size} {known.st_mtime_ns}\0"
            digest.update(entry.encode(errors="surrogateescape"))
    return f"sha256:{digest.hexdigest()}"


def image_name(image: str) -> str:
    """Return an image's path without registry, tag and digest: `project/image` for `quay.io/project/image:v1`."""
    name = image.partition("@")[0]
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        name = rest
    head, slash, last = name.rpartition("/")
    name = f"{head}{slash}{last.partition(':')[0]}"
    if not name or any(part in ("", ".", "..") for part in name.split("/")):
        raise port.RunError(port.Reason.IMAGE, f"{image!r} names no image")
    return name


def _named_entry_point(folder: Path, spec: port.RunSpec) -> Path:
    """Return the entry point that the spec names, by its path in the image's folder."""
    found = folder / spec.entrypoint.lstrip("/")
    if ".." in found.parts or not _is_program(found):
        message = f"the image {spec.image} does not start: {folder} holds no executable file {spec.entrypoint}"
        raise port.RunError(port.Reason.ENTRY_POINT, message)
    return found


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()
