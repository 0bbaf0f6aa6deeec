"""The file `data` in the folder of a workflow, by which its actions share a document.

Whatever an action's image is, it may have put there what it likes. So no link is followed, nothing but a regular file
is read, and what is written takes the place of what is there instead of going through it.
"""

import contextlib
import os
import stat
import uuid
from pathlib import Path

NAME = "data"
# What is there before anybody has handed a document on, as Tinkerbell's worker has it.
EMPTY = b"{}"


def size(folder: Path) -> int | None:
    """Return how many bytes there are of whatever has that name, None for nothing; raises `OSError`.

    It reads nothing, so that an event loop need not be spared it.
    """
    try:
        return (folder / NAME).lstat().st_size
    except FileNotFoundError:
        return None


def provide(folder: Path) -> None:
    """Put an empty document there unless something of that name is there; raises `OSError`."""
    if size(folder) is None:
        write(folder, EMPTY)


def write(folder: Path, content: bytes) -> None:
    """Write the document whole, in a folder that need not exist; raises `OSError`.

    It belongs to whom the folder belongs to, so that actions of that account may go on writing it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    former = _stat(path)
    unfinished = folder / f".{NAME}.{uuid.uuid4().hex}"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            _give(descriptor, folder)
            os.fchmod(descriptor, stat.S_IMODE(former.st_mode) & 0o777 if former is not None else 0o644)
        unfinished.rename(path)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            unfinished.unlink()
        raise


def read(folder: Path, *, max_bytes: int) -> bytes | None:
    """Return the document, None where there is none; of a larger one a byte more than `max_bytes`.

    Raises `OSError`.
    """
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        # A link, or what cannot be opened for reading, such as a socket.
        if _stat(folder / NAME) is None:
            return None
        raise
    try:
        return _read(descriptor, max_bytes + 1) if _is_plain(os.fstat(descriptor)) else None
    finally:
        os.close(descriptor)


def give(folder: Path) -> None:
    """Make the document, if there is one, belong to whom its folder has been given to; raises `OSError`."""
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        if _stat(folder / NAME) is None:
            return
        raise
    try:
        if _is_plain(os.fstat(descriptor)):
            _give(descriptor, folder)
    finally:
        os.close(descriptor)


def _give(descriptor: int, folder: Path) -> None:
    """Give a file to whom a folder belongs to, which only root can."""
    owner, known = folder.stat(), os.fstat(descriptor)
    if os.geteuid() == 0 and (owner.st_uid, owner.st_gid) != (known.st_uid, known.st_gid):
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _read(descriptor: int, most_bytes: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(most_bytes)


def _stat(path: Path) -> os.stat_result | None:
    """Return what is known of a regular file; None where there is none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found if _is_plain(found) else None


def _is_plain(found: os.stat_result) -> bool:
    # What has a second name may be somebody else's file.
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1
