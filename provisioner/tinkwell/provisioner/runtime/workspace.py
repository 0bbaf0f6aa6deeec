"""The files that a run finds in its workspace: each run gets its own copy from its caller."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from tinkwell.provisioner.runtime import port

MAX_BYTES = 8 * 1024 * 1024


def check(files: Mapping[str, bytes]) -> None:
    """Check that the paths of files stay in the workspace, and that the files are not too large; raises `RunError`.

    The caller has checked them too. This second check is here because a mistake would let a stranger write anywhere.
    """
    size = sum(map(len, files.values()))
    if size > MAX_BYTES:
        message = f"the files for its workspace have {size:,} bytes; at most {MAX_BYTES:,} are allowed"
        raise port.RunError(port.Reason.SPECIFICATION, message)
    for path in files:
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..") for part in parts):
            message = f"{path!r} is no path below a workspace"
            raise port.RunError(port.Reason.SPECIFICATION, message)


def archive(files: Mapping[str, bytes]) -> bytes:
    """Pack files and their folders as a tar archive; everybody may read them, only root may write."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in sorted({str(above) for path in files for above in PurePosixPath(path).parents} - {"."}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for path in sorted(files):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(files[path]), 0o644
            tar.addfile(entry, io.BytesIO(files[path]))
    return packed.getvalue()
