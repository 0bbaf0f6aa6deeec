"""Images of the process runtime, which are folders: where one is, what it runs, and what tells it from another."""

import hashlib
import os
from pathlib import Path

from tinkwell.provisioner.runtime import port

ENTRY_POINTS = ("run", "entrypoint")


def find(images: Path | None, image: str) -> Path:
    """Return the folder of an image, which need not be there; raises `RunError` where there can be none."""
    if images is None:
        message = f"the process runtime has no images: --process-images names no folder for {image}"
        raise port.RunError(port.Reason.IMAGE, message)
    return images.absolute() / image_name(image)


def entry_point(folder: Path, spec: port.RunSpec) -> Path:
    """Return the file of an image's folder that a run executes; raises `RunError` where there is none."""
    if spec.entrypoint:
        return _named_entry_point(folder, spec)
    for name in ENTRY_POINTS:
        if _is_program(folder / name):
            return folder / name
    message = f"no image {spec.image} here: {folder} holds no executable file named run"
    raise port.RunError(port.Reason.IMAGE, message)


def identity(folder: Path) -> str:
    """Return a digest of what is in an image's folder, by names, sizes and times of change; raises `RunError`."""
    if not folder.is_dir():
        raise port.RunError(port.Reason.IMAGE, f"no such image here: {folder} is no folder")
    digest = hashlib.sha256()
    for path, folders, files in os.walk(folder):
        # What Python keeps beside the files that it loads is not of the image, and comes with its first run.
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            file = Path(path, name)
            known = file.stat() if file.exists() else file.lstat()  # a link may lead nowhere
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
    """Find the file that a caller names, as a path from the image's root or from its folder."""
    found = folder / spec.entrypoint.lstrip("/")
    if ".." in found.parts or not _is_program(found):
        message = f"the image {spec.image} does not start: {folder} holds no executable file {spec.entrypoint}"
        raise port.RunError(port.Reason.ENTRY_POINT, message)
    return found


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()
